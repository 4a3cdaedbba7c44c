"""A chain of each kernel against recounts and literal readings of its state."""

from collections import Counter

import numpy as np
import pytest

from sampler.corpus import NO_CATEGORY, UNLABELED, Corpus
from sampler.hyperparameters import Hyperparameters, Kernel
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.assignments import UNBORN
from sampler.numerics.threads import Threads
from tests.sampler import harness, kernels


@pytest.mark.parametrize("model", kernels.MODELS)
def test_counts_equal_a_recount_after_every_sweep(corpus: Corpus, model: str) -> None:
    kernel, hyperparameters = kernels.MODELS[model]
    state = chain.start(corpus, hyperparameters, seed=1, chain=0, kernel=kernel)
    with Threads(2, 5) as threads:
        for sweep in range(200):
            kernels.assert_counts_are_a_recount(corpus, state)
            chain.sweep(corpus, hyperparameters, state, threads if sweep % 2 else None)


@pytest.mark.parametrize("model", kernels.MODELS)
def test_a_draw_says_what_a_literal_reading_of_the_state_says(corpus: Corpus, model: str) -> None:
    kernel, hyperparameters = kernels.MODELS[model]
    state = chain.start(corpus, hyperparameters, seed=6, chain=0, kernel=kernel)
    is_labeled = (corpus.labels != UNLABELED) & (corpus.lengths > 0)
    n_mixed = 0
    for sweep in range(1, 101):
        draw = chain.sweep(corpus, hyperparameters, state)
        served = kernels.token_categories(corpus, state).tolist()
        answers = []
        for d in range(corpus.n_documents):
            words = Counter(served[corpus.offsets[d] : corpus.offsets[d + 1]])
            answers.append(min(words, key=lambda k, words=words: (-words[k], k)) if words else NO_CATEGORY)
            n_mixed += len(words) > 1
        assert state.document_categories(corpus).tolist() == answers
        np.testing.assert_array_equal(np.array(answers)[is_labeled], corpus.labels[is_labeled])
        assert draw == chain.Draw(
            sweep=sweep,
            n_categories=len(set(served)),
            n_new=len({k for k in served if k >= corpus.n_known}),
            n_new_with_documents=len({k for k in answers if k >= corpus.n_known}),
            n_tables=kernels.count_tables(state),
            alpha=state.alpha,
            gamma=state.gamma,
            log_joint=state.log_joint(corpus, hyperparameters),
        )
    assert n_mixed > 100


@pytest.mark.parametrize("kernel", kernels.NAMES)
def test_a_known_category_without_a_labeled_word_is_never_served(
    hyperparameters: Hyperparameters, kernel: Kernel
) -> None:
    corpus = harness.TINY["label without a word"]
    state = chain.start(corpus, hyperparameters, seed=3, chain=0, kernel=kernel)
    for _ in range(300):
        kernels.assert_counts_are_a_recount(corpus, state)
        assert state.category_tables[0] == 0 and (kernels.token_categories(corpus, state) != 0).all()
        chain.sweep(corpus, hyperparameters, state)


@pytest.mark.parametrize("kernel", kernels.NAMES)
def test_categories_keep_their_identity_while_they_live_and_never_share_one(
    corpus: Corpus, hyperparameters: Hyperparameters, kernel: Kernel
) -> None:
    state = chain.start(corpus, hyperparameters, seed=7, chain=0, kernel=kernel)
    n_started = state.n_born
    for _ in range(300):
        before = set(state.identity[state.category_tables > 0].tolist())
        n_born = state.n_born
        chain.sweep(corpus, hyperparameters, state)
        living = state.identity[state.category_tables > 0]
        assert UNBORN not in living and np.unique(living).size == living.size
        assert set(living.tolist()) - before == set(range(n_born, state.n_born))  # no identity comes back
        np.testing.assert_array_equal(state.identity[: corpus.n_known], np.arange(corpus.n_known))
    assert state.n_born > n_started + 20


@pytest.mark.parametrize("kernel", kernels.NAMES)
def test_the_tally_counts_the_answers_of_the_kept_draws(
    corpus: Corpus, hyperparameters: Hyperparameters, kernel: Kernel
) -> None:
    state = chain.start(corpus, hyperparameters, seed=8, chain=0, kernel=kernel)
    expected: Counter[tuple[int, int]] = Counter()
    unlabeled = np.flatnonzero((corpus.labels == UNLABELED) & (corpus.lengths > 0)).tolist()
    for _ in range(100):
        chain.sweep(corpus, hyperparameters, state)
        chain.keep(corpus, state)
        answers = state.document_categories(corpus)
        expected.update((d, int(state.identity[answers[d]])) for d in unlabeled)
    tally = state.tally
    addresses = list(zip(tally.document.tolist(), tally.identity.tolist(), strict=True))
    assert tally.n_draws == 100 and addresses == sorted(expected)
    assert tally.hits.tolist() == [expected[address] for address in addresses]
