"""Does the API stay responsive under load? `python -m benchmarks.load` says; see __main__."""
