"""What a job takes, how far it is, and what is more than this service takes on."""
