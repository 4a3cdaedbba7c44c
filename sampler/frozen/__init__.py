"""Frozen models: what a job learned, as one file that answers new documents. Answering loads no numba."""
