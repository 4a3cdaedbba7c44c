"""How good are the categories? python -m benchmarks.quality --data DIR [--problems NAME ...] [--methods NAME ...]

One JSON line a run: scores on the unlabeled documents that have a word, as the paper defines them (NMI, ARI, mean F1
over the known categories), 90 % interval of the number of categories, expected calibration error over the documents
that the method gives a probability (see benchmarks/scoring.py), seconds without reading. All methods get the same
encoded corpus. Then tables in Markdown; --summarize FILE ... makes them of lines that were printed before.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks import calibrated, problems, rivals
from benchmarks.problems import Problem
from benchmarks.scoring import Answer, score

Method = Callable[[Problem, int], Answer]  # of a problem and a seed
Line = dict[str, Any]

METHODS: dict[str, Method] = {
    "calibrated": calibrated.categorize,
    "calibrated with vectors": calibrated.with_vectors,
    "k-means (told K)": rivals.k_means,
    "k-means on vectors (told K)": rivals.k_means_on_vectors,
    "logistic regression + k-means (told K)": rivals.logistic_regression,
    "Bayesian mixture": rivals.bayesian_mixture,
    "lbpl-ntm exact": rivals.lbpl_ntm_exact,
    "lbpl-ntm as printed": rivals.lbpl_ntm_as_printed,
}
ON_VECTORS = ("calibrated with vectors", "k-means on vectors (told K)")
SCORES = ("NMI", "ARI", "F1")
FIGURES = (*SCORES, "K off by", "K in interval", "ECE", "seconds")


def main() -> None:
    """Run every chosen problem, split, method and seed in turn, or summarize what was run."""
    parser = argparse.ArgumentParser(prog="benchmarks.quality", description=__doc__)
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--data", type=Path, help="folder with problems.json and data sets")
    task.add_argument("--summarize", type=Path, nargs="+", metavar="FILE", help="lines that were printed before")
    parser.add_argument("--problems", nargs="+", default=[], metavar="NAME", help="default: all")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--vectors", type=Path, help="folder with the documents' vectors, see `problems.read`")
    parser.add_argument("--splits", type=int, default=3, help="random choices of labeled documents")
    parser.add_argument("--seeds", type=int, default=1, help="runs of each method on each split")
    arguments = parser.parse_args()
    if arguments.summarize:
        print(summary(saved(arguments.summarize)))
        return
    lines = []
    for line in run(arguments):
        print(json.dumps(line), flush=True)
        lines.append(line)
    print(f"\n{summary(lines)}")


def run(arguments: argparse.Namespace) -> Iterable[Line]:
    """One line a run. A problem is read once for all methods; with one seed for each, seed and split are the same.

    Methods that work with vectors pass over problems that have none.
    """
    names, n_seeds = problems.chosen(arguments.data, arguments.problems), arguments.seeds
    for method in arguments.methods:
        METHODS[method](problems.small(), 0)  # compiles what it needs, before the clock runs
    for name in names:
        for split in range(arguments.splits):
            problem = problems.read(arguments.data, name, split, arguments.vectors)
            for method in arguments.methods:
                if method in ON_VECTORS and problem.vectors is None:
                    continue
                for seed in range(split * n_seeds, (split + 1) * n_seeds):
                    yield {"split": split, **measure(method, problem, seed)}


def measure(method: str, problem: Problem, seed: int) -> Line:
    """Run a method once, and score it."""
    began = time.perf_counter()
    answer = METHODS[method](problem, seed)
    seconds = round(time.perf_counter() - began, 2)
    return {"method": method, "problem": problem.name, "seed": seed, **score(problem, answer), "seconds": seconds}


def saved(files: Iterable[Path]) -> list[Line]:
    """The lines in some files, tables passed over."""
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [json.loads(line) for line in lines if line.startswith("{")]


def summary(lines: list[Line]) -> str:
    """Two tables in Markdown: scores by problem and method, and the mean of every figure by method."""
    return "\n".join([*by_problem(lines), "", *by_method(lines)])


def by_problem(lines: list[Line]) -> list[str]:
    """A row a problem, a column a method; means over splits and seeds."""
    methods, names = values(lines, "method"), values(lines, "problem")
    title = f"| problem: {' / '.join(SCORES)}, K | true K | {' | '.join(methods)} |"
    rows = []
    for name in names:
        of_problem = [line for line in lines if line["problem"] == name]
        cells = [cell([line for line in of_problem if line["method"] == method]) for method in methods]
        rows.append(f"| {name} | {of_problem[0]['K_true']} | {' | '.join(cells)} |")
    return [title, "|---|---:|" + "---|" * len(methods), *rows]


def cell(lines: list[Line]) -> str:
    """The scores and the number of categories of one method on one problem."""
    if not lines:
        return "-"
    scores = " / ".join(shown(mean(line[score] for line in lines)) for score in SCORES)
    return f"{scores}, {fmean(line['K'] for line in lines):.3g}"


def by_method(lines: list[Line]) -> list[str]:
    """A row a method: means over its problems of the mean over splits and seeds. Problems are counted: they may differ.

    K is off by |K - true K| in the mean; the interval holds the true K in that share of the runs.
    """
    head = [f"| method | problems | runs | {' | '.join(FIGURES)} |", "|---|" + "---:|" * (len(FIGURES) + 2)]
    rows = []
    for method in values(lines, "method"):
        of_method = [line for line in lines if line["method"] == method]
        names = values(of_method, "problem")
        in_each = [[figures(line) for line in of_method if line["problem"] == name] for name in names]
        means = [mean(mean(run[figure] for run in runs) for runs in in_each) for figure in FIGURES]
        rows.append(f"| {method} | {len(names)} | {len(of_method)} | {' | '.join(map(shown, means))} |")
    return head + rows


def figures(line: Line) -> dict[str, float | None]:
    """The figures of one run that can be averaged over problems; None where the method has none."""
    held = line["K_interval"]
    return {
        **{figure: line[figure] for figure in (*SCORES, "ECE", "seconds")},
        "K off by": abs(line["K"] - line["K_true"]),
        "K in interval": None if held is None else float(held[0] <= line["K_true"] <= held[1]),
    }


def values(lines: list[Line], field: str) -> list[str]:
    """The values of a field in the order in which they come."""
    return list(dict.fromkeys(line[field] for line in lines))


def mean(numbers: Iterable[float | None]) -> float | None:
    """The mean of the numbers that are there; None if none is."""
    there = [number for number in numbers if number is not None]
    return fmean(there) if there else None


def shown(number: float | None) -> str:
    """A number in a table."""
    return "-" if number is None else f"{number:.3f}"


if __name__ == "__main__":
    main()
