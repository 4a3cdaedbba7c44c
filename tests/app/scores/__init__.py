"""What answers are worth against gold labels."""
