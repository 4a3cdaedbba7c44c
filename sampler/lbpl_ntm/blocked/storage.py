"""What of the blocked sampler's state is stored, and how it is checked when it comes back.

Counts that follow from the rest are made again. What is stored of documents is their category, and of mixed ones the
categories of their tokens; of words the topics that they have.
"""

import numpy as np
from numba import njit

from sampler.archive import smallest
from sampler.corpus import Array, Corpus
from sampler.lbpl_ntm.blocked.arrays import (
    MIXED,
    Bags,
    BlockedCounts,
    Placements,
    WordTopics,
    count_topics,
    count_words,
)


def arrays_of(bags: Bags, placements: Placements, counts: BlockedCounts) -> dict[str, Array]:
    """All that cannot be made again, in the smallest types."""
    rows = counts.word_topics
    return {
        "whole": smallest(placements.whole),
        "token": smallest(mixed_tokens(bags, placements)),
        "category_tables": smallest(counts.category_tables),
        "log_seats": counts.log_seats,
        "category_topic": smallest(counts.category_topic),
        "word_topic": smallest(held(rows, rows.topic)),
        "word_topic_tokens": smallest(held(rows, rows.tokens)),
        "word_topics": smallest(rows.size),
    }


def restored_documents(
    corpus: Corpus, bags: Bags, n_topics: int, labeled: Array, arrays: dict[str, Array]
) -> tuple[Placements, BlockedCounts]:
    """What these are the arrays of. `labeled` int64[S] are the labeled documents with a word of each slot.

    Raises ValueError if it could not be of this corpus.
    """
    placements = restored_placements(bags, labeled.size, arrays)
    word_topics = restored_topics(corpus.n_words, n_topics, arrays)
    for name, shape in {"category_topic": (labeled.size, n_topics), "log_seats": labeled.shape}.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has the shape {arrays[name].shape}, not {shape}")
    category_topic = arrays["category_topic"].astype(np.int64)
    counts = BlockedCounts(
        category_word=count_words(corpus, bags, placements, labeled.size),
        category_tables=arrays["category_tables"].astype(np.int64),
        log_seats=arrays["log_seats"].astype(np.int64),
        category_topic=category_topic,
        word_topics=word_topics,
        topic_tokens=category_topic.sum(axis=0),
    )
    check_counts(counts, labeled)
    return placements, counts


def restored_placements(bags: Bags, n_slots: int, arrays: dict[str, Array]) -> Placements:
    """The placements. Raises ValueError if they could not be of these documents."""
    whole, token = arrays["whole"].astype(np.uint16), arrays["token"].astype(np.uint16)
    if whole.shape != bags.document.shape:
        raise ValueError(f"{whole.size} documents are placed, not {bags.document.size}")
    if token.size != np.diff(bags.first_token)[whole == MIXED].sum():
        raise ValueError("the mixed documents have another number of tokens")
    if max(whole[whole != MIXED].max(initial=0), token.max(initial=0)) >= n_slots:
        raise ValueError(f"a token is in none of the {n_slots} slots")
    return Placements(whole, place_tokens(bags, whole, token))


def restored_topics(n_words: int, n_topics: int, arrays: dict[str, Array]) -> WordTopics:
    """The topics of words. Raises ValueError if they could not be of as many words and topics."""
    size, topic, tokens = (arrays[name] for name in ("word_topics", "word_topic", "word_topic_tokens"))
    if size.shape != (n_words,) or size.max(initial=0) > n_topics or topic.max(initial=0) >= n_topics:
        raise ValueError(f"the topics are not those of {n_words} words and {n_topics} topics")
    if not topic.shape == tokens.shape == (int(size.sum()),):
        raise ValueError(f"there are {topic.size} topics and {tokens.size} counts of words, not {size.sum()}")
    shape = (n_words, n_topics)
    rows = WordTopics(np.zeros(shape, np.uint16), np.zeros(shape, np.int32), np.zeros(n_words, np.int32))
    hold(rows, size.astype(np.int32), topic, tokens)
    return rows


def check_counts(counts: BlockedCounts, labeled: Array) -> None:
    """Raise ValueError unless topics and tables could be those of the tokens that were placed."""
    category_word, tables = counts.category_word, counts.category_tables
    if (category_word.sum(axis=1) != counts.word_topics.tokens.sum(axis=1)).any():
        raise ValueError("the topics' tokens are not those of the words")
    if (category_word.sum(axis=0) != counts.category_topic.sum(axis=1)).any():
        raise ValueError("the topics' tokens are not those of the categories")
    if (count_topics(counts.word_topics).sum(axis=0) != counts.topic_tokens).any():
        raise ValueError("the topics of the words are not those of the categories")
    tokens = category_word.sum(axis=0)
    if tables.shape != labeled.shape or ((tables < np.maximum(labeled, tokens > 0)) | (tables > tokens)).any():
        raise ValueError("the tables are not those of the categories")


@njit(cache=True, nogil=True)
def mixed_tokens(bags, placements):
    """uint16: the categories of the tokens of mixed documents, one document after another: all that `token` tells."""
    size = 0
    for u in range(bags.document.size):
        if placements.whole[u] == MIXED:
            size += bags.first_token[u + 1] - bags.first_token[u]
    tokens, j = np.empty(size, np.uint16), 0
    for u in range(bags.document.size):
        if placements.whole[u] == MIXED:
            for i in range(bags.first_token[u], bags.first_token[u + 1]):
                tokens[j] = placements.token[i]
                j += 1
    return tokens


@njit(cache=True, nogil=True)
def place_tokens(bags, whole, tokens):
    """uint16[N_u]: the categories of tokens of which `mixed_tokens` tells where documents have no category `whole`."""
    placed, j = np.zeros(bags.first_token[-1], np.uint16), 0
    for u in range(bags.document.size):
        if whole[u] == MIXED:
            for i in range(bags.first_token[u], bags.first_token[u + 1]):
                placed[i] = tokens[j]
                j += 1
    return placed


@njit(cache=True, nogil=True)
def held(rows, values):
    """The entries of a word's row that hold, one word after another, int64: of `rows.topic` or `rows.tokens`."""
    entries, j = np.empty(rows.size.sum(), np.int64), 0
    for w in range(rows.size.size):
        for i in range(rows.size[w]):
            entries[j] = values[w, i]
            j += 1
    return entries


@njit(cache=True, nogil=True)
def hold(rows, size, topic, count):
    """Write rows from their entries that hold, one word after another."""
    i = 0
    for w in range(size.size):
        rows.size[w] = size[w]
        for j in range(size[w]):
            rows.topic[w, j], rows.tokens[w, j] = topic[i], count[i]
            i += 1
