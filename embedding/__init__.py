"""Vectors of texts, made by a model in a folder: the extra `embed`. Knows nothing of the service."""
