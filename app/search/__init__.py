"""Search in texts: what a search means, the index of words on either database, and how it is made."""
