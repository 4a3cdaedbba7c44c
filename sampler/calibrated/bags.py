"""Documents as bags of words: each distinct word once with its number, and the weights that are put on it."""

from typing import NamedTuple

import numpy as np

from sampler.corpus import Array, Corpus
from sampler.numerics.ragged import distinct_words, entries_of

SHORTEST = 0.02  # share of the labeled documents
TOO_SHORT = 0.5**0.5  # documents with less of the evidence of labeled ones are judged, but nothing is learned of them
WEIGHTINGS = 2  # of effective counts: flat, and by inverse document frequency


class Rows(NamedTuple):
    """Sparse rows, as compiled code takes them: a few columns each, with a number in each."""

    offsets: Array  # int64[D + 1], row d holds entries offsets[d] : offsets[d + 1]
    columns: Array  # int32[E]
    values: Array  # float32[E]
    n_columns: int


class WordBags(NamedTuple):
    """The distinct words of D documents, document after document, in the order of words; E entries in all."""

    offsets: Array  # int64[D + 1]
    words: Array  # int32[E]
    counts: Array  # int32[E], tokens
    n_words: int  # V
    weights: Array | None = (
        None  # float32[E], how much of each entry counts, see `sources`; all of it if there are none
    )

    @property
    def n_documents(self) -> int:
        """D."""
        return self.offsets.size - 1

    @property
    def document(self) -> Array:
        """int32[E], the document of each entry."""
        document: Array = np.repeat(np.arange(self.n_documents, dtype=np.int32), np.diff(self.offsets))
        return document

    @property
    def is_empty(self) -> Array:
        """bool[D]: documents without a word."""
        is_empty: Array = np.diff(self.offsets) == 0
        return is_empty

    def rows(self, values: Array) -> Rows:
        """The bags as rows with these values float32[E] of their entries."""
        return Rows(self.offsets, self.words, values, self.n_words)


def word_bags(corpus: Corpus) -> WordBags:
    """The corpus as bags; only documents whose words do not ascend yet are sorted."""
    return WordBags(*distinct_words(corpus), corpus.n_words)


def select(bags: WordBags, documents: Array) -> tuple[WordBags, Array]:
    """The bags of some documents, and the int64 index of each of their entries in all bags."""
    offsets, entries = entries_of(bags.offsets, documents)
    weights = None if bags.weights is None else bags.weights[entries]
    return WordBags(offsets, bags.words[entries], bags.counts[entries], bags.n_words, weights), entries


def squeeze(bags: WordBags) -> tuple[WordBags, Array]:
    """The same bags over those words alone that occur in them, renumbered in their order; and these words int64[...].

    Of bags without a word one word is left, so that no table is without a row.
    """
    is_used = np.bincount(bags.words, minlength=bags.n_words) > 0
    number, used = np.cumsum(is_used) - 1, np.flatnonzero(is_used)
    return bags._replace(words=number[bags.words].astype(np.int32), n_words=max(used.size, 1)), used


def weighted(bags: WordBags, values: Array) -> Array:
    """Values of the entries, as far as these count."""
    return values if bags.weights is None else values * bags.weights


def inverse_frequency(bags: WordBags) -> Array:
    """float64[V]: log of (1 + D) over (1 + documents that hold the word)."""
    holders = np.bincount(bags.words, minlength=bags.n_words)
    weight: Array = np.log((1.0 + bags.n_documents) / (1.0 + holders))
    return weight


def tf_idf(bags: WordBags, of_corpus: Array | None = None) -> Array:
    """float32[E]: (1 + log count) times (1 + inverse frequency), each document of Euclidean length 1.

    Some documents of a corpus, or parts of them, are given the inverse frequencies float64[V] `of_corpus`.
    """
    weight = inverse_frequency(bags) if of_corpus is None else of_corpus
    values = weighted(bags, (1.0 + np.log(bags.counts)) * (1.0 + weight)[bags.words])
    document = bags.document
    length = np.sqrt(np.bincount(document, values * values, minlength=bags.n_documents))
    return (values / length[document]).astype(np.float32)


def brevity(bags: WordBags, is_labeled: Array) -> Array:
    """float64[D]: how much of the evidence of the shortest labeled documents each document holds, 1 for longer ones.

    To a regression that learned from rows of length 1 with many words, such a row with one word says as much as all of
    these together. Multiplied by this factor its word says what it says in them: with n distinct words, where all but
    SHORTEST of the labeled documents have m or more, sqrt(n / m).
    """
    n_distinct = np.diff(bags.offsets)
    if bags.weights is not None:
        n_distinct = np.bincount(bags.document, bags.weights, minlength=bags.n_documents)
    of_labeled = n_distinct[is_labeled & (n_distinct > 0)]
    usual = max(float(np.quantile(of_labeled, SHORTEST)), 1.0) if of_labeled.size else 1.0
    factor: Array = np.sqrt(np.minimum(n_distinct / usual, 1.0))
    return factor


def word_totals(bags: WordBags, values: Array) -> Array:
    """float64[V]: the sum of each word's values float32[E]."""
    total: Array = np.bincount(bags.words, values, minlength=bags.n_words).astype(np.float64)
    return total


def word_prior(total: Array, beta: float, has_background: bool) -> Array:
    """float64[V]: beta_w of the Dirichlet over a category's words, beta on average.

    All words alike; or, with the background, in proportion to their totals float64[V] and half a count: a category need
    not learn again what all have in common.
    """
    if not has_background:
        return np.full(total.size, beta)
    background: Array = (total + 0.5) * (beta * total.size / (total.sum() + 0.5 * total.size))
    return background


def effective_counts(
    bags: WordBags, weighting: int, effective_length: float, of_corpus: Array | None = None
) -> Array:  # fmt: skip
    """float32[E]: counts scaled so that a document of n tokens holds c log(1 + n / c) of them.

    If a document drew its words from a distribution of its own, psi_d ~ DP(c, psi_k), its n tokens would hold about
    so many independent draws from psi_k: the expected number of tables. Weighting 1 gives rare words more of them, in
    proportion to their inverse frequency; weighting 0 treats all words alike. Some documents of a corpus are given the
    inverse frequencies float64[V] `of_corpus`, so that they have the counts that they have among all.
    """
    document = bags.document
    weight = np.ones(bags.words.size)
    if weighting:
        weight = (inverse_frequency(bags) if of_corpus is None else of_corpus)[bags.words]
    values = weighted(bags, bags.counts * weight)
    n_tokens = np.bincount(document, weighted(bags, bags.counts), minlength=bags.n_documents)
    total = np.bincount(document, values, minlength=bags.n_documents)
    length = effective_length * np.log1p(n_tokens / effective_length)
    scale = np.divide(length, total, out=np.zeros_like(length), where=total > 0)
    return (values * scale[document]).astype(np.float32)
