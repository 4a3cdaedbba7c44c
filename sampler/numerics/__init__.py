"""Numerics that know no document: random streams and variates, SIMD, memory, threads."""
