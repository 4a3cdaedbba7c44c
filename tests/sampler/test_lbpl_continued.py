"""Continued chains of LBPL-NTM: the posterior of the corpus as it is now, from where a source's chain stands."""

from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest

from sampler.archive import CheckpointError
from sampler.carried import ABSENT, Carried, tokens_before
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters, Kernel
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.blocked import continued as blocked_continued
from sampler.lbpl_ntm.blocked.state import BlockedState
from sampler.lbpl_ntm.checkpoint import dump, load
from sampler.lbpl_ntm.collapsed.state import CollapsedState
from sampler.lbpl_ntm.continued import continue_chain
from sampler.lbpl_ntm.state import State
from sampler.numerics.threads import Threads
from tests.sampler import blocked_harness, harness, test_blocked
from tests.sampler.enumerated import HYPERPARAMETERS, full
from tests.sampler.harness import corpus_of

KERNELS = get_args(Kernel)
N_SWEEPS = {"collapsed": 8_000, "blocked": 3_000}  # as in the tests of chains that were started
SEED = 31


def checkpoint(source: Corpus, hyperparameters: Hyperparameters, kernel: Kernel, n_sweeps: int = 20) -> bytes:
    """A chain of the source after some sweeps."""
    state = chain.start(source, hyperparameters, 5, 0, kernel)
    for _ in range(n_sweeps):
        chain.sweep(source, hyperparameters, state)
        chain.keep(source, state)
    return dump(source, state)


def all_of(corpus: Corpus) -> Carried:
    """What is carried if nothing has changed."""
    return Carried(
        corpus,
        np.arange(corpus.n_documents, dtype=np.int32),
        np.arange(corpus.n_words, dtype=np.int32),
        np.arange(corpus.n_known, dtype=np.int32),
    )


def carried_of(source: Corpus, text_before: list[int], word_now: list[int], known_now: list[int]) -> Carried:
    """Carried, from lists."""
    return Carried(source, *(np.array(index, np.int32) for index in (text_before, word_now, known_now)))


def assert_is_recount(corpus: Corpus, hyperparameters: Hyperparameters, state: State) -> None:
    """Counts are those of the tokens, and labeled documents serve their labels."""
    if isinstance(state, CollapsedState):
        expected = harness.recount(corpus, state.assignments, hyperparameters.n_topics)
        harness.assert_equal_arrays(state.counts._asdict(), expected._asdict())
    else:
        assert isinstance(state, BlockedState)
        blocked_harness.assert_counts_are_a_recount(corpus, state)
    assert state.n_sweeps == 0 and state.tally.n_draws == 0
    labeled = (corpus.labels != UNLABELED) & (corpus.lengths > 0)
    np.testing.assert_array_equal(state.document_categories(corpus)[labeled], corpus.labels[labeled])
    served = np.flatnonzero(state.category_tables)
    new = state.identity[served[served >= corpus.n_known]]
    np.testing.assert_array_equal(new, corpus.n_known + np.arange(new.size))
    np.testing.assert_array_equal(state.identity[: corpus.n_known], np.arange(corpus.n_known))
    load(corpus, hyperparameters, dump(corpus, state))  # raises if it could not be one of this corpus


# A source of each tiny corpus: one document more has arrived, and one bears a label that it did not bear.
ONE_MORE = {
    "one known": carried_of(corpus_of([[1, 2], [1, 0, 2]], [-1, -1], 3, 0), [0, 1, ABSENT], [ABSENT, 0, 1], []),
    "two known": carried_of(corpus_of([[0], [1]], [0, -1], 3, 1), [0, ABSENT, 1], [0, 1, 2], [0]),
    "label without a word": carried_of(corpus_of([[], [1], [1, 0]], [0, -1, -1], 2, 1), [0, 1, 2, ABSENT], [0, 1], [0]),
}


# The sweeps of "two known" are compared in test_blocked.py and test_long_run.py, from another start.
QUICK = [pytest.param(name, marks=[pytest.mark.slow] if name == "two known" else []) for name in ONE_MORE]


@pytest.mark.parametrize("name", QUICK)
def test_a_continued_collapsed_chain_has_the_enumerated_posterior_of_the_corpus_as_it_is_now(name: str) -> None:
    corpus, expected = harness.TINY[name], full(name)
    data = checkpoint(ONE_MORE[name].source, HYPERPARAMETERS, "collapsed")
    state = continue_chain(corpus, HYPERPARAMETERS, SEED, 0, "collapsed", ONE_MORE[name], data)
    assert isinstance(state, CollapsedState)
    codes, concentrations = np.empty(N_SWEEPS["collapsed"], np.int64), np.empty((N_SWEEPS["collapsed"], 2))
    for s in range(codes.size):
        draw = chain.sweep(corpus, HYPERPARAMETERS, state)
        codes[s] = harness.code(corpus, state.assignments)
        concentrations[s] = draw.alpha, draw.gamma
    harness.assert_matches(codes, expected.configurations)
    assert_means(concentrations, name)


