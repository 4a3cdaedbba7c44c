"""What is shown of a job's answer: as it is, under a cut of its tree, or with what people have decided about it."""
