"""What an operator sees of the service: logs, metrics, traces."""
