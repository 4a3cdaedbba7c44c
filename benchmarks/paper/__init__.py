"""The experiments of the paper, repeated: its methods and their successors, its tables and figures in our numbers."""
