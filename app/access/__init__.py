"""Who may do what: API keys, and on whose behalf a request is."""
