"""Measurements on real corpora, which are not in this repository: each takes --data DIR."""
