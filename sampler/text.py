"""Strings to token arrays: the only file of the sampler that knows text."""

import unicodedata
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import regex
import stopwordsiso

from sampler.corpus import UNLABELED, Array, Corpus, validate

NO_STOP_WORDS = "none"
AUTO = "auto"
AUTO_LANGUAGE = "en"
SHORT = 10  # words that a document keeps on average: shorter texts live by their stop words
STOP_WORD_LANGUAGES = tuple(sorted(stopwordsiso.langs()))

# A letter, then letters, combining marks, joiners and digits; an apostrophe holds parts of one word together.
WORD_PATTERN = regex.compile(r"\p{L}[\p{L}\p{M}\p{Nd}\u200c\u200d]*(?:'\p{L}[\p{L}\p{M}\p{Nd}]*)*")
FOLDED = str.maketrans({"\u2019": "'", "\u00ad": None})  # typographic apostrophe; soft hyphen

TOKENS_AT_ONCE = 2**20  # while words are renumbered


@dataclass(frozen=True)
class TextOptions:
    """How texts become words. Raises ValueError for a value outside its limits."""

    stop_words: str = AUTO  # language of a stopwords-iso list, "none", or "auto": English if texts are not SHORT by it
    extra_stop_words: tuple[str, ...] = ()
    min_word_length: int = 2  # characters
    min_document_frequency: int = 5  # documents that a word must occur in (the paper: 16)
    join_copies: bool = True  # whether documents with the same words, or nearly, are one text; see `sampler.copies`

    def __post_init__(self) -> None:
        if self.stop_words not in (AUTO, NO_STOP_WORDS, *STOP_WORD_LANGUAGES):
            names = ", ".join(STOP_WORD_LANGUAGES)
            raise ValueError(
                f"stop_words = {self.stop_words!r} is neither {AUTO!r}, {NO_STOP_WORDS!r} nor one of {names}"
            )
        if self.min_word_length < 1:
            raise ValueError(f"min_word_length = {self.min_word_length} is below 1")
        if self.min_document_frequency < 1:
            raise ValueError(f"min_document_frequency = {self.min_document_frequency} is below 1")


class Encoded(NamedTuple):
    """A corpus with the strings that its indices stand for."""

    corpus: Corpus
    vocabulary: list[str]  # V words in code point order
    categories: list[str]  # known categories in code point order
    copy_of: Array  # int32[D], the document that each is a copy of, or itself


def words_of(text: str) -> list[str]:
    """The words of a text in order, in NFKC and case-folded."""
    folded = unicodedata.normalize("NFKC", text).casefold().translate(FOLDED)
    return [word.removesuffix("'s") for word in WORD_PATTERN.findall(folded)]


def tokenize(texts: Iterable[str], options: TextOptions) -> Iterator[list[str]]:
    """The words of each text that the options leave, in order."""
    stop_words = stop_word_set(options)
    for text in texts:
        yield [word for word in words_of(text) if len(word) >= options.min_word_length and word not in stop_words]


def stop_word_set(options: TextOptions) -> frozenset[str]:
    """All words that the options drop whatever the texts are, folded as texts are."""
    is_settled = options.stop_words not in (AUTO, NO_STOP_WORDS)
    return folded({*options.extra_stop_words, *(stopwordsiso.stopwords(options.stop_words) if is_settled else ())})


def folded(listed: Iterable[str]) -> frozenset[str]:
    """The words of a list of stop words, folded as texts are."""
    return frozenset(word for phrase in listed for word in words_of(phrase) or [phrase])