@pytest.mark.parametrize("name", QUICK)
def test_a_continued_blocked_chain_has_the_enumerated_posterior_of_the_corpus_as_it_is_now(name: str) -> None:
    corpus = harness.TINY[name]
    data = checkpoint(ONE_MORE[name].source, HYPERPARAMETERS, "blocked")
    state = continue_chain(corpus, HYPERPARAMETERS, SEED, 0, "blocked", ONE_MORE[name], data)
    assert isinstance(state, BlockedState)
    seen, concentrations = [], np.empty((N_SWEEPS["blocked"], 2))
    for s in range(N_SWEEPS["blocked"]):
        draw = chain.sweep(corpus, HYPERPARAMETERS, state)
        seen.append(test_blocked.view_of_state(corpus, state))
        concentrations[s] = draw.alpha, draw.gamma
    test_blocked.assert_matches(seen, test_blocked.views(corpus, full(name).configurations))
    assert_means(concentrations, name)


def assert_means(concentrations: Array, name: str) -> None:
    """The means of alpha and gamma are the exact ones; the limit holds two t scores with probability .999."""
    expected = np.array([full(name).alpha, full(name).gamma])
    t = harness.t_scores(harness.batch_means(concentrations), expected)
    assert np.abs(t).max() < harness.t_limit(2), f"t of the means of alpha and gamma: {t}"


def test_an_unchanged_collapsed_chain_goes_on_with_every_table_category_and_topic(
    corpus: Corpus, hyperparameters: Hyperparameters
) -> None:
    data = checkpoint(corpus, hyperparameters, "collapsed")
    source = load(corpus, hyperparameters, data)
    state = continue_chain(corpus, hyperparameters, SEED, 0, "collapsed", all_of(corpus), data)
    assert isinstance(source, CollapsedState) and isinstance(state, CollapsedState)
    np.testing.assert_array_equal(state.assignments.topic, source.assignments.topic)
    assert (state.alpha, state.gamma) == (source.alpha, source.gamma)
    assert same_parts(state.assignments.table, source.assignments.table)
    of_tokens = [each.assignments.category[each.assignments.table] for each in (state, source)]
    assert same_parts(*of_tokens)
    np.testing.assert_array_equal(
        of_tokens[0][of_tokens[1] < corpus.n_known], of_tokens[1][of_tokens[1] < corpus.n_known]
    )
    assert state.log_joint(corpus, hyperparameters) == pytest.approx(source.log_joint(corpus, hyperparameters))


def test_an_unchanged_blocked_chain_goes_on_with_the_category_of_every_document(
    corpus: Corpus, hyperparameters: Hyperparameters
) -> None:
    data = checkpoint(corpus, hyperparameters, "blocked")
    source = load(corpus, hyperparameters, data)
    state = continue_chain(corpus, hyperparameters, SEED, 0, "blocked", all_of(corpus), data)
    before, now = source.document_categories(corpus), state.document_categories(corpus)
    assert same_parts(before, now)
    np.testing.assert_array_equal(
        now[(before >= 0) & (before < corpus.n_known)], before[(before >= 0) & (before < corpus.n_known)]
    )
    assert (state.alpha, state.gamma) == (source.alpha, source.gamma)


def same_parts(one: Array, other: Array) -> bool:
    """Whether two partitions are the same."""
    pairs = np.unique(np.stack([one, other]), axis=1)
    return bool(pairs.shape[1] == np.unique(one).size == np.unique(other).size)


def test_tokens_are_found_again_by_their_word_whatever_their_order_and_the_words_numbers() -> None:
    source = corpus_of([[0, 1, 0, 2], [2], [1, 1]], [-1] * 3, 3, 0)
    corpus = corpus_of([[1, 1], [0], [5, 1, 5, 5, 0]], [-1] * 3, 6, 0)
    carried = carried_of(source, [2, ABSENT, 0], [5, 1, ABSENT], [])
    assert tokens_before(corpus, carried).tolist() == [5, 6, ABSENT, 0, 1, 2, ABSENT, ABSENT]


