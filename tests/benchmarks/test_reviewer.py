"""The simulated reviewer, on an easy problem."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import problems, reviewer
from benchmarks.reviewer import Reviewed, Told, found_in, rounds
from sampler.corpus import UNLABELED


@pytest.fixture(scope="module")
def reviewed() -> Reviewed:
    """Two known and two new categories."""
    return Reviewed(problems.small(60), 0, "continued")


def test_an_answer_becomes_a_label_and_the_name_of_a_new_category_comes_after_the_known_ones(
    reviewed: Reviewed,
) -> None:
    truth = reviewed.problem.truth
    asked = np.array([np.flatnonzero(truth == k)[-1] for k in (3, 1, 2)])
    told = reviewed.answered(reviewed.beginning(), asked)
    assert told.names == [0, 1, 3, 2]
    assert told.labels[asked].tolist() == [2, 1, 3]
    assert np.flatnonzero(told.asked).tolist() == sorted(asked.tolist())
    assert (reviewed.problem.corpus.labels[asked] == UNLABELED).all(), "the problem itself is as it was"


def test_what_was_asked_about_is_not_scored(reviewed: Reviewed) -> None:
    scored, truth = reviewed.problem.scored, reviewed.problem.truth
    answer = truth.copy()
    answer[scored[:5]] = (answer[scored[:5]] + 1) % 4
    begun = reviewed.beginning()
    assert reviewed.score(begun, answer, 4)["NMI"] < 1.0
    told = Told(begun.labels, begun.names, np.isin(np.arange(truth.size), scored[:5]))
    assert reviewed.score(told, answer, 4) == {"NMI": 1.0, "ARI": 1.0, "F1": 1.0, "K": 4, "K_true": 4}


@pytest.mark.parametrize("strategy", ["triage", "random"])
def test_each_round_asks_about_other_documents_and_the_first_answer_is_that_of_no_decision(
    reviewed: Reviewed, strategy: str
) -> None:
    lines = list(rounds(reviewed, strategy, 2, 6))
    assert [line["asked"] for line in lines] == [0, 6, 12]
    assert lines[0]["NMI"] == lines[0]["F1"] == 1.0, "the categories share no word"
    assert lines[-1]["F1"] == 1.0 and lines[-1]["K_true"] == 4


def test_the_plain_classifier_knows_a_new_category_once_it_has_a_label(reviewed: Reviewed) -> None:
    lines = list(rounds(reviewed, "uncertainty", 3, 30))
    assert (lines[0]["K"], lines[-1]["K"]) == (2, 4)
    assert lines[-1]["NMI"] > lines[0]["NMI"]


def test_candidates_are_not_those_that_were_asked_about(reviewed: Reviewed) -> None:
    begun = reviewed.beginning()
    run = reviewed.job(begun, None)
    found = found_in(run, begun.asked)
    representative = [each.document for each in found.representative]
    assert len(representative) == 10, "five of each new category"
    assert set(reviewed.problem.truth[representative]) == {2, 3}
    assert {each.category for each in found.unsure} == {0, 1, 2, 3}
    asked = begun.asked.copy()
    asked[representative[:3]] = True
    assert [each.document for each in found_in(run, asked).representative] == representative[3:]


def test_a_run_that_broke_off_goes_on_with_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(*options: str) -> list[tuple[str, int]]:
        arguments = ["--data", str(tmp_path), "--results", str(results), "--rounds", "1", *options]
        monkeypatch.setattr(sys, "argv", ["benchmarks.reviewer", *arguments])
        reviewer.main()
        lines = capsys.readouterr().out.splitlines()
        return [(each["strategy"], each["round"]) for each in map(json.loads, (s for s in lines if s.startswith("{")))]

    results = tmp_path / "results.jsonl"
    monkeypatch.setattr(problems, "chosen", lambda folder, wanted: ["small"])
    monkeypatch.setattr(problems, "read", lambda folder, name, split: problems.small(30))
    assert measured("--strategies", "uncertainty") == [("uncertainty", 0), ("uncertainty", 1)]
    both = ["--strategies", "uncertainty", "random"]
    assert measured(*both) == [("random", 0), ("random", 1)]
    assert measured(*both) == []


def test_a_category_that_is_named_has_some_of_its_documents_as_labels(reviewed: Reviewed) -> None:
    begun = reviewed.beginning()
    run = reviewed.job(begun, None)
    document = int(np.flatnonzero(reviewed.problem.truth == 2)[0])
    told = reviewed.answered(begun, np.array([document]))
    given = reviewer.with_drawn(reviewed.problem, told.labels, told.names, run)
    drawn = np.flatnonzero((given == 2) & (told.labels == UNLABELED))
    assert drawn.size >= 10
    assert (reviewed.problem.truth[drawn] == 2).mean() >= 0.9
    again = reviewed.job(told, run)
    assert again.conclusion.consensus.n_categories == 4
