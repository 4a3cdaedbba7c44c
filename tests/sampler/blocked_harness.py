"""What the tests of the blocked sampler share: its state token by token, and parameters written by hand."""

from collections.abc import Sequence

import numpy as np
import scipy.special
import scipy.stats

from sampler.corpus import UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.blocked import arrays
from sampler.lbpl_ntm.blocked.arrays import FIXED_POINT, MIXED, Drawn
from sampler.lbpl_ntm.blocked.state import BlockedState
from sampler.lbpl_ntm.blocked.sweep import Sweep
from sampler.numerics.threads import Threads

FALSE_ALARM = 1e-3  # of a whole comparison, were the seed not fixed
ENOUGH = 5.0  # expected visits of a cell of a chi-square test


def start(corpus: Corpus, hyperparameters: Hyperparameters, seed: int, index: int = 0) -> BlockedState:
    """A chain of the blocked sampler before its first sweep."""
    state = chain.start(corpus, hyperparameters, seed=seed, chain=index, kernel="blocked")
    assert isinstance(state, BlockedState)
    return state


def order_of_bags(corpus: Corpus) -> Array:
    """int64[N]: the tokens, document after document, with the words of each ascending."""
    document = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
    return np.lexsort((corpus.words, document))


def token_categories(corpus: Corpus, state: BlockedState) -> Array:
    """int64[N]: the slot of each token, in the order of bags."""
    category = np.repeat(corpus.labels, corpus.lengths).astype(np.int64)
    whole = np.repeat(state.placements.whole, np.diff(state.bags.first_token)).astype(np.int64)
    category[category == UNLABELED] = np.where(whole == MIXED, state.placements.token, whole)
    return category


def category_word(corpus: Corpus, state: BlockedState) -> Array:
    """int32[V, S]: a count of the tokens of each word in each category, by a histogram."""
    counts = np.zeros((corpus.n_words, state.identity.size), np.int32)
    np.add.at(counts, (corpus.words[order_of_bags(corpus)], token_categories(corpus, state)), 1)
    return counts


def place(corpus: Corpus, state: BlockedState, category: Array) -> None:
    """Put the tokens of unlabeled documents, in the order of bags, into these slots int[N]."""
    own = category[np.repeat(corpus.labels, corpus.lengths) == UNLABELED]
    first, lengths = state.bags.first_token[:-1], np.diff(state.bags.first_token)
    highest, lowest = (ufunc.reduceat(own, first) for ufunc in (np.maximum, np.minimum))
    is_mixed = highest != lowest
    state.placements.whole[:] = np.where(is_mixed, MIXED, lowest)
    state.placements.token[:] = np.where(np.repeat(is_mixed, lengths), own, 0)
    state.counts.category_word[:] = category_word(corpus, state)


def word_topic(state: BlockedState) -> Array:
    """int32[V, L]: O_lw with its zeros. A topic may stand only once in a word's row, and never without a token."""
    rows = state.counts.word_topics
    counts = np.zeros(rows.topic.shape, np.int32)
    for w in range(rows.size.size):
        topics, tokens = rows.topic[w, : rows.size[w]], rows.tokens[w, : rows.size[w]]
        assert np.unique(topics).size == topics.size and (tokens > 0).all()
        counts[w, topics] = tokens
    return counts


def write_word_topic(state: BlockedState, counts: Array) -> None:
    """Let O_lw, int[V, L], be this."""
    rows = state.counts.word_topics
    rows.size[:] = np.count_nonzero(counts, axis=1)
    order = np.argsort(counts == 0, axis=1, kind="stable")
    rows.topic[:], rows.tokens[:] = order, np.take_along_axis(counts, order, axis=1)


def assert_counts_are_a_recount(corpus: Corpus, state: BlockedState) -> None:
    """All counts are those of the tokens, and of one another where single tokens are not known."""
    counts = state.counts
    tokens = category_word(corpus, state)
    np.testing.assert_array_equal(counts.category_word, tokens)
    np.testing.assert_array_equal(counts.category_topic.sum(axis=1), tokens.sum(axis=0))
    of_words = word_topic(state)
    np.testing.assert_array_equal(of_words.sum(axis=1), tokens.sum(axis=1))
    np.testing.assert_array_equal(of_words.sum(axis=0), counts.category_topic.sum(axis=0))
    np.testing.assert_array_equal(counts.topic_tokens, counts.category_topic.sum(axis=0))
    assert (counts.category_topic >= 0).all()
    assert_tables_are_possible(corpus, state)


