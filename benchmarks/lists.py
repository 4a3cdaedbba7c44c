"""How long each list takes whose job has a million documents, on SQLite or PostgreSQL."""
