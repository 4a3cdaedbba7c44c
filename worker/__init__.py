"""Carries data between SQL and the sampler, one leg of one unit at a time."""
