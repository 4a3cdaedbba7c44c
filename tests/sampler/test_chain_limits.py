"""Each kernel at the limits of hyperparameters and at the edges of what is a corpus; warnings are errors."""

from dataclasses import fields

import numpy as np
import pytest

from sampler.corpus import Corpus
from sampler.hyperparameters import LIMITS, Hyperparameters, Kernel
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.blocked.state import BlockedState
from sampler.lbpl_ntm.state import Course, State
from sampler.numerics.threads import Threads
from tests.sampler import blocked_harness, harness, kernels

TOO_WIDE = ("blocked", "gamma_scale", 1e6)  # gamma then wants tens of millions of categories
OF_BLOCKED = ("collapsed", "birth_share", 1.0)
AT_LIMITS = [
    case
    for case in ((kernel, name, value) for kernel in kernels.NAMES for name in LIMITS for value in LIMITS[name])
    if case not in (TOO_WIDE, OF_BLOCKED)
]


def sweep_and_check(corpus: Corpus, model: Hyperparameters, kernel: Kernel, n_sweeps: int = 5) -> State:
    """Sweep on two threads; all numbers stay finite, all counts those of a recount."""
    state = chain.start(corpus, model, seed=51, chain=0, kernel=kernel)
    with Threads(2) as threads:
        for _ in range(n_sweeps):
            draw = chain.sweep(corpus, model, state, threads)
            chain.keep(corpus, state)
            assert np.isfinite(draw.log_joint) and draw.alpha > 0 and draw.gamma > 0
            if isinstance(state, BlockedState):
                drawn = blocked_harness.drawn_of(state)
                assert np.isfinite(drawn.chance).all() and np.isfinite(drawn.mixture).all()
            kernels.assert_counts_are_a_recount(corpus, state)
    return state


@pytest.mark.parametrize(("kernel", "name", "value"), AT_LIMITS)
def test_hyperparameters_at_their_limits_can_be_swept(corpus: Corpus, kernel: Kernel, name: str, value: float) -> None:
    sweep_and_check(corpus, Hyperparameters(**{"n_topics": 5, "n_start": 3, name: value}), kernel)


@pytest.mark.parametrize("gamma_shape", [1.0, 1e6])
def test_a_gamma_that_wants_more_categories_than_there_are_slots_is_refused_at_once(
    corpus: Corpus, gamma_shape: float
) -> None:
    model = Hyperparameters(n_topics=5, gamma_shape=gamma_shape, gamma_scale=1e6)
    with pytest.raises(ValueError, match="prior is too wide"):
        blocked_harness.start(corpus, model, seed=1)


def words_of(seed: int, n_documents: int) -> list[list[int]]:
    """Documents of 9 words of 50."""
    return np.random.default_rng(seed).integers(0, 50, (n_documents, 9)).tolist()


EDGES = {
    "one document": harness.corpus_of([[2, 0, 1]], [-1], 3, 0),
    "one word": harness.corpus_of([[0]] * 5, [-1] * 5, 1, 0),
    "one token": harness.corpus_of([[0]], [-1], 1, 0),
    "one labeled token": harness.corpus_of([[0]], [0], 1, 1),
    "all labeled": harness.corpus_of([[0, 1]] * 3, [0, 0, 1], 2, 2),
    "none labeled": harness.corpus_of([[0, 1]] * 3, [-1] * 3, 2, 0),
    "known categories that no document has": harness.corpus_of([[0, 1]] * 3, [-1] * 3, 2, 2),
    "empty documents": harness.corpus_of([[], [0, 1], [], []], [-1, -1, 0, -1], 2, 1),
    "70,000 equal words": harness.corpus_of([[0] * 70_000, [0, 1]], [-1, -1], 2, 0),
    "70,000 equal labeled words": harness.corpus_of([[0] * 70_000, [0, 1]], [0, -1], 2, 1),
    "255 words and more": harness.corpus_of([[0] * 1000 + [1] * 255 + [2] * 256 + [3] * 510, [0]], [-1, -1], 4, 0),
    "300 known categories": harness.corpus_of(words_of(52, 400), [*range(300), *[-1] * 100], 50, 300),
    "words that do not occur": harness.corpus_of([[3, 19_000]] * 3, [-1] * 3, 20_000, 0),
    "a frequent word among many that do not occur": harness.corpus_of([[7] * 30_000] * 3, [-1, -1, 0], 20_000, 1),
}
MODELS = {
    "narrow": Hyperparameters(n_topics=2, n_start=2, beta=0.001),
    "one topic": Hyperparameters(n_topics=1, n_start=3, gamma_scale=1.0, beta=1.5),
    "many categories": Hyperparameters(n_topics=5, n_start=0, gamma_scale=5.0, alpha_scale=1.0),
}


@pytest.mark.parametrize("kernel", kernels.NAMES)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", EDGES)
def test_corpora_at_the_edges_can_be_swept(name: str, model: str, kernel: Kernel) -> None:
    sweep_and_check(EDGES[name], MODELS[model], kernel)


def test_the_blocked_kernel_sweeps_documents_with_their_words_in_another_order_alike() -> None:
    """A document is a bag: after the start only the fingerprint of the corpus knows in which order its words stood."""
    rng, model = np.random.default_rng(53), MODELS["many categories"]
    documents = rng.integers(0, 6, (30, 8)).tolist()
    shuffled = [rng.permutation(document).tolist() for document in documents]
    left, right = (harness.corpus_of(some, [-1] * 25 + [0] * 5, 6, 1) for some in (documents, shuffled))
    state = sweep_and_check(left, model, "blocked")
    course = Course(**{field.name: getattr(state, field.name) for field in fields(Course)})
    other = BlockedState.restore(right, model, course, state.arrays(left))
    for _ in range(5):
        assert chain.sweep(left, model, state) == chain.sweep(right, model, other)
    assert state.digest == other.digest
