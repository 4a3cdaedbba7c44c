"""The web page: server-rendered views over the public API, and nothing but that."""
