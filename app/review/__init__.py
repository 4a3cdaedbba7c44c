"""What people are asked about a job's answer."""
