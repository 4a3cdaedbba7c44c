"""What people are asked about a job's answer, what they decide about it, and what is shown of it then."""
