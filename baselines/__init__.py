"""The methods that the paper compares LBPL-NTM with, each one file, and each described by a page in docs/baselines/."""
