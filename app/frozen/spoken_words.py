"""The words of a document by the category that each of them speaks for, and where they stand in its text."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from app.frozen.documents import read_text
from app.frozen.models import Categorizer
from app.frozen.word_spans import Span, spans_of
from sampler.corpus import Array
from sampler.frozen.answering import DIGITS, tf_idf

MAX_WORDS, MAX_SPANS = 300, 2_000


class SpokenWord(NamedTuple):
    """A word of a document, and for which of the categories in question it speaks most."""

    word: str
    category: int
    weight: float  # by how much more than for any other of them, in nats


class SpokenWords(NamedTuple):
    """What the words of a document say, the strongest first, and where they stand."""

    words: list[SpokenWord]
    spans: list[Span]  # ascending; the number is the place in `words`


def spoken_words(model: Categorizer, text: str, shown_as: Mapping[int, int]) -> SpokenWords:
    """The words of a text that the model knows; `shown_as` are the categories in question, each as it is shown.

    Categories that are shown as one speak with one voice, the louder one. Of a single one the words speak more than for
    the mean of all categories of the model, or not at all.
    """
    read = read_text(model, text, False)
    if read.words.size == 0 or not shown_as:
        return SpokenWords([], [])
    weights = model.arrays.weights[read.words].astype(np.float64)  # n words, all K categories
    category, ahead = loudest(weights, shown_as)
    weight = ahead * tf_idf(model.arrays, read.words, read.counts)
    order = np.argsort(-weight, kind="stable")[:MAX_WORDS]
    order = order[weight[order] >= 0.0]
    numbers = read.words[order].tolist()
    words = [
        SpokenWord(model.reader.names[number], int(category[n]), round(float(weight[n]), DIGITS))
        for number, n in zip(numbers, order.tolist(), strict=True)
    ]
    place = {number: n for n, number in enumerate(numbers)}
    return SpokenWords(words, spans_of(text, model.reader, place, MAX_SPANS))


def loudest(weights: Array, shown_as: Mapping[int, int]) -> tuple[Array, Array]:
    """int64[n], the category that each word speaks for most; float64[n], how far ahead of the next one it is."""
    shown = np.array(sorted(set(shown_as.values())))
    voices = np.stack(
        [weights[:, [own for own, as_ in shown_as.items() if as_ == each]].max(axis=1) for each in shown.tolist()]
    )
    if shown.size == 1:
        return np.repeat(shown, len(weights)), voices[0] - weights.mean(axis=1)
    best = voices.argmax(axis=0)
    first, second = np.sort(voices, axis=0)[:-3:-1]
    return shown[best], first - second
