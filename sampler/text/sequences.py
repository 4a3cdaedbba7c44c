"""Sequences of adjacent words that count as words of their own."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sampler.corpus import Array
from sampler.text.tokens import Tokens, keep_words


class Sequences(NamedTuple):
    """Frequent sequences of words: their names, and where they occur."""

    names: list[str]  # joined by spaces
    documents: Array  # int64[M], of each occurrence
    numbers: Array  # int64[M], into `names`


def frequent_sequences(tokens: Tokens, is_dropped: Array, longest: int, least: int, greatest: int) -> Sequences:
    """Sequences of two words and more, adjacent once the dropped words are out, in so many documents.

    Only texts have them: a bag has no order. O(N log N) time, 8 bytes a token several times.
    """
    number_of_word = np.where(is_dropped, -1, np.arange(len(tokens.names)))
    words, offsets = keep_words(number_of_word, tokens.words.copy(), tokens.offsets)
    documents = np.repeat(np.arange(tokens.n_documents), np.diff(offsets))
    is_text = ~tokens.is_bag[documents]
    found = list(by_length(tokens, words[is_text].astype(np.int64), documents[is_text], longest, least))
    names: list[str] = []
    occurrences, numbers = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for some_names, frequency, some_documents, some_numbers in found:
        is_kept = frequency <= greatest
        new_number = np.where(is_kept, np.cumsum(is_kept) - 1 + len(names), -1)[some_numbers]
        occurrences.append(some_documents[new_number >= 0])
        numbers.append(new_number[new_number >= 0])
        names += [name for name, kept in zip(some_names, is_kept.tolist(), strict=True) if kept]
    return Sequences(names, np.concatenate(occurrences), np.concatenate(numbers))


def by_length(
    tokens: Tokens, words: Array, documents: Array, longest: int, least: int
) -> Iterator[tuple[list[str], Array, Array, Array]]:
    """For each length names, document frequencies, and documents and numbers of occurrences of frequent sequences.

    What is frequent is made of shorter sequences that are.
    """
    names = tokens.names
    numbers = np.where(tokens.document_frequency[words] >= least, words, -1)  # of the sequence that starts here
    for _ in range(1, longest):
        following = np.full(numbers.size, -1)
        following[:-1] = np.where(documents[1:] == documents[:-1], numbers[1:], -1)
        starts = np.flatnonzero((numbers >= 0) & (following >= 0))
        last = words[starts + (1 if names is tokens.names else 2)]
        codes, inverse = np.unique(numbers[starts] * len(tokens.names) + last, return_inverse=True)
        frequency = np.zeros(codes.size, np.int64)
        distinct = np.unique(documents[starts] * max(codes.size, 1) + inverse)
        np.add.at(frequency, distinct % max(codes.size, 1), 1)
        is_frequent = frequency >= least
        new_number = np.where(is_frequent, np.cumsum(is_frequent) - 1, -1)
        pairs = [divmod(int(code), len(tokens.names)) for code in codes[is_frequent]]
        names = [f"{names[first]} {tokens.names[word]}" for first, word in pairs]
        numbers = np.full(numbers.size, -1)
        numbers[starts] = new_number[inverse]
        there = np.flatnonzero(numbers >= 0)
        yield names, frequency[is_frequent], documents[there], numbers[there]
