"""Tables of odd files: what somebody sends, and what the service should make of it."""
