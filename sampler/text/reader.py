"""Texts that come after a corpus was encoded, in the words of its vocabulary."""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sampler.corpus import Array
from sampler.text.encode import TextFacts
from sampler.text.options import TextOptions
from sampler.text.stemming import stemmer
from sampler.text.stop_words import is_greek, stop_list, unaccented
from sampler.text.tokens import Text, mark_of, tokenize


class Reading(NamedTuple):
    """A text in the words of a vocabulary."""

    words: Array  # int64[n], distinct, ascending
    counts: Array  # int64[n], how often each occurs
    n_unknown: int  # words that are neither in the vocabulary nor stop words, each as often as it occurs
    n_words: int  # these and the known ones; sequences of words do not count
    mark: int  # equal for texts with the same words in the same order, see `tokens.mark_of`


class Reader:
    """What reads texts as those of a corpus were read: the same text gives the same bag of words.

    O(V) time to make one, O(n) time to read a text of n characters.
    """

    def __init__(self, vocabulary: Sequence[str], options: TextOptions, facts: TextFacts) -> None:
        self.options = options
        self.stop_words: frozenset[str] = frozenset().union(*map(stop_list, facts.stop_words))
        self.number_of = {name: number for number, name in enumerate(vocabulary)}
        self.number_of_stem: dict[str, int] = {}
        self.stem: Callable[[str], str] | None = None
        if facts.stemming is not None or any(map(is_greek, vocabulary)):
            of_language = stemmer(facts.stemming) if facts.stemming else str
            self.stem = lambda word: unaccented(of_language(word))
            for name, number in self.number_of.items():
                if name not in self.stop_words:
                    self.number_of_stem.setdefault(self.stem(name), number)
        self.names = list(vocabulary)
        self.stems = threading.Lock()  # a stemmer is not for several threads at once

    def read(self, text: Text) -> Reading:
        """One text, or a ready bag of words, which are taken as they are."""
        [words] = tokenize([text], self.options)
        numbers = [self.number(word, isinstance(text, str)) for word in words]
        known = [number for number in numbers if number is not None]
        n_unknown = sum(
            number is None and word not in self.stop_words for word, number in zip(words, numbers, strict=True)
        )
        n_words = len(known) + n_unknown
        if isinstance(text, str) and self.options.word_ngrams > 1:
            known += self.sequences(words, numbers)
        distinct, counts = np.unique(np.array(known, np.int64), return_counts=True)
        return Reading(distinct, counts, n_unknown, n_words, mark_of(words))

    def number(self, word: str, is_form: bool) -> int | None:
        """The number of a word, or of the word that a form belongs to; None if the vocabulary has none."""
        number = self.number_of.get(word)
        if number is None and is_form and self.stem is not None and word not in self.stop_words:
            with self.stems:
                return self.number_of_stem.get(self.stem(word))
        return number

    def sequences(self, words: Sequence[str], numbers: Sequence[int | None]) -> Iterator[int]:
        """The sequences of the vocabulary that stand in a text, once its stop words are out."""
        shown = [
            word if number is None else self.names[number]
            for word, number in zip(words, numbers, strict=True)
            if number is not None or word not in self.stop_words
        ]
        for length in range(2, self.options.word_ngrams + 1):
            for start in range(len(shown) - length + 1):
                number = self.number_of.get(" ".join(shown[start : start + length]))
                if number is not None:
                    yield number
