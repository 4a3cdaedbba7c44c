"""Numerics that know no document: random streams and variates, vector lanes, threads."""
