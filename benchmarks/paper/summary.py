"""What the runs say: means and standard errors by method and problem, and frequencies of numbers of categories."""

import math
from collections import defaultdict
from collections.abc import Iterable
from statistics import fmean, stdev
from typing import NamedTuple

from benchmarks.paper.runs import Line

FIGURES = ("NMI", "ARI", "F1", "K", "seconds")


class Mean(NamedTuple):
    """A mean over splits."""

    value: float
    error: float | None  # standard error; None for one run

    def __str__(self) -> str:
        return f"{self.value:.3f}" if self.error is None else f"{self.value:.3f} ± {self.error:.3f}"


class Cell(NamedTuple):
    """The runs of one method on one problem."""

    n_runs: int
    n_sweeps: int
    means: dict[str, Mean | None]  # by figure; None where the method has none


Summary = dict[tuple[str, str], Cell]  # by method and problem


def longest(lines: Iterable[Line]) -> dict[tuple[str, str], list[Line]]:
    """The lines of each method and problem, of each split the one with the most sweeps."""
    best: dict[tuple[str, str, int], Line] = {}
    for line in lines:
        key = (line["method"], line["problem"], line["split"])
        if key not in best or line["sweeps"] >= best[key]["sweeps"]:
            best[key] = line
    cells: dict[tuple[str, str], list[Line]] = defaultdict(list)
    for (method, problem, _), line in sorted(best.items()):
        cells[method, problem].append(line)
    return dict(cells)


def summarized(lines: Iterable[Line]) -> Summary:
    """Means over splits of all figures."""
    return {
        key: Cell(
            len(held),
            max(line["sweeps"] for line in held),
            {figure: mean([line[figure] for line in held if line[figure] is not None]) for figure in FIGURES},
        )
        for key, held in longest(lines).items()
    }


def mean(values: list[float]) -> Mean | None:
    """The mean and its standard error; None of nothing."""
    if not values:
        return None
    return Mean(fmean(values), stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None)


def frequencies(lines: Iterable[Line], method: str, problems: Iterable[str]) -> dict[int, float]:
    """How often the method had each number of categories, on average over its runs on the problems."""
    wanted = set(problems)
    shares: dict[int, float] = defaultdict(float)
    counted = [
        held["numbers"]
        for (name, problem), of_cell in longest(lines).items()
        for held in of_cell
        if name == method and problem in wanted and held["numbers"]
    ]
    for numbers in counted:
        for number, n in numbers.items():  # JSON made strings of the numbers
            shares[int(number)] += n / sum(numbers.values()) / len(counted)
    return dict(sorted(shares.items()))
