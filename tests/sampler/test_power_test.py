"""The power test finds categories again that are there, and says which one a twin was taken for."""

from itertools import pairwise

import numpy as np
import pytest

from sampler.answers.consensus import Consensus
from sampler.answers.others import no_others
from sampler.answers.verdict import Verdict
from sampler.calibrated import power_test, steps
from sampler.calibrated.conclusion import Audit, CalibratedConclusion
from sampler.calibrated.power_test import hide, power_step
from sampler.calibrated.prepared import PreparedCorpus
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus, validate
from sampler.numerics.threads import Threads
from tests.sampler.calibrated_harness import QUICK, Posed, easy, posed

SEED = 3


def result_of(corpus: Corpus, category: int, n_threads: int = 1) -> dict[str, Array]:
    """The result of the power test for a category."""
    with Threads(n_threads) as threads:
        prepared = PreparedCorpus(corpus, QUICK, SEED)
        return power_step(prepared, steps.all_atom_runs(prepared, threads), category, threads)


def with_a_twin() -> Posed:
    """Three known categories, and the last one's words are those of the first."""
    made = easy([60, 60, 60], [30, 30, 30])
    words = made.corpus.words.copy()
    twin = slice(int(made.corpus.offsets[120]), None)
    words[twin] -= 2 * 20  # each category has 20 words of its own
    return made._replace(corpus=made.corpus._replace(words=words))


def test_a_hidden_category_is_unlabeled_and_those_above_it_move_down() -> None:
    corpus = posed([[0], [1], [2], [0], [1]], [0, 1, 2, UNLABELED, 1], 3)
    hidden = hide(corpus, 1)
    validate(hidden)
    assert hidden.labels.tolist() == [0, UNLABELED, 1, UNLABELED, UNLABELED]
    assert hidden.n_known == 2
    assert corpus.labels.tolist() == [0, 1, 2, UNLABELED, 1], "the corpus is as it was"
    assert steps.words_digest(hidden) == steps.words_digest(corpus), "so its atoms are there"


@pytest.mark.parametrize("category", [0, 1, 2])
def test_every_category_of_an_easy_corpus_is_found_again(category: int) -> None:
    told = result_of(easy([60, 60, 60, 60], [30, 30, 30, 0], overlap=0.1).corpus, category)
    assert told["found"] > 0.9
    assert told["recall"] > 0.9
    assert told["taken"] < 0.1
    assert told["probability"] > 0.8


@pytest.mark.parametrize(("category", "twin"), [(0, 2), (2, 0)])
def test_a_category_with_the_words_of_another_is_taken_for_it(category: int, twin: int) -> None:
    told = result_of(with_a_twin().corpus, category)
    assert told["taken_for"] == twin, "as the whole corpus numbers its categories"
    assert told["taken"] > 0.5
    assert told["found"] < power_test.SEEN
    assert told["probability"] < 0.5


def test_one_of_two_known_categories_can_be_hidden() -> None:
    told = result_of(easy([60, 60], [30, 30]).corpus, 1)
    assert 0.0 <= told["found"] <= 1.0


def test_threads_do_not_change_the_result() -> None:
    corpus = easy([40, 40, 40], [20, 20, 0], overlap=0.2).corpus
    one, two = (result_of(corpus, 0, n_threads) for n_threads in (1, 2))
    np.testing.assert_equal(one, two)
    assert sorted(one) == ["found", "probability", "recall", "taken", "taken_for"]
    assert all(value.shape == () for value in one.values())


def test_a_category_of_documents_without_a_word_is_neither_found_nor_taken() -> None:
    made = easy([40, 40], [20, 20]).corpus
    documents = [made.words[i:j].tolist() for i, j in pairwise(made.offsets)]
    told = result_of(posed([*documents, [], []], [*made.labels.tolist(), 2, 2], 3), 2)
    assert {name: float(value) for name, value in told.items()} == {
        "found": 0.0, "recall": 0.0, "taken_for": NO_CATEGORY, "taken": 0.0, "probability": 0.0,
    }  # fmt: skip


def concluded(category: list[int], doubted: dict[int, tuple[float, int, float]]) -> CalibratedConclusion:
    """An answer: each document's category, and by labeled document what its audit says of it."""
    found, nan = np.array(category), np.full(len(category), np.nan)
    audit = Audit(
        np.array(list(doubted), np.int64),
        np.array([own for own, _, _ in doubted.values()]),
        np.array([suggested for _, suggested, _ in doubted.values()], np.int64),
        np.array([probability for _, _, probability in doubted.values()]),
    )
    nobody = np.full(found.size, NO_CATEGORY)
    consensus = Consensus(int(found.max()) + 1, found, nan, nobody, nan, nan, *no_others(found.size))
    return CalibratedConclusion(
        consensus, nan, np.empty(0), np.eye(1), Verdict("mixed", ()), 1.0, audit, nan, None, nan, nan
    )


def test_documents_of_other_labels_that_look_like_a_new_category_count_against_it() -> None:
    """Hidden are documents 0 to 3; 4 to 8 keep labels 0 and 1; new categories are 2 and 3."""
    corpus = posed([[0]] * 9, [UNLABELED] * 4 + [0, 0, 1, 1, 1], 2)
    answer = [2, 2, 2, 1, 0, 0, 1, 1, 1]
    hidden = np.arange(4)
    calm = power_test.judge(corpus, concluded([*answer[:8], 3], {}), hidden, 0)
    assert (float(calm["found"]), float(calm["recall"])) == (3 / 4, 3 / 4)
    assert (int(calm["taken_for"]), float(calm["taken"])) == (2, 1 / 4), "category 1 without number 0 is number 2"
    doubts = {4: (0.1, 2, 0.8), 5: (0.4, 2, 0.3), 6: (0.2, 0, 0.7), 7: (0.1, 2, 0.9)}  # only 4 and 7 look like 2
    drawn = power_test.judge(corpus, concluded(answer, doubts), hidden, 0)
    assert (float(drawn["found"]), float(drawn["recall"])) == (3 / 6, 3 / 4)


def test_without_a_new_category_nothing_is_found() -> None:
    corpus = posed([[0]] * 4, [UNLABELED, UNLABELED, 0, 1], 2)
    told = power_test.judge(corpus, concluded([0, 0, 0, 1], {}), np.arange(2), 2)
    assert [float(told[name]) for name in ("found", "recall", "taken")] == [0.0, 0.0, 1.0]
    assert told["taken_for"] == 0
