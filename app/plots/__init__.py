"""Numbers to pictures: each plot is a pure function from what HTTP says of a job to an SVG."""
