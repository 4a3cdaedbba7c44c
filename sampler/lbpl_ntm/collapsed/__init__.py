"""Algorithm 1 of the paper: the reference."""
