"""The calibrated sampler over corpora at the edges, and constants at and beyond their limits; warnings are errors."""

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from sampler.calibrated.checkpoint import dump, load
from sampler.corpus import NO_CATEGORY, UNLABELED, Corpus
from sampler.hyperparameters import CALIBRATED_LIMITS
from sampler.numerics.threads import Threads
from tests.sampler.calibrated_harness import QUICK, answer, easy, posed


def random_documents(n_documents: int) -> list[list[int]]:
    """Documents of 8 words out of 12, of no category whatever."""
    rng = np.random.default_rng(102)
    return [rng.integers(0, 12, 8).tolist() for _ in range(n_documents)]


def labels_of(n_documents: int, told: dict[int, int]) -> list[int]:
    """The labels of all documents: UNLABELED but for those that are told."""
    return [told.get(d, UNLABELED) for d in range(n_documents)]


LIMITS: dict[str, Callable[[], Corpus]] = {
    "no labeled document": lambda: posed(random_documents(30), labels_of(30, {}), 0),
    "known categories without a labeled document": lambda: posed(random_documents(30), labels_of(30, {0: 1}), 4),
    "known categories, none labeled": lambda: posed(random_documents(30), labels_of(30, {}), 2),
    "one known category": lambda: posed(random_documents(30), labels_of(30, {0: 0, 1: 0, 2: 0}), 1),
    "no new documents": lambda: easy([30, 30], [12, 12]).corpus,
    "one document": lambda: posed([[0, 1, 0]], [UNLABELED], 0),
    "one labeled document": lambda: posed([[0, 1, 0]], [0], 1),
    "two documents": lambda: posed([[0, 1], [1]], [0, UNLABELED], 1),
    "three documents": lambda: posed([[0, 1], [1], [2]], [0, UNLABELED, UNLABELED], 1),
    "three unlabeled documents": lambda: posed([[0, 1], [1], [2]], [UNLABELED] * 3, 0),
    "documents without words": lambda: posed(
        [document if d % 3 else [] for d, document in enumerate(random_documents(30))],
        labels_of(30, {0: 0, 1: 0, 2: 1, 3: 1}),
        2,
    ),
    "labels on documents without words alone": lambda: posed(
        [[], [], [0, 1], [1, 2], [0, 3]], labels_of(5, {0: 0, 1: 1}), 2
    ),
    "no word at all": lambda: posed([[]] * 4, [UNLABELED] * 4, 0),
    "no word at all, but labels": lambda: posed([[]] * 4, labels_of(4, {0: 0, 1: 1}), 2),
    "every document the same": lambda: posed([[0, 1, 2]] * 20, labels_of(20, {0: 0, 1: 0, 2: 1}), 2),
    "one word only": lambda: posed([[0] * (1 + d % 4) for d in range(20)], labels_of(20, {0: 0, 1: 1}), 2),
    "no document like another": lambda: posed([[d, d + 20] for d in range(20)], labels_of(20, {0: 0, 1: 1}), 2),
    "all documents labeled": lambda: posed(random_documents(20), [d % 2 for d in range(20)], 2),
    "all documents with words labeled": lambda: posed([*random_documents(20), []], [*[0, 1] * 10, UNLABELED], 2),
    "30 known categories of one labeled document each": lambda: easy([4] * 30, [1] * 30).corpus,
}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_corpus_at_a_limit_has_an_answer_without_an_error_or_a_warning(limit: str) -> None:
    corpus = LIMITS[limit]()
    with warnings.catch_warnings(), Threads() as threads:
        warnings.simplefilter("error")
        found = answer(corpus, threads, n_sweeps=3)
        for state in found.states:
            assert dump(load(corpus, found.calibration, dump(state))) == dump(state)
    consensus, is_free = found.conclusion.consensus, corpus.labels == UNLABELED
    has_answer = ~is_free | (corpus.lengths > 0)
    np.testing.assert_array_equal(consensus.category == NO_CATEGORY, ~has_answer)
    np.testing.assert_array_equal(consensus.category[~is_free], corpus.labels[~is_free])
    assert consensus.category.max() < consensus.n_categories >= corpus.n_known
    new = consensus.category[is_free & (consensus.category >= corpus.n_known)]
    assert np.unique(new).size == consensus.n_categories - corpus.n_known
    assert (np.diff(np.bincount(new - corpus.n_known)) <= 0).all()  # by falling number of documents
    probability = consensus.probability[has_answer]
    assert ((probability >= 0.0) & (probability <= 1.0 + 1e-6)).all()
    assert np.isnan(consensus.probability[~has_answer]).all()
    assert np.isfinite(found.conclusion.agreement).all() and np.isfinite(found.conclusion.temperature)


@pytest.mark.parametrize("name", CALIBRATED_LIMITS)
def test_constants_beyond_their_limits_are_refused(name: str) -> None:
    low, high = CALIBRATED_LIMITS[name]
    allowed, refused = ([{name: value} for value in values] for values in ((low, high), (low - 1, high + 1)))
    for constants in allowed:
        replace(QUICK, **constants)  # type: ignore[arg-type]
    for constants in refused:
        with pytest.raises(ValueError, match=name):
            replace(QUICK, **constants)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "values"), [("smoothings", ()), ("smoothings", (0.4, 0.0)), ("powers", ()), ("powers", (1.0, 11.0))]
)
def test_a_grid_that_is_empty_or_beyond_its_limits_is_refused(name: str, values: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match=name):
        replace(QUICK, **{name: values})  # type: ignore[arg-type]
