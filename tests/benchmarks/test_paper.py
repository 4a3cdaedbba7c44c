"""The paper's experiments: what is run, that a stopped run goes on, what the report says."""

import csv
import gzip
import json
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from benchmarks import problems
from benchmarks.paper import __main__ as command
from benchmarks.paper import today
from benchmarks.paper.figures import HEIGHT, Panel, chart
from benchmarks.paper.methods import METHODS, Order
from benchmarks.paper.printed import METRICS, PROBLEMS, TABLES, TDT2
from benchmarks.paper.report import write_report
from benchmarks.paper.runs import FILE, Line, Place, Run, append_line, carry_out, planned, read_lines, to_do
from benchmarks.paper.summary import frequencies, summarized
from benchmarks.problems import Problem

NAME = "20ng-D1"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with a data set of texts and one of counts, three easy categories each, of which one is known."""
    folder = tmp_path / "data"
    folder.mkdir()
    definition = {"known": ["a"], "new": ["b", "c"], "train_fraction": 0.4}
    definitions = {NAME: {**definition, "dataset": "texts"}, TDT2: {**definition, "dataset": "counts"}}
    (folder / "problems.json").write_text(json.dumps(definitions))
    dice = np.random.default_rng(0)
    for dataset in ("texts", "counts"):
        with gzip.open(folder / f"{dataset}.jsonl.gz", "wt", encoding="utf-8") as file:
            for k, label in enumerate("abc"):
                for words in dice.integers(10, size=(30, 40)) + 10 * k:
                    held = {"text": " ".join(f"word{word}" for word in words)}
                    counts = {"counts": {str(word): 1 for word in words}}
                    file.write(json.dumps({"label": label, **(held if dataset == "texts" else counts)}) + "\n")
    return folder


def line(method: str, split: int, scores: tuple[float, float, float | None], **other: object) -> Line:
    """A line of a run on TDT2."""
    facts: Line = {"method": method, "problem": TDT2, "split": split, "sweeps": 0, "K_true": 20, "K": 20}
    facts |= {**dict(zip(METRICS, scores, strict=True)), "numbers": None, "seconds": 1.5}
    return facts | other


# What is run


def test_dlda_is_told_the_wrong_numbers_of_the_paper_too(data: Path) -> None:
    runs = planned(data, ["cluto", "dlda"], [NAME], 2, 50)
    assert [run.method for run in runs if run.split == 1] == ["cluto", "dlda", *(f"dlda-{n}" for n in (4, 5, 6, 7))]
    assert {run.n_sweeps for run in runs} == {0, 50}  # three categories are true here, so dlda itself is told 3


def test_methods_on_texts_are_left_out_where_there_are_only_counts(data: Path) -> None:
    runs = planned(data, ["minilm-k-means", "sl"], [NAME, TDT2], 1, 50)
    assert [(run.problem, run.method) for run in runs] == [(NAME, "minilm-k-means"), (NAME, "sl"), (TDT2, "sl")]


def test_runs_that_are_done_are_not_repeated(data: Path, tmp_path: Path) -> None:
    place = Place(data, tmp_path / "out")
    runs = planned(data, ["cluto", "svm-k-means"], [NAME], 2, 50)
    first = list(carry_out(place, runs[:1], 1))
    left = to_do(runs, place.out)
    assert left == runs[1:]
    rest = list(carry_out(place, left, 1))
    assert read_lines(place.out) == [*first, *rest]
    assert to_do(runs, place.out) == []
    scores = {each["method"]: (each["NMI"], each["F1"]) for each in rest if isinstance(each, dict)}
    assert scores["cluto"] == (1.0, None)  # three categories that share no word; it names none of them
    assert to_do([runs[0]._replace(n_sweeps=60)], place.out)  # more sweeps are another run


def test_a_line_that_was_cut_off_is_run_again_and_written_over(tmp_path: Path) -> None:
    whole = line("cluto", 0, (0.8, 0.7, None))
    append_line(tmp_path, whole)
    with (tmp_path / FILE).open("a") as file:
        file.write('{"method": "slu')
    assert read_lines(tmp_path) == [whole]
    append_line(tmp_path, line("cluto", 1, (0.9, 0.7, None)))
    assert [each["split"] for each in read_lines(tmp_path)] == [0, 1]


def test_a_run_that_fails_is_reported_and_the_others_go_on(data: Path, tmp_path: Path) -> None:
    runs = [Run(NAME, 0, "dlda-0", 5), Run(NAME, 0, "cluto", 0)]
    failed, done = carry_out(Place(data, tmp_path), runs, 1)
    assert failed == "dlda-0 on 20ng-D1, split 0: ValueError: n_categories = 0 is not at least 1"
    assert isinstance(done, dict)
    assert to_do(runs, tmp_path) == runs[:1]


def test_an_unknown_method_is_refused(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["benchmarks.paper", "--data", str(data), "--out", str(tmp_path), "--methods", "word2vec"]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(ValueError, match="word2vec: the methods are dpgm, cluto"):
        command.main()


# Methods


def test_the_chain_counts_the_numbers_of_categories_of_its_later_half() -> None:
    problem = problems.small(n_documents=8, length=20)
    outcome = METHODS["lbpl-ntm"].run(Order(problem, 0, 6, 4, Path()))
    assert outcome.numbers is not None and sum(outcome.numbers.values()) == 3
    assert outcome.answer.n_categories in outcome.numbers
    assert (outcome.answer.category[problem.corpus.labels == 1] == 1).all()


@pytest.fixture(scope="module")
def posed() -> Problem:
    """An easy problem of two known and two new categories."""
    return problems.small()


def test_a_classifier_with_a_threshold_leaves_new_documents_to_k_means(posed: Problem) -> None:
    answer = today.svm(posed, 0)
    scored = posed.scored
    is_new = posed.truth[scored] >= 2
    assert (answer.category[scored][is_new] >= 2).all()
    assert (answer.category[scored] == posed.truth[scored])[~is_new].mean() > 0.8  # a tenth is rejected by design
    assert answer.n_categories == 4


def test_groups_of_embeddings_are_those_of_points_that_are_far_apart(posed: Problem) -> None:
    dice = np.random.default_rng(1)
    vectors = np.eye(4)[posed.truth] + 0.01 * dice.standard_normal((posed.truth.size, 4))
    for method in (today.k_means, today.hdbscan):
        answer = method(posed, vectors, 0)
        pairs = set(zip(posed.truth[posed.scored].tolist(), answer.category[posed.scored].tolist(), strict=True))
        assert len(pairs) == answer.n_categories == 4


# The report


def test_means_and_standard_errors_are_over_splits_and_of_the_most_sweeps() -> None:
    lines = [
        line("dlda", 0, (0.1, 0.1, 0.1), sweeps=10),
        line("dlda", 0, (0.7, 0.5, 0.8), sweeps=30),
        line("dlda", 1, (0.9, 0.5, None), sweeps=30),
    ]
    cell = summarized(lines)["dlda", TDT2]
    nmi, ari, f1 = (cell.means[metric] for metric in METRICS)
    assert (cell.n_runs, cell.n_sweeps) == (2, 30)
    assert nmi is not None and nmi == pytest.approx((0.8, 0.1))
    assert ari == (0.5, 0.0)
    assert f1 == (0.8, None)


def test_frequencies_of_numbers_are_the_mean_over_runs() -> None:
    lines = [
        line("lbpl-ntm", 0, (0.8, 0.8, 0.8), numbers={"19": 30, "20": 10}),
        line("lbpl-ntm", 1, (0.8, 0.8, 0.8), numbers={"20": 10}),
    ]
    assert frequencies(lines, "lbpl-ntm", [TDT2]) == {19: 0.375, 20: 0.625}
    assert frequencies(lines, "lbpl-ntm-exact", [TDT2]) == {}


def test_the_report_has_our_numbers_beside_those_of_the_paper(tmp_path: Path) -> None:
    lines = [line("cluto", 0, (0.85, 0.65, None)), line("cluto", 1, (0.87, 0.65, None))]
    lines += [line("dlda-15", 0, (0.8, 0.7, 0.8), sweeps=300), line("calibrated", 0, (0.9, 0.88, 0.95), K=21)]
    lines += [line("lbpl-ntm", 0, (0.83, 0.8, 0.9), sweeps=300, numbers={"14": 100, "16": 50})]
    lines += [line("dlda", 0, (0.6, 0.5, 0.4), sweeps=300, problem=NAME)]
    write_report(tmp_path, lines)
    text = (tmp_path / "report.md").read_text()
    assert "| CLUTO, true K | 0.860 ± 0.010 | 0.650 ± 0.000 | - | 20.0 | 2 | - | 1.5 | 0.822 | 0.659 | - |" in text
    assert "| D-LDA, K = 15 | 0.800 | 0.700 | 0.800 | 20.0 | 1 | 300 | 1.5 | 0.816 | 0.780 | 0.847 |" in text
    assert "| calibrated | 0.900 | 0.880 | 0.950 | 21.0 | 1 | - | 1.5 | - | - | - |" in text
    assert "| D-LDA, true K | 0.600 / 0.500 / 0.400 | - | - | - | - | - | - | - |" in text
    assert "| 14 | 0.667 | 0.000 |" in text
    with (tmp_path / "scores.csv").open(newline="") as file:
        rows = {(row["method"], row["problem"]): row for row in csv.DictReader(file)}
    assert rows["cluto", TDT2]["NMI standard error"] == "0.0100" and rows["cluto", TDT2]["paper NMI"] == "0.8217"
    assert rows["dlda", NAME]["paper NMI"] == ""  # the paper's figures are pictures
    for number in (2, 3, 4, 5):
        assert ElementTree.parse(tmp_path / f"figure-{number}.svg").getroot().tag.endswith("svg")


def test_the_report_of_no_run_has_the_numbers_of_the_paper_alone(tmp_path: Path) -> None:
    write_report(tmp_path, [])
    text = (tmp_path / "report.md").read_text()
    assert all(f"{scores[0]:.3f}" in text for table in TABLES for scores in table.scores.values())


def test_a_bar_is_as_high_as_its_value() -> None:
    root = ElementTree.fromstring(chart([Panel("NMI", ["D1", "D2"], {"a & b": [0.5, None], "c": [1.0, 0.0]})]))
    bars = [shape for shape in root.iter("{http://www.w3.org/2000/svg}rect") if len(shape)]
    assert [float(bar.attrib["height"]) for bar in bars] == [HEIGHT / 2, HEIGHT, 0.0]
    assert bars[0][0].text == "a & b: 0.500"


def test_the_paper_has_the_true_number_among_those_that_dlda_is_told() -> None:
    for table in TABLES:
        assert {"dlda", "lbpl-ntm", "cluto"} < set(table.scores) and table.problem in PROBLEMS
