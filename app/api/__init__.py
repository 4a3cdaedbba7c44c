"""The HTTP interface: one router a file."""