def separated(sizes: list[int], labeled: list[int]) -> Corpus:
    """Categories of `sizes` documents that share no word; the first `labeled` of each bear a label if there are any."""
    rng, documents, labels = np.random.default_rng(2), [], []
    for k, (size, n_labeled) in enumerate(zip(sizes, labeled, strict=True)):
        for d in range(size):
            documents.append((10 * k + rng.integers(0, 10, 12)).tolist())
            labels.append(k if d < n_labeled else UNLABELED)
    return corpus_of(documents, labels, 10 * len(sizes), sum(n > 0 for n in labeled))


PLAIN = Hyperparameters(n_topics=8, beta=0.1)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_new_category_is_the_known_one_whose_label_its_documents_have_got(kernel: Kernel) -> None:
    source = separated([12, 12, 12], [4, 0, 0])
    data = checkpoint(source, PLAIN, kernel)
    before = load(source, PLAIN, data).document_categories(source)
    assert np.unique(before[12:24]).size == 1 and before[12] != before[24]
    labels = source.labels.copy()
    labels[:4] = 1  # the new name comes first in the order of names
    labels[12:14] = 0
    corpus = source._replace(labels=labels, n_known=2)
    carried = all_of(source)._replace(known_now=np.array([1], np.int32))
    state = continue_chain(corpus, PLAIN, SEED, 0, kernel, carried, data)
    assert_is_recount(corpus, PLAIN, state)
    now = state.document_categories(corpus)
    assert (now[:12] == 1).all() and (now[12:24] == 0).all() and (now[24:] == 2).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_document_that_was_put_right_does_not_take_its_category_along(kernel: Kernel) -> None:
    source = separated([12, 12], [4, 0])
    data = checkpoint(source, PLAIN, kernel)
    labels = source.labels.copy()
    labels[12] = 0
    corpus = source._replace(labels=labels)
    state = continue_chain(corpus, PLAIN, SEED, 0, kernel, all_of(source), data)
    now = state.document_categories(corpus)
    assert (now[:13] == 0).all() and (now[13:] == 1).all()


