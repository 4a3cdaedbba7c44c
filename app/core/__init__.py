"""What the API and the workers share: settings, tables, leases, the life of a job."""
