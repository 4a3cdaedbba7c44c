"""What is no model and what is no corpus is refused, with the values that met."""

from collections.abc import Callable

import numpy as np
import pytest

from sampler.corpus import Corpus, fingerprint, validate
from sampler.hyperparameters import LIMITS, Hyperparameters, check_kernel
from sampler.lbpl_ntm import chain
from tests.sampler import harness


@pytest.mark.parametrize("name", LIMITS)
def test_a_hyperparameter_outside_its_limits_is_refused_by_name_and_value(name: str) -> None:
    low, high = LIMITS[name]
    for value in (low, high):
        assert getattr(Hyperparameters(**{name: value}), name) == value
    for value in (low - 1, high + 1, float("nan"), float("inf"), -float("inf")):
        with pytest.raises(ValueError, match=f"{name} = {value}"):
            Hyperparameters(**{name: value})


def test_an_unknown_category_step_is_refused() -> None:
    with pytest.raises(ValueError, match="'literal'"):
        Hyperparameters(category_step="literal")  # type: ignore[arg-type]


def test_the_defaults_are_the_papers_and_the_means_are_shape_times_scale() -> None:
    paper = Hyperparameters()
    assert (paper.n_topics, paper.zeta, paper.beta) == (128, 1.0, 0.01)
    assert paper.alpha_mean == pytest.approx(0.5) and paper.gamma_mean == pytest.approx(0.001)


def test_as_printed_goes_with_algorithm_1_alone() -> None:
    as_printed = Hyperparameters(n_topics=2, category_step="as_printed")
    check_kernel("collapsed", as_printed)
    for refusing in (
        lambda: check_kernel("blocked", as_printed),
        lambda: chain.start(GOOD, as_printed, seed=1, chain=0, kernel="blocked"),
    ):
        with pytest.raises(ValueError, match="'as_printed' goes with kernel = 'collapsed' alone, not with 'blocked'"):
            refusing()


def test_births_in_the_first_sweeps_go_with_the_blocked_kernel_alone() -> None:
    check_kernel("blocked", Hyperparameters(birth_share=0.3))
    check_kernel("collapsed", Hyperparameters(birth_share=0.0))
    with pytest.raises(ValueError, match="goes with kernel = 'blocked' alone, not with 'collapsed'"):
        check_kernel("collapsed", Hyperparameters(birth_share=0.3))


def test_an_unknown_kernel_is_refused() -> None:
    with pytest.raises(ValueError, match="kernel = 'annealed' is not blocked or collapsed"):
        check_kernel("annealed", Hyperparameters())  # type: ignore[arg-type]


WORDS, OFFSETS, LABELS = np.array([0, 1, 2], np.int32), np.array([0, 2, 3], np.int64), np.array([1, -1], np.int32)
GOOD = Corpus(WORDS, OFFSETS, LABELS, 3, 2)


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        (GOOD._replace(words=WORDS.astype(np.int64)), "words is not a C-contiguous vector of int32"),
        (GOOD._replace(offsets=OFFSETS.astype(np.int32)), "offsets is not a C-contiguous vector of int64"),
        (GOOD._replace(labels=LABELS.astype(float)), "labels is not a C-contiguous vector of int32"),
        (GOOD._replace(words=np.arange(6, dtype=np.int32)[::2]), "words is not a C-contiguous"),
        (GOOD._replace(words=WORDS[:, None]), "words is not a C-contiguous"),
        (GOOD._replace(offsets=np.array([0, 3], np.int64)), "2 offsets do not bound 2 documents"),
        (GOOD._replace(offsets=np.array([1, 2, 3], np.int64)), "ascend from 0 to 3"),
        (GOOD._replace(offsets=np.array([0, 2, 4], np.int64)), "ascend from 0 to 3"),
        (GOOD._replace(offsets=np.array([0, 5, 3], np.int64)), "ascend from 0 to 3"),
        (GOOD._replace(words=np.array([0, 3, 2], np.int32)), "token 1: word 3 is not below n_words = 3"),
        (GOOD._replace(words=np.array([0, 1, -1], np.int32)), "token 2: word -1"),
        (GOOD._replace(labels=np.array([2, -1], np.int32)), "document 0: label 2 is not below n_known = 2"),
        (GOOD._replace(labels=np.array([1, -2], np.int32)), "document 1: label -2"),
    ],
)
def test_a_malformed_corpus_is_refused_with_the_values_that_met(corpus: Corpus, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        validate(corpus)
    with pytest.raises(ValueError, match=message):
        chain.start(corpus, Hyperparameters(n_topics=2), seed=1, chain=0)


def test_good_corpora_are_valid() -> None:
    for corpus in (GOOD, harness.corpus_of([], [], 0, 0), harness.corpus_of([[], []], [-1, 0], 1, 1)):
        validate(corpus)


def test_a_corpus_without_a_token_starts_no_chain() -> None:
    with pytest.raises(ValueError, match="has 0 tokens"):
        chain.start(harness.corpus_of([[], []], [-1, 0], 1, 1), Hyperparameters(n_topics=2), seed=1, chain=0)


def test_the_fingerprint_tells_any_two_corpora_apart() -> None:
    changes: list[Callable[[Corpus], Corpus]] = [
        lambda c: c,
        lambda c: c._replace(words=c.words[::-1].copy()),
        lambda c: c._replace(offsets=np.array([0, 1, 3], np.int64)),
        lambda c: c._replace(labels=c.labels[::-1].copy()),
        lambda c: c._replace(n_words=4),
        lambda c: c._replace(n_known=3),
    ]
    assert len({fingerprint(change(GOOD)) for change in changes}) == len(changes)
    assert fingerprint(GOOD) == fingerprint(Corpus(WORDS.copy(), OFFSETS.copy(), LABELS.copy(), 3, 2))
