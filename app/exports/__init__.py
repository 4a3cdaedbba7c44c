"""Rows to files: what a corpus or a job holds, as a download that spreadsheets and programs read."""
