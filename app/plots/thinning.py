"""Lines of many points, thinned without losing an extreme."""

from collections.abc import Sequence
from math import ceil

Points = list[tuple[int, float | None]]  # by rising place; None breaks the line


def thinned(points: Points, n_buckets: int) -> Points:
    """The points, or of each of so many stretches the first with the smallest and the first with the largest value."""
    if len(points) <= 2 * n_buckets:
        return points
    size = ceil(len(points) / n_buckets)
    kept = [each for start in range(0, len(points), size) for each in extremes(points[start : start + size])]
    return kept if kept[-1] == points[-1] else [*kept, points[-1]]


def extremes(stretch: Sequence[tuple[int, float | None]]) -> Points:
    """One or two points of a stretch, in their order; one that breaks the line if it has no value."""
    values = [(value, place) for place, value in stretch if value is not None]
    if not values:
        return [stretch[0]]
    low, high = min(values), max(values, key=lambda each: (each[0], -each[1]))
    return [(place, value) for value, place in sorted({low, high}, key=lambda each: each[1])]
