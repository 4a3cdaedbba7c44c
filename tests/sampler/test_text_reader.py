"""Texts that come after a corpus was encoded are read as they would have been in it."""

# ruff: noqa: RUF001  # letters that look like others are what this is about

from collections import Counter

import numpy as np
import pytest

from sampler.text import Reader, TextOptions, encode
from sampler.text.encode import Encoded
from sampler.text.tokens import Text, mark_of

TEXTS: list[Text] = [
    "The running cats ran; a cat runs after the other running cat.",
    "New York, New York: the cats of New York are running.",
    "Η Αθήνα και η ΑΘΗΝΑ, ο δρόμος και οι δρόμοι.",
    "機械学習の研究 機械学習",
    "cats and dogs, dogs and cats, in New York and in <b>Athens</b>",
    "a cat in 2024, see https://example.org/cats",
    {"cats": 2, "the": 1, "ready word": 3},
    "",
]
OPTIONS = {
    "defaults": TextOptions(min_document_frequency=1),
    "rare words left out": TextOptions(min_document_frequency=2),
    "no list": TextOptions(stop_words="none", min_document_frequency=1),
    "a list": TextOptions(stop_words="en", min_document_frequency=1),
    "sequences": TextOptions(stop_words="en", min_document_frequency=1, word_ngrams=3),
    "stems": TextOptions(stop_words="en", min_document_frequency=1, stemming="en"),
    "stems and sequences": TextOptions(stop_words="en", min_document_frequency=2, stemming="en", word_ngrams=2),
    "markup and numbers": TextOptions(min_document_frequency=1, markup=("html",), numbers="keep"),
    "more stop words": TextOptions(min_document_frequency=1, extra_stop_words=("cats",)),
}


def reader_of(encoded: Encoded, options: TextOptions) -> Reader:
    """A reader with the vocabulary of a corpus."""
    return Reader(encoded.vocabulary, options, encoded.facts)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_text_of_the_corpus_is_read_as_it_was_in_it(options: TextOptions) -> None:
    encoded = encode(TEXTS, [None] * len(TEXTS), options)
    reader, corpus = reader_of(encoded, options), encoded.corpus
    for d, text in enumerate(TEXTS):
        read = reader.read(text)
        expected = Counter(corpus.words[corpus.offsets[d] : corpus.offsets[d + 1]].tolist())
        assert dict(zip(read.words.tolist(), read.counts.tolist(), strict=True)) == expected
        assert (np.diff(read.words) > 0).all()
        assert read.mark == int(encoded.marks[d])


def test_words_are_unknown_unless_the_vocabulary_has_them_or_they_are_stop_words() -> None:
    options = TextOptions(stop_words="en", min_document_frequency=1)
    reader = reader_of(encode(["cats and dogs"], [None], options), options)
    read = reader.read("the cats and the zebra, a zebra")
    assert (read.n_unknown, read.n_words) == (2, 3)
    assert [reader.names[word] for word in read.words] == ["cats"]


def test_other_forms_of_a_stem_are_known() -> None:
    options = TextOptions(stop_words="en", min_document_frequency=1, stemming="en")
    reader = reader_of(encode(["cats running", "cats running"], [None] * 2, options), options)
    assert [reader.names[word] for word in reader.read("a cat runs").words] == ["cats", "running"]


def test_marks_tell_texts_apart_by_their_words_and_their_order() -> None:
    marks = [mark_of(words) for words in ([], ["a"], ["b"], ["a", "b"], ["b", "a"], ["a", "a"])]
    assert len(set(marks)) == len(marks)
    assert mark_of(["a", "b"]) == marks[3] and all(0 <= mark < 2**64 for mark in marks)
