"""What a text, or a ready bag of words, gives before a vocabulary is chosen: the words that the options leave."""

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from sampler.corpus import Array
from sampler.text.markup import stripped
from sampler.text.options import TextOptions
from sampler.text.scripts import WITHOUT_LEAST_LENGTH
from sampler.text.stop_words import TURKIC, folded, stop_list
from sampler.text.words import words_of

Text = str | Mapping[str, int]  # a mapping is a ready bag: its words are taken as they are, each so many times

TOKENS_AT_ONCE = 2**20  # while words are renumbered


def tokenize(texts: Iterable[Text], options: TextOptions) -> Iterator[list[str]]:
    """The words of each text that the options leave, in order; those of a bag in the order of code points."""
    words_of_text, is_left = word_reader(options), word_filter(options)
    for text in texts:
        if isinstance(text, str):
            yield is_left(words_of_text(text))
        else:
            yield [word for word in sorted(text) for _ in range(text[word])]


def word_reader(options: TextOptions) -> Callable[[str], list[str]]:
    """What gives the words of a text."""
    language = options.known_language
    read = partial(
        words_of,
        turkish=None if language is None else language in TURKIC,
        ngram_length=options.ngram_length,
        urls=options.urls,
        numbers=options.numbers,
    )
    return (lambda text: read(stripped(text, options.markup))) if options.markup else read


def word_filter(options: TextOptions) -> Callable[[list[str]], list[str]]:
    """What leaves out words that are too short, too long, or stop words whatever the texts are."""
    stop_words = stop_word_set(options)
    least, greatest = options.min_word_length, options.max_word_length

    def left(words: list[str]) -> list[str]:
        return [
            word
            for word in words
            if (least <= len(word) <= greatest or (len(word) < least and has_no_least_length(word)))
            and word not in stop_words
        ]

    return left


def has_no_least_length(word: str) -> bool:
    """Whether a character of the word's script says as much as several letters."""
    return not word.isascii() and WITHOUT_LEAST_LENGTH.match(word) is not None


def stop_word_set(options: TextOptions) -> frozenset[str]:
    """All words that the options drop whatever the texts are, folded as texts are, by either rule for I."""
    extra = folded(options.extra_stop_words) | folded(options.extra_stop_words, turkish=True)
    return extra.union(*map(stop_list, options.stop_languages))


class Tokens(NamedTuple):
    """Words of D documents as numbers."""

    names: list[str]  # the word of each number
    words: Array  # int32[N]
    offsets: Array  # int64[D + 1]
    document_frequency: Array  # int64[V]
    ready: frozenset[str]  # words of bags, to be taken as they are
    is_bag: Array  # bool[D]
    marks: Array  # uint64[D], see `mark_of`

    @property
    def n_documents(self) -> int:
        """D."""
        return int(self.offsets.size) - 1


def read(texts: Iterable[Text], options: TextOptions) -> Tokens:
    """The words of texts, numbered as they come; texts are read once, in order. O(N) time, 4 bytes a token."""
    first_seen: dict[str, int] = {}
    document_frequency, tokens, lengths, marks = array("l"), array("i"), array("l"), array("Q")
    ready: set[str] = set()
    is_bag = bytearray()

    def noted(texts: Iterable[Text]) -> Iterator[Text]:
        for text in texts:
            is_bag.append(not isinstance(text, str))
            if not isinstance(text, str):
                ready.update(text)
            yield text

    for words in tokenize(noted(texts), options):
        indices = [first_seen.setdefault(word, len(first_seen)) for word in words]
        document_frequency.extend([0] * (len(first_seen) - len(document_frequency)))
        for index in set(indices):
            document_frequency[index] += 1
        tokens.extend(indices)
        lengths.append(len(indices))
        marks.append(mark_of(words))
    offsets = np.concatenate([[0], np.cumsum(np.array(lengths, np.int64))]).astype(np.int64)
    return Tokens(
        list(first_seen),
        np.frombuffer(tokens, np.int32) if tokens else np.empty(0, np.int32),  # the tokens themselves, not a copy
        offsets,
        np.array(document_frequency, np.int64),
        frozenset(ready),
        np.array(is_bag, bool),
        np.array(marks, np.uint64),
    )


def mark_of(words: Sequence[str]) -> int:
    """64 bits by which a text is known again: the same words in the same order have the same."""
    # A word may hold a lone surrogate, which is no UTF-8.
    told = "\n".join(words).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(told, digest_size=8).digest(), "little")


def blocks(words: Array) -> Iterator[Array]:
    """The words in pieces, so that what is computed of them takes little room."""
    for start in range(0, words.size, TOKENS_AT_ONCE):
        yield words[start : start + TOKENS_AT_ONCE]


def count_words(words: Array, n_words: int) -> Array:
    """int64[V]: how often each word occurs."""
    counts = np.zeros(n_words, np.int64)
    for block in blocks(words):
        counts += np.bincount(block, minlength=n_words) if n_words < block.size else sparse_counts(block, n_words)
    return counts


def sparse_counts(block: Array, n_words: int) -> Array:
    """The same, of few words among many."""
    counts = np.zeros(n_words, np.int64)
    np.add.at(counts, block, 1)
    return counts


def count_documents(words: Array, offsets: Array, n_words: int) -> Array:
    """int64[V]: in how many documents each word occurs."""
    counts = np.zeros(n_words, np.int64)
    first = 0
    while first < offsets.size - 1:
        start = offsets[first]
        end = max(int(np.searchsorted(offsets, start + TOKENS_AT_ONCE, side="right")) - 1, first + 1)
        documents = np.repeat(np.arange(end - first), np.diff(offsets[first : end + 1]))
        distinct = np.unique(documents * n_words + words[start : offsets[end]])
        np.add.at(counts, distinct % n_words, 1)
        first = end
    return counts


def keep_words(number_of_word: Array, words: Array, offsets: Array) -> tuple[Array, Array]:
    """Words int32[N] and offsets int64[D + 1] of the tokens whose word has a new number, not -1.

    The new numbers take the place of the old ones, a block at a time: of hundreds of millions there is room for one
    copy.
    """
    ends = offsets[1:]
    kept_offsets = np.zeros(offsets.size, np.int64)
    n_kept = 0
    for start in range(0, words.size, TOKENS_AT_ONCE):
        block = number_of_word[words[start : start + TOKENS_AT_ONCE]]
        is_kept = block >= 0
        kept_before = np.concatenate([[n_kept], n_kept + np.cumsum(is_kept)])
        ending = slice(*np.searchsorted(ends, [start, start + block.size], side="right"))
        kept_offsets[1:][ending] = kept_before[ends[ending] - start]
        words[n_kept : kept_before[-1]] = block[is_kept]
        n_kept = int(kept_before[-1])
    return words[:n_kept], kept_offsets
