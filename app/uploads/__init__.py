"""Bytes to rows, and rows away again."""
