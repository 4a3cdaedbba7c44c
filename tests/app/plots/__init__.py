"""Plots: read back from their SVG, and compared with the numbers that they were given."""
