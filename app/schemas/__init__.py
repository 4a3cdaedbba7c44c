"""What HTTP says, with examples."""