def encode(
    texts: Iterable[str], labels: list[str | None], options: TextOptions,
    find_copies: Callable[[Corpus], Array] | None = None,
) -> Encoded:  # fmt: skip
    """Token arrays, vocabulary and known categories of D documents; texts are read once, in order.

    The indices of words and categories follow from the strings alone, whatever the order of the documents. A document
    may be left without a token. Copies are looked for, if at all, before rare words are left out, see
    `sampler.copies.find_copies`. O(N) time, 4 bytes a token while reading, stop words included if it is to be seen
    whether they go.
    """
    first_seen: dict[str, int] = {}
    document_frequency = array("l")
    tokens = array("i")
    lengths = array("l")
    for words in tokenize(texts, options):
        indices = [first_seen.setdefault(word, len(first_seen)) for word in words]
        document_frequency.extend([0] * (len(first_seen) - len(document_frequency)))
        for index in set(indices):
            document_frequency[index] += 1
        tokens.extend(indices)
        lengths.append(len(indices))
    if len(lengths) != len(labels):
        raise ValueError(f"{len(labels)} labels do not match {len(lengths)} texts")

    copy_of = np.arange(len(lengths), dtype=np.int32)
    if find_copies is not None:
        offsets = np.concatenate([[0], np.cumsum(np.array(lengths, np.int64))]).astype(np.int64)
        nobody = np.full(len(lengths), UNLABELED, np.int32)
        copy_of = find_copies(Corpus(numbers(tokens), offsets, nobody, len(first_seen), 0))

    kept = {w: i for w, i in first_seen.items() if document_frequency[i] >= options.min_document_frequency}
    if options.stop_words == AUTO:
        kept = without_stop_words(kept, len(first_seen), tokens, n_least=SHORT * len(lengths))
    vocabulary = sorted(kept)
    word_of_index = np.full(len(first_seen), -1, np.int32)
    word_of_index[[kept[word] for word in vocabulary]] = np.arange(len(vocabulary))
    kept_tokens, offsets = keep_known_words(word_of_index, tokens, lengths)

    categories = sorted({label for label in labels if label is not None})
    category_of = {name: k for k, name in enumerate(categories)}
    known = [UNLABELED if label is None else category_of[label] for label in labels]
    corpus = Corpus(kept_tokens, offsets, np.array(known, np.int32), len(vocabulary), len(categories))
    validate(corpus)
    return Encoded(corpus, vocabulary, categories, copy_of)


def without_stop_words(kept: dict[str, int], n_seen: int, tokens: "array[int]", n_least: int) -> dict[str, int]:
    """The words that are none of AUTO_LANGUAGE's stop words, if they make at least so many tokens; else all.

    Tokens are numbers below `n_seen`, those of `kept` and of other words.
    """
    stop_words = folded(stopwordsiso.stopwords(AUTO_LANGUAGE))
    rest = {word: index for word, index in kept.items() if word not in stop_words}
    is_rest = np.zeros(n_seen, bool)
    is_rest[list(rest.values())] = True
    words = numbers(tokens)
    blocks = (words[start : start + TOKENS_AT_ONCE] for start in range(0, words.size, TOKENS_AT_ONCE))
    n_left = sum(int(is_rest[block].sum()) for block in blocks)
    return rest if n_left >= n_least else kept


def numbers(tokens: "array[int]") -> Array:
    """int32[N]: the tokens themselves, not a copy."""
    return np.frombuffer(tokens, np.int32) if tokens else np.empty(0, np.int32)


def keep_known_words(word_of_index: Array, tokens: "array[int]", lengths: "array[int]") -> tuple[Array, Array]:
    """Words int32[N] and offsets int64[D + 1] of the tokens whose word is in the vocabulary.

    The words take the place of the tokens, a block at a time: of hundreds of millions there is room for one copy.
    """
    words = numbers(tokens)
    ends = np.cumsum(np.frombuffer(lengths, np.int64)) if lengths else np.empty(0, np.int64)
    offsets = np.zeros(ends.size + 1, np.int64)
    n_kept = 0
    for start in range(0, words.size, TOKENS_AT_ONCE):
        block = word_of_index[words[start : start + TOKENS_AT_ONCE]]
        is_kept = block >= 0
        kept_before = np.concatenate([[n_kept], n_kept + np.cumsum(is_kept)])
        ending = slice(*np.searchsorted(ends, [start, start + block.size], side="right"))
        offsets[1:][ending] = kept_before[ends[ending] - start]
        words[n_kept : kept_before[-1]] = block[is_kept]
        n_kept = int(kept_before[-1])
    return words[:n_kept], offsets


def has_usable_word(documents: Iterable[tuple[str, bool]], options: TextOptions) -> bool:
    """Whether an unlabeled document keeps a word of the vocabulary; stops reading as soon as one does.

    `documents` are pairs of a text and whether it is unlabeled. With "auto" a stop word is such a word: it is kept
    where hardly another is left.
    """
    document_frequency: dict[str, int] = {}
    unlabeled_words: set[str] = set()
    stop_words = stop_word_set(options)
    for text, is_unlabeled in documents:
        for word in set(words_of(text)) - stop_words:
            if len(word) < options.min_word_length:
                continue
            document_frequency[word] = document_frequency.get(word, 0) + 1
            if is_unlabeled:
                unlabeled_words.add(word)
            if document_frequency[word] >= options.min_document_frequency and word in unlabeled_words:
                return True
    return False
