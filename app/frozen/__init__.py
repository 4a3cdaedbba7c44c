"""New documents answered by frozen models, without a worker."""
