"""Documents of several origins: how far a source uses words beyond what its documents are about.

Every export has words of its own: footers of mails, a forum's mark-up, a ticket system's phrases. To a model of words
they look like what tells categories apart. They differ from a category's words in one way: they are in a source's
documents whatever these are about. So the documents are grouped by the words that all sources use, no label is looked
at, and in each group as many documents of the source are held against others. If only a part f of the documents of the
source that hold a word would hold it in other sources, that word counts f there.

A factor is below 1 only as far as chance does not explain it, and the groups in which a word exceeds most are left out:
what is found in few groups is a topic. A source whose documents are about other things than all others, so that hardly
any group has both, says nothing, and its words count whole.
"""

import hashlib
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sampler.calibrated.atoms import seed_atoms
from sampler.calibrated.bags import WordBags, select, tf_idf
from sampler.corpus import Array
from sampler.numerics import streams
from sampler.numerics.streams import Step
from sampler.numerics.threads import Threads

NO_SOURCE = -1
LEAST_FACTOR = 0.02
ERRORS = 2.0  # standard errors by which counts may differ by chance
UNEVEN = 3.0  # times as many documents of one source as of others: such words do not group
PER_GROUP = 25  # documents of a source, on average
FEWEST_GROUPS, MOST_GROUPS = 4, 64
LEFT_OUT = 0.25  # part of the documents that are compared, in the groups in which a word exceeds most
LEAST_OVERLAP = 0.4  # of the shares that groups have of a source and of the others
WORDS_AT_ONCE = 4_096


class Sources(NamedTuple):
    """Where the texts of a corpus come from."""

    of_text: Array  # int16[T], NO_SOURCE where it is not known
    n_sources: int  # S


class Uses(NamedTuple):
    """How many documents hold each word: of a source, and of as many others."""

    own: Array  # float64[V]
    others: Array  # float64[V]


def with_sources(
    bags: WordBags, sources: Sources | None, sample_size: int, seed: int, threads: Threads | None = None
) -> WordBags:
    """The bags with the weights that sources give their entries; the same bags if there are not two sources.

    What sources are like is learned from a sample of the documents. Without threads nothing interrupts it.
    """
    if sources is None or np.unique(sources.of_text[~bags.is_empty]).size < 2:
        return bags
    chosen = streams.chosen(np.flatnonzero(~bags.is_empty), sample_size, seed, Step.SAMPLE)
    some = select(bags, chosen)[0]
    factors = source_factors(some, sources._replace(of_text=sources.of_text[chosen]), seed, threads or Threads())
    return bags._replace(weights=entry_weights(bags, sources, factors))


def entry_weights(bags: WordBags, sources: Sources, factors: Array) -> Array:
    """float32[E]: how much each entry counts by the factors float32[S, V]; all of it where the source is not known."""
    source = sources.of_text[bags.document]
    weights: Array = np.where(source == NO_SOURCE, np.float32(1.0), factors[source, bags.words])
    return weights


def source_factors(bags: WordBags, sources: Sources, seed: int, threads: Threads) -> Array:
    """float32[S, V]: how much each word counts in each source, of documents that have words."""
    factors = np.ones((sources.n_sources, bags.n_words), np.float32)
    even = bags._replace(weights=np.where(uneven(bags, sources)[bags.words], np.float32(LEAST_FACTOR), np.float32(1.0)))
    rows, made, key = even.rows(tf_idf(even)), dict[int, Array](), streams.stream(seed, 0, 0, Step.SOURCES)
    for source in range(sources.n_sources):
        is_own = sources.of_text == source
        n_groups = number_of_groups(min(int(is_own.sum()), int((~is_own).sum())))
        if n_groups not in made and n_groups <= bags.n_documents:
            made[n_groups] = seed_atoms(rows, n_groups, key, threads)
        if n_groups in made:
            factors[source] = most_by_chance(uses_by_group(bags, made[n_groups], is_own))
    return factors


def number_of_groups(n_documents: int) -> int:
    """A power of two, so that sources of about the same size share their groups."""
    return 1 << round(float(np.log2(np.clip(n_documents / PER_GROUP, FEWEST_GROUPS, MOST_GROUPS))))


def uneven(bags: WordBags, sources: Sources) -> Array:
    """bool[V]: words that some source uses UNEVEN times as often as the others, or as seldom, and not by chance."""
    found = np.zeros(bags.n_words, bool)
    for source in range(sources.n_sources):
        used = uses_by_group(bags, np.zeros(bags.n_documents, np.int32), sources.of_text == source)
        for one, other in (used, used[::-1]):
            found |= most_by_chance(Uses(one, other)) < 1.0 / UNEVEN
    return found


def uses_by_group(bags: WordBags, group: Array, is_own: Array) -> Uses:
    """Uses of words in a source, bool[D], and in as many other documents of the same groups int[D].

    Of each word the groups in which it exceeds most are left out. All is zero if the source hardly shares a group.
    """
    sizes = [np.bincount(group[side], minlength=int(group.max()) + 1) for side in (is_own, ~is_own)]
    used = Uses(np.zeros(bags.n_words), np.zeros(bags.n_words))
    if np.minimum(*(size / max(size.sum(), 1) for size in sizes)).sum() < LEAST_OVERLAP:
        return used
    n_compared = np.minimum(*sizes)
    n_groups, shape = n_compared.size, (bags.n_documents, bags.n_words)
    words = csr_array((np.ones(bags.words.size, np.float32), bags.words, bags.offsets), shape=shape)
    holders = []
    for size, side in zip(sizes, (is_own, ~is_own), strict=True):
        documents = np.flatnonzero(side)
        share = (n_compared / np.maximum(size, 1))[group[documents]].astype(np.float32)
        holders.append(
            (csr_array((share, (group[documents], documents)), shape=(n_groups, bags.n_documents)) @ words).tocsc()
        )
    for first in range(0, bags.n_words, WORDS_AT_ONCE):
        some = slice(first, first + WORDS_AT_ONCE)
        own, others = (of_side[:, some].toarray().astype(np.float64) for of_side in holders)
        stays = in_most_groups(own - others, n_compared)
        used.own[some], used.others[some] = (own * stays).sum(axis=0), (others * stays).sum(axis=0)
    return used


def in_most_groups(excess: Array, n_compared: Array) -> Array:
    """bool[G, W]: all groups but those in which each word exceeds most, with LEFT_OUT of the documents at most."""
    rate = excess / np.maximum(n_compared, 1)[:, None]
    order = np.argsort(-rate, axis=0, kind="stable")
    stays = np.empty(excess.shape, bool)
    np.put_along_axis(stays, order, np.cumsum(n_compared[order], axis=0) > LEFT_OUT * n_compared.sum(), axis=0)
    return stays


def most_by_chance(used: Uses) -> Array:
    """float64[V]: the largest part of a source's uses that those of others explain, if both differ by ERRORS."""
    most = used.others + ERRORS * np.sqrt(used.others) + ERRORS**2 / 2.0
    least = used.own - ERRORS * np.sqrt(used.own)
    part = np.divide(most, least, out=np.ones_like(most), where=least > 0)
    factor: Array = np.clip(part, LEAST_FACTOR, 1.0)
    return factor


def mark_of(sources: Sources | None) -> str:
    """SHA-256 in hex of the sources, for what follows from them; nothing if there are none."""
    if sources is None:
        return ""
    given = np.ascontiguousarray(sources.of_text, "<i2").tobytes()
    return hashlib.sha256(f"{sources.n_sources} ".encode() + given).hexdigest()
