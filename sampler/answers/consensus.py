"""From kept draws to answers: the category of each document, and what each category is about."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sampler.answers.others import MATTERS, N_OTHERS, no_others
from sampler.answers.tally import Tally
from sampler.answers.words import group_words, relevant_words, word_counts
from sampler.copies import Texts
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.numerics.threads import Threads


class Consensus(NamedTuple):
    """The answer for each document; labeled documents have their label, with probability 1.

    Known categories keep their index, new ones follow by falling number of documents. A new category
    exists only if it is the answer for a document.
    """

    n_categories: int
    category: Array  # int32[D], or NO_CATEGORY for a document without a word
    probability: Array  # float64[D], share of the kept draws; NaN without a category
    runner_up: Array  # int32[D], the next category that exists, or NO_CATEGORY
    runner_up_probability: Array  # float64[D], NaN without a runner-up
    known: Array  # float64[D], probability of being of a known category, whichever; NaN without a category
    others: Array  # int32[D, N_OTHERS], the likeliest ones after the runner-up, NO_CATEGORY where none matters
    other_probability: Array  # float64[D, N_OTHERS], falling; NaN where there is none


def consensus_of(corpus: Corpus, tally: Tally) -> Consensus:
    """The answers of one chain's kept draws. Ties go to the category that is older, known ones first."""
    best, best_count = most_frequent_answers(corpus.n_documents, tally.document, tally.identity, tally.hits)
    index = index_categories(corpus.n_known, best[best != NO_CATEGORY], tally.identity)
    rest = (best[tally.document] != tally.identity) & (index[tally.identity] != NO_CATEGORY)
    second, second_count = most_frequent_answers(
        corpus.n_documents, tally.document[rest], tally.identity[rest], tally.hits[rest]
    )
    n_draws = max(tally.n_draws, 1)
    others, other_probability = other_answers(corpus.n_documents, tally, index, (best, second))
    in_known = np.bincount(tally.document, tally.hits * (tally.identity < corpus.n_known), corpus.n_documents)
    is_labeled = corpus.labels != UNLABELED
    category = np.where(is_labeled, corpus.labels, np.where(best == NO_CATEGORY, NO_CATEGORY, index[best]))
    return Consensus(
        n_categories=int(max(index.max(initial=NO_CATEGORY) + 1, corpus.n_known)),
        category=category.astype(np.int32),
        probability=np.where(is_labeled, 1.0, np.where(best == NO_CATEGORY, np.nan, best_count / n_draws)),
        runner_up=np.where(second == NO_CATEGORY, NO_CATEGORY, index[second]).astype(np.int32),
        runner_up_probability=np.where(second == NO_CATEGORY, np.nan, second_count / n_draws),
        known=np.where(is_labeled, 1.0, np.where(best == NO_CATEGORY, np.nan, in_known / n_draws)),
        others=np.where(is_labeled[:, None], NO_CATEGORY, others),
        other_probability=np.where(is_labeled[:, None], np.nan, other_probability),
    )


def other_answers(n_documents: int, tally: Tally, index: Array, told: Sequence[Array]) -> tuple[Array, Array]:
    """The categories int32[D, N_OTHERS] that each document was in most often after those it is `told`; their shares.

    `told` are identities int64[D]; `index` is the category of each, NO_CATEGORY for those that do not exist.
    """
    others, shares = no_others(n_documents)
    category, share = index[tally.identity], tally.hits / max(tally.n_draws, 1)
    is_other = (category != NO_CATEGORY) & (share >= MATTERS)
    for identity in told:
        is_other &= identity[tally.document] != tally.identity
    entries = np.flatnonzero(is_other)
    entries = entries[np.lexsort((category[entries], -share[entries], tally.document[entries]))]
    document = tally.document[entries]
    place = np.arange(entries.size) - np.searchsorted(document, document)
    fits = place < N_OTHERS
    others[document[fits], place[fits]] = category[entries[fits]]
    shares[document[fits], place[fits]] = share[entries[fits]]
    return others, shares


def consensus_of_documents(consensus: Consensus, texts: Texts) -> Consensus:
    """The answers for D documents, each that of its text; labeled ones have their own label.

    A document without a label whose text has one is as sure of it as its labeled copies agree.
    """
    is_labeled = texts.labels != UNLABELED
    probability = (consensus.probability * texts.label_share)[texts.text_of]
    return Consensus(
        n_categories=consensus.n_categories,
        category=np.where(is_labeled, texts.labels, consensus.category[texts.text_of]).astype(np.int32),
        probability=np.where(is_labeled, 1.0, probability),
        runner_up=np.where(is_labeled, NO_CATEGORY, consensus.runner_up[texts.text_of]).astype(np.int32),
        runner_up_probability=np.where(is_labeled, np.nan, consensus.runner_up_probability[texts.text_of]),
        known=np.where(is_labeled, 1.0, consensus.known[texts.text_of]),
        others=np.where(is_labeled[:, None], NO_CATEGORY, consensus.others[texts.text_of]),
        other_probability=np.where(is_labeled[:, None], np.nan, consensus.other_probability[texts.text_of]),
    )


def most_frequent_answers(n_documents: int, document: Array, identity: Array, count: Array) -> tuple[Array, Array]:
    """For each document the identity with the highest count (the smallest of several) and that count.

    Both are int64[D]; NO_CATEGORY and 0 for a document that is not mentioned.
    """
    best, best_count = np.full(n_documents, NO_CATEGORY, np.int64), np.zeros(n_documents, np.int64)
    order = np.lexsort((-identity, count, document))  # the last entry of a document is its best one
    best[document[order]] = identity[order]
    best_count[document[order]] = count[order]
    return best, best_count


def index_categories(n_known: int, answers: Array, identities: Array) -> Array:
    """int64: the index of each identity as Consensus has it; NO_CATEGORY for new ones that answer for no document.

    The last entry is NO_CATEGORY as well, so that an identity of NO_CATEGORY maps to it.
    """
    size = max(n_known, int(identities.max(initial=NO_CATEGORY)) + 1) + 1
    n_documents = np.bincount(answers, minlength=size)
    index = np.full(size, NO_CATEGORY, np.int64)
    index[:n_known] = np.arange(n_known)
    new = n_known + np.flatnonzero(n_documents[n_known:])
    by_size = new[np.argsort(-n_documents[new], kind="stable")]
    index[by_size] = n_known + np.arange(by_size.size)
    return index


def identities_of(corpus: Corpus, tally: Tally) -> Array:
    """int64[K]: the identity that each category of `consensus_of` has in its chain."""
    best, _ = most_frequent_answers(corpus.n_documents, tally.document, tally.identity, tally.hits)
    index = index_categories(corpus.n_known, best[best != NO_CATEGORY], tally.identity)
    exists = np.flatnonzero(index != NO_CATEGORY)
    return exists[np.argsort(index[exists], kind="stable")]


def category_words(
    corpus: Corpus, consensus: Consensus, n: int, threads: Threads | None = None
) -> list[list[tuple[int, int]]]:
    """For each category up to `n` words with the number of its documents that hold them, best first.

    They are those of the documents that the category answers for, labeled ones too, see `relevant_words`. Without
    threads nothing interrupts it.
    """
    counts = group_words(word_counts(corpus), consensus.category, consensus.n_categories, threads)
    return list(relevant_words(counts, n, threads))
