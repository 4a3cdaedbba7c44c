"""Messages to other services about the end of jobs: where they may go, how they are signed, and who sends them."""
