"""The quality benchmark: problems, answers and their figures, peers, tables."""

import gzip
import itertools
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import problems, quality, rivals, scoring
from benchmarks.problems import Problem
from benchmarks.scoring import Answer
from sampler.answers import metrics
from sampler.corpus import UNLABELED, validate

TOLD = ["k-means (told K)", "logistic regression + k-means (told K)"]
QUICK = [*TOLD, "Bayesian mixture"]


@pytest.fixture(scope="module")
def small() -> Problem:
    """Two known and two new categories that share no word."""
    return problems.small()


def write_data_set(folder: Path, texts: dict[str, list[str]], known: list[str]) -> None:
    """The files of a problem `it` over a data set of its own; texts by label."""
    definition = {"dataset": "data", "known": known, "new": sorted(set(texts) - set(known)), "train_fraction": 0.4}
    (folder / "problems.json").write_text(json.dumps({"it": definition}))
    with gzip.open(folder / "data.jsonl.gz", "wt", encoding="utf-8") as file:
        for label, held in texts.items():
            file.writelines(json.dumps({"label": label, "text": text}) + "\n" for text in held)


# Problems


def test_two_fifths_of_the_known_documents_are_labeled_and_all_keep_their_text_and_name(tmp_path):
    texts = {label: [f"{label} number{d}" for d in range(20)] for label in ("zebra", "yak", "adder", "bee")}
    write_data_set(tmp_path, texts, known=["zebra", "yak"])
    problem = problems.read(tmp_path, "it", split=0)
    assert problem.names == ["yak", "zebra", "adder", "bee"]
    assert [problem.names[category] for category in problem.truth] == [text.split()[0] for text in problem.texts]
    labels = problem.corpus.labels
    assert [np.sum(labels == k) for k in (0, 1)] == [8, 8]
    np.testing.assert_array_equal(problem.truth[labels != UNLABELED], labels[labels != UNLABELED])
    assert (problem.n_new, problem.n_true, problem.scored.size) == (2, 4, 64)


def test_another_split_labels_other_documents(tmp_path):
    write_data_set(tmp_path, {"a": [f"word{d} here" for d in range(50)], "b": ["there"] * 5}, known=["a"])
    labeled = []
    for split in (0, 0, 1):
        problem = problems.read(tmp_path, "it", split)
        labeled.append({problem.texts[d] for d in np.flatnonzero(problem.corpus.labels != UNLABELED)})
    assert labeled[0] == labeled[1] != labeled[2]


@pytest.mark.parametrize(
    ("n_common", "least", "keeps_stop_words"),
    [(30, 16, False), (29, 5, False), (10, 5, False), (9, 3, True)],
)
def test_shorter_texts_keep_rarer_words_and_the_shortest_their_stop_words(n_common, least, keeps_stop_words):
    common = [f"common{i}" for i in range(n_common)]
    rare = [[f"rare{n}" for n in (2, 3, 4, 5, 15) if d < n] for d in range(100)]  # rare5 is in five documents
    texts = [" ".join(["the", *common, *words]) for words in rare]
    encoded = problems.encode_by_length(texts, [None] * 100, has_stop_words=True)
    expected = (
        set(common) | {f"rare{n}" for n in (2, 3, 4, 5, 15) if n >= least} | ({"the"} if keeps_stop_words else set())
    )
    assert set(encoded.vocabulary) == expected


def test_documents_without_a_word_are_not_scored():
    problem = problems.pose("it", ["word"] * 20 + ["only"], ["a"] * 10 + ["b"] * 11, [True] * 5 + [False] * 16, False)
    np.testing.assert_array_equal(problem.scored, np.arange(5, 20))


# Figures


def test_calibration_error_is_that_of_a_reckoning_by_hand():
    # Bin [.9, 1]: 2 of 4 right at .95 in the mean; bin [.5, .6): 1 of 1 at .5. (4 * .45 + 1 * .5) / 5 = .46.
    right = np.array([True, True, False, False, True, True])
    probability = np.array([0.9, 1.0, 0.9, 1.0, 0.5, np.nan])
    assert metrics.calibration_error(right, probability) == pytest.approx(0.46)


def test_probabilities_that_come_true_have_no_calibration_error():
    rng = np.random.default_rng(0)
    probability = rng.random(100_000)
    # A bin's share of 10,000 has deviation at most .005; the mean of ten absolute errors is below that.
    assert metrics.calibration_error(rng.random(100_000) < probability, probability) < 0.005


def test_there_is_no_calibration_error_without_a_probability():
    assert metrics.calibration_error(np.array([True]), np.array([np.nan])) is None