def assert_tables_are_possible(corpus: Corpus, state: BlockedState) -> None:
    """A category has as many tables as documents in it, labeled ones too, or more, and not more than tokens.

    `log_seats` is the sum of log (n - 1)! over its unlabeled tables: as small as can be when tables are equal, as
    large as can be when one of them has all tokens but one each of the others.
    """
    counts, n_slots = state.counts, state.identity.size
    category, document = token_categories(corpus, state), np.repeat(np.arange(corpus.n_documents), corpus.lengths)
    is_labeled = np.repeat(corpus.labels, corpus.lengths) != UNLABELED
    held = np.unique(np.stack([category, document]), axis=1)
    tokens = np.bincount(category, minlength=n_slots)
    assert (counts.category_tables >= np.bincount(held[0], minlength=n_slots)).all()
    assert (counts.category_tables <= tokens).all()
    labeled = np.bincount(np.unique(np.stack([category, document])[:, is_labeled], axis=1)[0], minlength=n_slots)
    tables = counts.category_tables - labeled
    own = np.bincount(category[~is_labeled], minlength=n_slots)
    assert (tables[own == 0] == 0).all() and (counts.log_seats[tables == 0] == 0).all()
    tables, own, log_seats = (part[tables > 0] for part in (tables, own, counts.log_seats / FIXED_POINT))
    slack = 1e-6 * tables  # of rounding to FIXED_POINT
    assert (log_seats <= scipy.special.gammaln(own - tables + 1) + slack).all()
    low, n_larger = own // tables, own % tables
    least = (tables - n_larger) * scipy.special.gammaln(low) + n_larger * scipy.special.gammaln(low + 1)
    assert (log_seats >= least - slack).all()


def prepared(corpus: Corpus, hyperparameters: Hyperparameters, n_categories: int, seed: int) -> Sweep:
    """The steps over a state that has slots for so many categories, whatever it started with."""
    state = start(corpus, hyperparameters, seed)
    state.make_slots(corpus.n_known, n_categories)
    return Sweep(corpus, hyperparameters, state, Threads())


def steps_of(corpus: Corpus, hyperparameters: Hyperparameters, state: BlockedState, threads: Threads) -> Sweep:
    """The steps over a state, with what its last sweep on as many threads has drawn."""
    sweep = Sweep(corpus, hyperparameters, state, threads)
    assert sweep.scratch.drawn.stick.any(), "nothing has been drawn"
    return sweep


def drawn_of(state: BlockedState) -> Drawn:
    """The parameters of the last sweep."""
    [scratch] = state.workplace.scratches.values()
    return scratch.drawn


def write_categories(sweep: Sweep, stick: Sequence[float], chance: Array) -> None:
    """Let b [K] and p(w | k), float32[V, K], be these instead of drawn ones."""
    drawn = sweep.scratch.drawn
    drawn.stick[:], drawn.chance[:] = 0.0, 0.0
    drawn.stick[: len(stick)], drawn.chance[:, : len(stick)] = stick, chance


def write_topics(sweep: Sweep, theta: Array, phi: Array, counted: Array, rng: np.random.Generator) -> None:
    """Let theta [K, L] and phi [V, L] be these; topics with `counted` bool[V, L] stand first, each part in any order.

    The weights of phi are 0 where a word has no such topic; they and theta are taken as float32.
    """
    drawn = sweep.scratch.drawn
    drawn.mixture[:] = 0.0
    drawn.mixture[:, : theta.shape[0]] = theta.T
    for w in range(phi.shape[0]):
        parts = [np.flatnonzero((phi[w] > 0) & part) for part in (counted[w], ~counted[w])]
        topics = np.concatenate([rng.permutation(part) for part in parts])
        drawn.topic[w, : topics.size], drawn.weight[w, : topics.size] = topics, phi[w, topics]
        drawn.size[w], drawn.counted[w] = topics.size, parts[0].size
    sweep.write_chances()


def redraw_words(corpus: Corpus, state: BlockedState, rng: np.random.Generator) -> None:
    """Draw every token's word from p(w | k) of its category, in place; the topics are then those of other words."""
    category = token_categories(corpus, state)
    cumulative = np.cumsum(drawn_of(state).chance[:, category], axis=0, dtype=float)
    word = (cumulative[:-1] <= rng.random(category.size) * cumulative[-1]).sum(axis=0)
    order = np.lexsort((word, np.repeat(np.arange(corpus.n_documents), corpus.lengths)))
    corpus.words[:] = word[order]
    state.bags = arrays.bags_of(corpus)
    place(corpus, state, category[order])


def chi_square_p(visits: Array, chances: Array) -> float:
    """The p-value of visits [J] under chances [J]; neighbours that are too rare are taken together."""
    expected = chances / chances.sum() * visits.sum()
    group, n_groups, held = np.zeros(expected.size, int), 0, 0.0
    for j, n in enumerate(expected.tolist()):
        group[j], held = n_groups, held + n
        if held >= ENOUGH:
            n_groups, held = n_groups + 1, 0.0
    group = np.minimum(group, max(n_groups - 1, 0))
    visits, expected = np.bincount(group, visits), np.bincount(group, expected)
    if expected.size == 1:
        return 1.0
    return float(scipy.stats.chi2.sf(((visits - expected) ** 2 / expected).sum(), expected.size - 1))


def assert_all_likely(p_values: dict[object, float]) -> None:
    """None of the p-values is as small as chance makes the least of so many once in 1 / FALSE_ALARM times."""
    limit = FALSE_ALARM / len(p_values)
    unlikely = {name: p for name, p in p_values.items() if not p > limit}
    assert not unlikely, f"{unlikely} of {len(p_values)} comparisons"
