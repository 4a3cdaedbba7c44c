"""How large a penalty of broken cannot-links is tried next, in constrained 1-spectral clustering."""

from dataclasses import astuple, dataclass, replace

import numpy as np

from baselines.balanced_cut import Cut, Graph
from sampler.corpus import Array

FIRST_OF_TWO = 0.2  # penalty tried after 0 with two categories, in units of cut / links of the cut without penalty
FIRST_OF_MANY = 0.1  # with more
MOST_OF_TWO = 60  # penalties tried with two categories
CLOSE = 0.01  # relative distance of a penalty that works from one that fails at which the search ends


@dataclass(frozen=True)
class PenaltyPath:
    """Where the search for a penalty stands. All numbers, so that it is kept as an array."""

    penalty: float = 0.0  # gamma
    n_tried: float = 0.0
    unit: float = 0.0
    increment: float = 0.0
    last_cut: float = -1.0
    fails: float = 0.0  # the largest penalty under which too many links were broken
    works: float = np.inf  # the smallest under which they were not

    def as_array(self) -> Array:
        """float64[7]."""
        return np.array(astuple(self))


def next_penalty(
    path: PenaltyPath, cut: Cut, graph: Graph, allowed: int, n_penalties: int | None
) -> PenaltyPath | None:
    """The path one penalty on, from the cut under the present one; None if there is nothing more to try.

    With `n_penalties` they grow by an increment that doubles when the cut stays the same, until no more links are
    broken than `allowed`. With None, of the problem of two sides, they double until then, and are bisected afterwards.
    """
    is_enough = cut.n_broken <= allowed
    if path.n_tried == 0:
        if is_enough or graph.n_links == 0:
            return None
        unit = (cut.cut if 0.0 < cut.cut < np.inf else float(graph.volume.sum()) or 1.0) / graph.n_links
        path = replace(path, unit=unit, increment=FIRST_OF_MANY * unit)
    path = replace(path, n_tried=path.n_tried + 1)
    if n_penalties is None:
        return doubled_or_halved(path, is_enough)
    if is_enough or path.n_tried >= n_penalties:
        return None
    increment = path.increment * (2.0 if cut.cut == path.last_cut else 1.0)
    return replace(path, penalty=path.penalty + increment, increment=increment, last_cut=cut.cut)


def doubled_or_halved(path: PenaltyPath, is_enough: bool) -> PenaltyPath | None:
    """The next penalty of the problem of two sides."""
    path = replace(path, works=path.penalty) if is_enough else replace(path, fails=path.penalty)
    if path.n_tried >= MOST_OF_TWO:
        return None
    if path.works == np.inf:
        return replace(path, penalty=max(2.0 * path.penalty, FIRST_OF_TWO * path.unit))
    if path.works - path.fails < CLOSE * path.works:
        return None
    return replace(path, penalty=(path.works + path.fails) / 2.0)
