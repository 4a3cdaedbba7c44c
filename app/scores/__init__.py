"""Answers against gold labels: what a job is worth."""
