"""What keeps a database small and safe: retention, the files of SQLite, backups."""
