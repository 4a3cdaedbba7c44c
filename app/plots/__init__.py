"""Numbers to pictures: each plot is a pure function from what HTTP says of a job to an SVG.

Each `plot_...` returns a `Plot`: the SVG for a page, and the numbers for a table beside it. `style.STYLE` is the style
sheet of the page, `style.standalone` makes a file of a plot. What people have written (names, words) is escaped here.
"""