@pytest.mark.parametrize(("n_true", "n_found"), [(3, 3), (2, 4), (4, 2)])
def test_new_categories_are_matched_so_that_most_documents_are_right(n_true, n_found):
    rng = np.random.default_rng(n_found)
    n_known = 2
    true, found = rng.integers(n_known + n_true, size=200), rng.integers(n_known + n_found, size=200)
    longer, shorter = max(n_true, n_found), min(n_true, n_found)
    most = 0
    for order in itertools.permutations(range(longer), shorter):
        pairs = list(zip(range(shorter), order, strict=True))
        pairs = pairs if n_true <= n_found else [(second, first) for first, second in pairs]
        most = max(most, sum(np.sum((true == n_known + t) & (found == n_known + f)) for t, f in pairs))
    of_known = np.sum((true == found) & (found < n_known))
    assert metrics.is_right(true, found, n_known).sum() == of_known + most


def test_an_answer_of_a_new_category_is_wrong_for_a_known_document_and_without_a_match():
    true, found = np.array([0, 0, 2, 2, 1]), np.array([0, 5, 5, 7, 1])
    right = metrics.is_right(true, found, n_known=1)
    # 5 and 7 hold one new document of 2 each, of which one is matched; category 1 is new, and found as 1.
    assert right[[0, 1, 4]].tolist() == [True, False, True]
    assert right[[2, 3]].sum() == 1


def test_the_truth_scores_one_and_its_probability_one_is_calibrated(small):
    answer = Answer(small.truth, 4, (4, 5), np.ones(small.truth.size))
    scores = {"NMI": 1.0, "ARI": 1.0, "F1": 1.0, "ECE": 0.0}
    assert scoring.score(small, answer) == {"K_true": 4, "K": 4, "K_interval": [4, 5], **scores}


# Peers


@pytest.mark.parametrize("method", TOLD)
def test_peers_that_are_told_k_find_categories_that_share_no_word(small, method):
    line = quality.measure(method, small, seed=0)
    assert (line["K"], line["NMI"], line["ARI"], line["F1"]) == (4, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("method", QUICK)
def test_peers_leave_the_problem_as_it_is_and_repeat_themselves(small, method):
    before = [array.copy() for array in (*small.corpus[:3], small.truth)]
    first, second = (quality.METHODS[method](small, 1) for _ in range(2))
    for array, copy in zip((*small.corpus[:3], small.truth), before, strict=True):
        np.testing.assert_array_equal(array, copy)
    validate(small.corpus)
    np.testing.assert_array_equal(first.category, second.category)


@pytest.mark.parametrize("method", QUICK)
def test_every_document_with_a_word_or_a_label_has_an_answer(small, method):
    texts = [*small.texts, "unheard", "unseen"]
    categories = [small.names[category] for category in small.truth] + small.names[:2]
    is_labeled = [*(small.corpus.labels != UNLABELED), True, False]
    problem = problems.pose("with empty ones", texts, categories, is_labeled, has_stop_words=True)
    answer = quality.METHODS[method](problem, 0)
    assert (answer.category >= 0).tolist() == [True] * (len(texts) - 1) + [False]
    is_told = problem.corpus.labels != UNLABELED
    np.testing.assert_array_equal(answer.category[is_told], problem.corpus.labels[is_told])
    n_new = np.unique(answer.category[answer.category >= problem.corpus.n_known]).size
    assert answer.n_categories == problem.corpus.n_known + n_new


def test_tf_idf_is_what_its_formula_says():
    problem = problems.pose("it", ["aa aa aa bb", "bb", "bb"] * 20, ["k"] * 60, [True] * 60, has_stop_words=False)
    row = np.array([(1 + np.log(3)) * (1 + np.log(61 / 21)), 1 + np.log(61 / 61)])
    np.testing.assert_allclose(rivals.tf_idf(problem.corpus).toarray()[0], row / np.linalg.norm(row))


def test_labeled_documents_stay_in_their_category_though_another_is_nearer(small):
    vectors, labels = rivals.tf_idf(small.corpus), small.corpus.labels.copy()
    odd = np.flatnonzero(labels == 0)[0]
    labels[odd] = 1
    category, _ = rivals.partition(vectors, labels, 2, 2, np.random.default_rng(0))
    np.testing.assert_array_equal(category[labels != UNLABELED], labels[labels != UNLABELED])


def test_of_several_partitions_the_one_with_the_nearest_centres_is_taken(small):
    vectors, labels = rivals.tf_idf(small.corpus), np.full(small.truth.size, UNLABELED)
    found = rivals.best_partition(vectors, labels, 0, 3, np.random.default_rng(0))
    # The sum of cosines to the direction of a sum is the length of the sum.
    objective = sum(np.linalg.norm(vectors[found == k].sum(axis=0)) for k in range(3))
    rng = np.random.default_rng(0)
    objectives = [rivals.partition(vectors, labels, 0, 3, rng)[1] for _ in range(rivals.N_STARTS)]
    assert objective == pytest.approx(max(objectives))


def test_no_category_of_k_means_is_empty_though_all_documents_are_alike():
    problem = problems.pose("it", ["same words here"] * 20, ["a"] * 10 + ["b"] * 10, [True] * 4 + [False] * 16, False)
    category, _ = rivals.partition(rivals.tf_idf(problem.corpus), problem.corpus.labels, 1, 4, np.random.default_rng(0))
    assert np.unique(category).size == 5


def test_the_regression_gives_a_probability_to_what_it_keeps_alone(small):
    answer = rivals.logistic_regression(small, 0)
    is_kept = (answer.category < 2) & (small.corpus.labels == UNLABELED)
    np.testing.assert_array_equal(~np.isnan(answer.probability), is_kept)
    assert (answer.probability[is_kept] > 0.5).all()


def test_components_bear_the_name_of_their_labels_unless_these_are_rare():
    # The share of labels is 5 / 12; component 1 has 1 in 5, below half of that.
    component = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 3])
    labels = np.array([1, 1, 0, -1, 0, -1, -1, -1, -1, -1, -1, 1])
    assert rivals.name_components(component, labels, 2, 5).tolist() == [1, 2, 3, 1, 4]


