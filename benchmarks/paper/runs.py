"""The runs of the protocol: which there are, which are done, and the rest in some processes.

A run is one line of JSON in OUT/runs.ndjson. Lines are appended as runs end, so whoever stops it loses the runs that
are under way, and the next call does the rest. A last line that was cut off is not counted.
"""

import fcntl
import gzip
import json
import multiprocessing
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from benchmarks import problems
from benchmarks.paper.methods import METHODS, Order, facts_of, told
from benchmarks.paper.printed import NUMBERS
from benchmarks.paper.today import embeddings
from benchmarks.problems import Problem
from benchmarks.scoring import score
from sampler.lbpl_ntm.blocked.sweep import SPLIT_MERGE_EVERY

Line = dict[str, Any]
FILE = "runs.ndjson"
SCORES = ("K_true", "K", "NMI", "ARI", "F1")


class Run(NamedTuple):
    """One method on one problem under one random choice of the labeled documents."""

    problem: str
    split: int
    method: str
    n_sweeps: int  # 0 for a method that takes none


class Place(NamedTuple):
    """Where the data are and where the runs go."""

    data: Path
    out: Path


def planned(data: Path, methods: list[str], names: list[str], n_splits: int, n_sweeps: int) -> list[Run]:
    """All runs, problem after problem; D-LDA is told other numbers of categories too where `dlda` is asked for."""
    runs = []
    for name in names:
        has_texts = texts_are_there(data, name)
        for split in range(n_splits):
            for method in with_numbers(methods, name, true_number(data, name)):
                facts = facts_of(method)
                if has_texts or not facts.needs_texts:
                    runs.append(Run(name, split, method, n_sweeps if facts.takes_sweeps else 0))
    return runs


def with_numbers(methods: list[str], problem: str, n_true: int) -> Iterator[str]:
    """The methods, D-LDA followed by itself told each wrong number of the paper's."""
    for method in methods:
        yield method
        if method == "dlda":
            yield from (f"dlda-{number}" for number in NUMBERS.get(problem, ()) if number != n_true)


def definition_of(data: Path, name: str) -> dict[str, Any]:
    """A problem as problems.json has it."""
    return dict(json.loads((data / "problems.json").read_text(encoding="utf-8"))[name])


def true_number(data: Path, name: str) -> int:
    """The true number of categories by definition."""
    definition = definition_of(data, name)
    return len(definition["known"]) + len(definition["new"])


def texts_are_there(data: Path, name: str) -> bool:
    """Whether the data set has texts, not only counts of words."""
    with gzip.open(data / f"{definition_of(data, name)['dataset']}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return "text" in json.loads(next(lines))


def read_lines(out: Path) -> list[Line]:
    """The lines of all runs that have ended."""
    file = out / FILE
    if not file.exists():
        return []
    whole = file.read_text(encoding="utf-8").split("\n")[:-1]
    return [json.loads(line) for line in whole if line]


def append_line(out: Path, line: Line) -> None:
    """Write a run down. What an interrupted write left is cut away first."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / FILE).open("ab+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # another call may be writing there
        file.seek(0)
        whole = file.read().rpartition(b"\n")
        file.truncate(len(whole[0]) + len(whole[1]))
        file.write(f"{json.dumps(line)}\n".encode())


def run_of(line: Line) -> Run:
    """The run that a line is of."""
    return Run(line["problem"], line["split"], line["method"], line["sweeps"])


def to_do(runs: Iterable[Run], out: Path) -> list[Run]:
    """The runs that are not done, in their order."""
    done = {run_of(line) for line in read_lines(out)}
    return [run for run in runs if run not in done]


def carry_out(place: Place, runs: list[Run], n_processes: int) -> Iterator[Line | str]:
    """Do the runs, writing each down as it ends; gives its line, or a sentence about one that failed."""
    for ended in attempts(place, runs, n_processes):
        if not isinstance(ended, str):
            append_line(place.out, ended)
        yield ended


def attempts(place: Place, runs: list[Run], n_processes: int) -> Iterator[Line | str]:
    """The runs as they end: one after another in this process, or in others."""
    if n_processes == 1:
        yield from (attempt(place, run) for run in runs)
        return
    context = multiprocessing.get_context("spawn")  # compiled kernels and their threads do not survive a fork
    with ProcessPoolExecutor(n_processes, context) as pool:
        for ended in as_completed([pool.submit(attempt, place, run) for run in runs]):
            yield ended.result()


def attempt(place: Place, run: Run) -> Line | str:
    """Do a run; a sentence if it failed, so that the others go on."""
    try:
        return measure(place, run)
    except Exception as error:
        return f"{run.method} on {run.problem}, split {run.split}: {type(error).__name__}: {error}"


@lru_cache(1)
def problem_of(data: Path, name: str, split: int) -> Problem:
    """A problem: one after another in a process, each for all its methods."""
    return problems.read(data, name, split)


@lru_cache
def compile_kernels(method: str) -> None:
    """Run a method on an easy problem, so that compiling is not measured, once in a process."""
    small = problems.small()
    METHODS[method].run(Order(small, 0, SPLIT_MERGE_EVERY, small.n_true, Path()))  # so many sweeps take every step


def measure(place: Place, run: Run) -> Line:
    """Do a run in this process: its scores, and the seconds of one core that the fit took."""
    name, number = told(run.method)
    facts = METHODS[name]
    problem = problem_of(place.data, run.problem, run.split)
    if facts.needs_texts:
        embeddings(problem, place.out)  # once for all methods and splits, so not a part of the fit
    else:
        compile_kernels(name)
    with threadpool_limits(1):
        began = time.process_time()
        n_categories = problem.n_true if number is None else number
        order = Order(problem, run.split, run.n_sweeps, n_categories, place.out)
        outcome = facts.run(order)
        seconds = round(time.process_time() - began, 2)
    scores = {figure: value for figure, value in score(problem, outcome.answer).items() if figure in SCORES}
    if not facts.names_known:
        scores["F1"] = None
    line = {"method": run.method, "problem": run.problem, "split": run.split, "sweeps": run.n_sweeps}
    return {**line, **scores, "numbers": outcome.numbers, "seconds": seconds}