@pytest.mark.parametrize(("kernel", "start_tokens"), [("collapsed", 0), ("blocked", 200_000), ("blocked", 150)])
def test_documents_that_arrive_join_their_category_or_open_one(
    kernel: Kernel, start_tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 150 tokens most of the arrivals are placed by what a few of them have taught."""
    monkeypatch.setattr(blocked_continued, "START_TOKENS", start_tokens)
    corpus = separated([12, 12, 12], [4, 0, 0])
    kept = np.flatnonzero(np.isin(np.arange(36) // 12, [0, 1]) & (np.arange(36) % 12 < 9))
    documents = [corpus.words[corpus.offsets[d] : corpus.offsets[d + 1]].tolist() for d in kept]
    source = corpus_of(documents, corpus.labels[kept].tolist(), corpus.n_words, corpus.n_known)
    text_before = np.full(36, ABSENT, np.int32)
    text_before[kept] = np.arange(kept.size)
    carried = all_of(source)._replace(text_before=text_before)
    state = continue_chain(corpus, PLAIN, SEED, 0, kernel, carried, checkpoint(source, PLAIN, kernel))
    assert_is_recount(corpus, PLAIN, state)
    for _ in range(20):
        chain.sweep(corpus, PLAIN, state)
    now = state.document_categories(corpus)
    assert (now[:12] == 0).all() and np.unique(now[12:24]).size == np.unique(now[24:]).size == 1
    assert len({0, int(now[12]), int(now[24])}) == 3


def with_labels(corpus: Corpus, labels: list[int], n_known: int) -> Corpus:
    """The same words under other labels."""
    return corpus._replace(labels=np.array(labels, np.int32), n_known=n_known)


SOURCE = corpus_of([[0, 1, 1], [2, 3], [], [0, 2], [3, 3, 1]], [0, -1, 1, 1, -1], 4, 2)
EVERY, NOBODY = [0, 1, 2, 3], [ABSENT] * 5
CHANGES: dict[str, tuple[Corpus, list[int], list[int], list[int]]] = {
    "nothing": (SOURCE, [0, 1, 2, 3, 4], EVERY, [0, 1]),
    "all words are gone": (SOURCE, [0, 1, 2, 3, 4], [ABSENT] * 4, [0, 1]),
    "all documents are gone": (SOURCE, NOBODY, EVERY, [0, 1]),
    "everything is labeled": (with_labels(SOURCE, [0, 1, 1, 1, 0], 2), [0, 1, 2, 3, 4], EVERY, [0, 1]),
    "no label is left": (with_labels(SOURCE, [-1] * 5, 0), [0, 1, 2, 3, 4], EVERY, [ABSENT, ABSENT]),
    "a label without a word is left": (
        with_labels(SOURCE, [-1, -1, 0, -1, -1], 1), [0, 1, 2, 3, 4], EVERY, [0, ABSENT]
    ),
    "a document has lost its words, and another got some": (
        corpus_of([[], [2, 3], [1, 1], [0, 2], [3, 3, 1]], [0, -1, 1, 1, -1], 4, 2), [0, 1, 2, 3, 4], EVERY, [0, 1]
    ),
    "two documents were one": (
        corpus_of([[0, 1, 1], [2, 3], [3, 2, 2]], [0, -1, -1], 4, 1), [0, 1, 1], EVERY, [0, ABSENT]
    ),
    "labels and words are those of others": (
        corpus_of([[5, 4], [4, 4, 0], [1]], [2, -1, 0], 6, 3), [1, ABSENT, 4], [ABSENT, 5, 1, 4], [2, ABSENT]
    ),
    "only labeled documents go on": (
        corpus_of([[0, 1], [4, 4]], [0, -1], 5, 1), [0, ABSENT], [0, 1, 2, 3], [0, ABSENT]
    ),
}  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("change", CHANGES)
def test_no_change_is_a_dead_end(change: str, kernel: Kernel) -> None:
    corpus, *index = CHANGES[change]
    carried, data = carried_of(SOURCE, *index), checkpoint(SOURCE, HYPERPARAMETERS, kernel)
    state = continue_chain(corpus, HYPERPARAMETERS, SEED, 0, kernel, carried, data)
    assert_is_recount(corpus, HYPERPARAMETERS, state)
    for _ in range(3):
        chain.sweep(corpus, HYPERPARAMETERS, state)
    again = load(corpus, HYPERPARAMETERS, dump(corpus, state))
    assert again.digest == state.digest


@pytest.mark.parametrize(("kernel", "start_tokens"), [("collapsed", 0), ("blocked", 200_000), ("blocked", 20)])
def test_the_same_bytes_on_any_number_of_threads_and_others_for_another_seed_or_source(
    kernel: Kernel, start_tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocked_continued, "START_TOKENS", start_tokens)
    source = separated([12, 12], [4, 0])
    corpus = separated([12, 16], [4, 0])
    text_before = np.append(np.arange(24), [ABSENT] * 4).astype(np.int32)
    carried = all_of(source)._replace(text_before=text_before)
    data = checkpoint(source, PLAIN, kernel)
    more = checkpoint(source, PLAIN, kernel, 21)

    def first_and_second(seed: int, given: bytes, threads: Threads) -> tuple[bytes, bytes]:
        state = continue_chain(corpus, PLAIN, seed, 0, kernel, carried, given, threads)
        first = dump(corpus, state)
        chain.sweep(corpus, PLAIN, state, threads)
        return first, dump(corpus, state)

    with Threads() as one, Threads(3, n_pieces=7) as three:
        expected = first_and_second(SEED, data, one)
        assert first_and_second(SEED, data, three) == expected
        assert first_and_second(SEED + 1, data, one) != expected != first_and_second(SEED, more, one)


REFUSALS: dict[str, Callable[[Carried], Carried]] = {
    "text_before": lambda carried: carried._replace(text_before=carried.text_before[:-1]),
    "word_now": lambda carried: carried._replace(word_now=carried.word_now + 1),
    "known_now": lambda carried: carried._replace(known_now=carried.known_now - 2),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_is_carried_from_another_corpus_is_refused(name: str) -> None:
    carried = REFUSALS[name](all_of(SOURCE))
    with pytest.raises(ValueError, match=name):
        continue_chain(SOURCE, HYPERPARAMETERS, SEED, 0, "blocked", carried, b"")


def test_a_source_of_another_kernel_or_corpus_is_refused() -> None:
    data = checkpoint(SOURCE, HYPERPARAMETERS, "collapsed", 1)
    with pytest.raises(ValueError, match="collapsed"):
        continue_chain(SOURCE, HYPERPARAMETERS, SEED, 0, "blocked", all_of(SOURCE), data)
    other = with_labels(SOURCE, [-1] * 5, 2)
    with pytest.raises(CheckpointError, match="another corpus"):
        continue_chain(SOURCE, HYPERPARAMETERS, SEED, 0, "collapsed", all_of(other), data)


def test_a_document_without_a_word_has_no_category() -> None:
    data = checkpoint(SOURCE, HYPERPARAMETERS, "blocked", 1)
    state = continue_chain(SOURCE, HYPERPARAMETERS, SEED, 0, "blocked", all_of(SOURCE), data)
    assert state.document_categories(SOURCE)[2] == NO_CATEGORY