def test_the_interval_holds_nine_in_ten_of_the_draws():
    draws = np.random.default_rng(0).permutation(np.arange(1, 101)).tolist()
    assert rivals.interval(draws) == (5, 95)


def test_a_chain_answers_with_an_interval_and_a_probability_for_what_is_scored(small, monkeypatch):
    monkeypatch.setattr(rivals, "N_SWEEPS", 20)
    answer = rivals.lbpl_ntm_exact(small, 0)
    low, high = answer.interval
    assert 2 <= low <= high
    assert ((answer.probability[small.scored] > 0) & (answer.probability[small.scored] <= 1)).all()


# Tables


def line(method: str, problem: str, seed: int, score: float, k: int, interval: list[int] | None) -> dict[str, object]:
    """A line as it is printed; the true K is 4."""
    scores = {"NMI": score, "ARI": score, "F1": score, "ECE": None if interval is None else score}
    facts = {"method": method, "problem": problem, "seed": seed, "K_true": 4, "K": k, "K_interval": interval}
    return {"split": seed, **facts, **scores, "seconds": 1.0}


def test_the_mean_of_a_method_gives_every_problem_the_same_weight():
    lines = [
        line("a", "p", 0, 0.2, 4, [4, 4]),
        line("a", "p", 1, 0.4, 6, [5, 7]),
        line("a", "q", 0, 0.9, 3, [3, 5]),
        line("b", "q", 0, 0.5, 4, None),
    ]
    assert quality.by_method(lines)[2:] == [
        # K is off by (0 + 2) / 2 and 1; the interval holds it in half of the runs on p, in all on q.
        "| a | 2 | 3 | 0.600 | 0.600 | 0.600 | 1.000 | 0.750 | 0.600 | 1.000 |",
        "| b | 1 | 1 | 0.500 | 0.500 | 0.500 | 0.000 | - | - | 1.000 |",
    ]
    assert quality.by_problem(lines)[2:] == [
        "| p | 4 | 0.300 / 0.300 / 0.300, 5 | - |",
        "| q | 4 | 0.900 / 0.900 / 0.900, 3 | 0.500 / 0.500 / 0.500, 4 |",
    ]


def test_saved_output_with_its_tables_is_summarized_to_the_same_tables(tmp_path, monkeypatch, capsys):
    words = {label: [f"{label} {label}{d % 3} {label}{d % 2}" for d in range(30)] for label in ("aa", "bb", "cc")}
    write_data_set(tmp_path, words, known=["aa", "bb"])
    arguments = ["--data", str(tmp_path), "--methods", *TOLD, "--splits", "2"]
    monkeypatch.setattr(sys, "argv", ["quality", *arguments])
    quality.main()
    printed = capsys.readouterr().out
    lines = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    assert [(line["method"], line["seed"]) for line in lines] == [(name, split) for split in (0, 1) for name in TOLD]
    (tmp_path / "saved").write_text(printed)
    monkeypatch.setattr(sys, "argv", ["quality", "--summarize", str(tmp_path / "saved")])
    quality.main()
    assert printed.endswith(f"\n\n{capsys.readouterr().out}")
