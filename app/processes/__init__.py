"""Processes and where they live: supervisor, folders, environment, compiled kernels."""
