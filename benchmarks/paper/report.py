"""The tables and figures of the paper in our numbers: OUT/report.md, scores.csv, and figure-2.svg to figure-5.svg."""

import csv
from collections.abc import Iterable
from pathlib import Path

from benchmarks.paper import printed
from benchmarks.paper.figures import Panel, chart
from benchmarks.paper.methods import METHODS, facts_of
from benchmarks.paper.printed import METRICS, NEWSGROUPS, NUMBERS, STAND_IN, TABLES, TDT2, Table
from benchmarks.paper.runs import Line
from benchmarks.paper.summary import FIGURES, Cell, Summary, frequencies, summarized

OF_THE_PAPER = ("dpgm", "cluto", "cosc", "sskm", "sl", "dlda", "lbpl-ntm")
SAMPLED = ("lbpl-ntm", "lbpl-ntm-exact")  # whose numbers of categories are counted
N_TRUE = 4  # of every problem of 20 Newsgroups


def write_report(out: Path, lines: list[Line]) -> None:
    """Write all files into the folder."""
    out.mkdir(parents=True, exist_ok=True)
    summary = summarized(lines)
    for number, panels in figures(lines, summary).items():
        (out / f"figure-{number}.svg").write_text(chart(panels), encoding="utf-8")
    (out / "report.md").write_text("\n".join(report(lines, summary)), encoding="utf-8")
    with (out / "scores.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows(summary))


def in_order(names: Iterable[str]) -> list[str]:
    """Methods as the tables have them, D-LDA with its numbers in ascending order."""
    places = {method: place for place, method in enumerate(METHODS)}

    def place(name: str) -> tuple[int, int]:
        head, _, number = name.rpartition("-")
        return (places[head], int(number)) if number.isdigit() else (places[name], 0)

    return sorted(set(names), key=place)


def report(lines: list[Line], summary: Summary) -> list[str]:
    """The report in Markdown."""
    text = ["# The paper's tables and figures in our numbers", ""]
    text += ["Means ± standard errors over random choices of the labeled documents; seconds of one core.", ""]
    for table in TABLES:
        text += [f"## Table {table.number}: {table.title}", "", *table_rows(table, summary), ""]
    text += ["## Figure 2: the 4-way problems of 20 Newsgroups", "", "![Figure 2](figure-2.svg)", ""]
    text += [*grid(summary, [m for m in in_order(method for method, _ in summary) if m in METHODS]), ""]
    text += ["## Figure 3: how many categories on 20 Newsgroups, of which there are 4", "", "![Figure 3](figure-3.svg)"]
    text += ["", *number_rows(lines, NEWSGROUPS), ""]
    text += ["## Figure 4: D-LDA told other numbers of categories", "", "![Figure 4](figure-4.svg)", ""]
    text += [*grid(summary, [*of_numbers(), "lbpl-ntm"]), ""]
    text += ["## Figure 5: how many categories on TDT2, of which there are 20, and on the stand-in, of 8", ""]
    text += ["![Figure 5](figure-5.svg)", ""]
    for problem in (TDT2, STAND_IN):
        text += [f"{problem}:", "", *number_rows(lines, [problem]), ""]
    return text


def table_rows(table: Table, summary: Summary) -> list[str]:
    """A row a method, with the paper's numbers."""
    columns = ["NMI", "ARI", "F1", "K", "runs", "sweeps", "seconds", *(f"{table.corpus}, {m}" for m in METRICS)]
    text = [f"| method | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
    ours = {method: cell for (method, problem), cell in summary.items() if problem == table.problem}
    for method in in_order([*ours, *table.scores]):
        cell, theirs = ours.get(method), table.scores.get(method, (None, None, None))
        text.append(f"| {title_of(method)} | {' | '.join([*own_cells(cell), *map(shown, theirs)])} |")
    return text


def own_cells(cell: Cell | None) -> list[str]:
    """Our part of a row."""
    if cell is None:
        return ["-"] * 7
    scores = [str(cell.means[metric] or "-") for metric in METRICS]
    number, seconds = cell.means["K"], cell.means["seconds"]
    assert number is not None and seconds is not None  # every run has both
    return [*scores, f"{number.value:.1f}", str(cell.n_runs), str(cell.n_sweeps or "-"), f"{seconds.value:.1f}"]


def shown(value: float | None) -> str:
    """One of the paper's numbers."""
    return "-" if value is None else f"{value:.3f}"


def title_of(method: str) -> str:
    """What tables call a method."""
    return facts_of(method).title + (", true K" if facts_of(method).is_told else "")


def grid(summary: Summary, methods: list[str]) -> list[str]:
    """A row a method, a column a problem of 20 Newsgroups: NMI / ARI / F1."""
    names = [problem.removeprefix("20ng-") for problem in NEWSGROUPS]
    text = [f"| NMI / ARI / F1 | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    for method in methods:
        cells = [summary.get((method, problem)) for problem in NEWSGROUPS]
        if any(cells):
            texts = [" / ".join(shown(score_of(cell, metric)) for metric in METRICS) if cell else "-" for cell in cells]
            text.append(f"| {title_of(method)} | {' | '.join(texts)} |")
    return text


def score_of(cell: Cell | None, figure: str) -> float | None:
    """The mean of a figure, if there is one."""
    found = cell.means[figure] if cell else None
    return found.value if found else None


def number_rows(lines: list[Line], problems: Iterable[str]) -> list[str]:
    """A row a number of categories: the share of sweeps that had it."""
    of_methods = [frequencies(lines, method, problems) for method in SAMPLED]
    text = [f"| categories | {' | '.join(map(title_of, SAMPLED))} |", "|---:|" + "---:|" * len(SAMPLED)]
    for number in sorted(set().union(*of_methods)):
        text.append(f"| {number} | {' | '.join(f'{shares.get(number, 0.0):.3f}' for shares in of_methods)} |")
    return text


def of_numbers() -> list[str]:
    """D-LDA told each number of figure 4; at the true one it is the method itself."""
    return [f"dlda-{number}" if number != N_TRUE else "dlda" for number in NUMBERS[NEWSGROUPS[0]]]


def figures(lines: list[Line], summary: Summary) -> dict[int, list[Panel]]:
    """The panels of each figure."""
    every = [method for method in (*OF_THE_PAPER, "lbpl-ntm-exact", "calibrated") if method in METHODS]
    return {
        2: [scores_panel(summary, metric, every) for metric in METRICS],
        3: [numbers_panel(lines, "20 Newsgroups, true number 4", NEWSGROUPS)],
        4: [scores_panel(summary, metric, [*of_numbers(), "lbpl-ntm"]) for metric in METRICS],
        5: [
            numbers_panel(lines, "TDT2, true number 20", [TDT2]),
            numbers_panel(lines, "search snippets, true number 8", [STAND_IN]),
        ],
    }


def scores_panel(summary: Summary, metric: str, methods: list[str]) -> Panel:
    """A metric of some methods on the problems of 20 Newsgroups."""
    series = {
        title_of(method): [score_of(summary.get((method, problem)), metric) for problem in NEWSGROUPS]
        for method in methods
    }
    return Panel(metric, [problem.removeprefix("20ng-") for problem in NEWSGROUPS], series)


def numbers_panel(lines: list[Line], title: str, problems: Iterable[str]) -> Panel:
    """How often each number of categories was there."""
    of_methods = {method: frequencies(lines, method, problems) for method in SAMPLED}
    numbers = sorted(set().union(*of_methods.values()))
    numbers = list(range(numbers[0], numbers[-1] + 1)) if numbers else []
    series: dict[str, list[float | None]] = {
        title_of(method): [shares.get(number, 0.0) for number in numbers] for method, shares in of_methods.items()
    }
    return Panel(f"{title}: share of sweeps", [str(number) for number in numbers], series)


def rows(summary: Summary) -> list[list[str]]:
    """The rows of scores.csv."""
    paper = {(method, table.problem): scores for table in TABLES for method, scores in table.scores.items()}
    errors = [f"{figure} standard error" for figure in FIGURES]
    head = ["method", "problem", "runs", "sweeps", *FIGURES, *errors, *(f"paper {metric}" for metric in METRICS)]
    table = [head]
    for method in in_order(method for method, _ in summary):
        for problem in printed.PROBLEMS:
            cell = summary.get((method, problem))
            if cell:
                means = [cell.means[figure] for figure in FIGURES]
                values = [f"{each.value:.4f}" if each else "" for each in means]
                spreads = [f"{each.error:.4f}" if each and each.error is not None else "" for each in means]
                theirs = ["" if score is None else f"{score}" for score in paper.get((method, problem), (None,) * 3)]
                table.append([method, problem, str(cell.n_runs), str(cell.n_sweeps), *values, *spreads, *theirs])
    return table
