"""Texts to words, and words to token arrays: the only part of the sampler that knows text."""

from sampler.text.encode import AUTO_LANGUAGE, SHORT, Encoded, TextFacts, encode, has_usable_word
from sampler.text.languages import language_of, scripts_of
from sampler.text.markup import markup_of
from sampler.text.options import (
    AUTO,
    CHARACTER_NGRAMS,
    LANGUAGES,
    MARKUPS,
    MAX_WORD_NGRAM,
    NO_STOP_WORDS,
    NONE,
    Numbers,
    TextOptions,
    Urls,
)
from sampler.text.reader import Reader, Reading
from sampler.text.stemming import STEMMED_LANGUAGES
from sampler.text.stop_words import STOP_WORD_LANGUAGES, is_greek, stop_list
from sampler.text.tokens import Text, stop_word_set, tokenize
from sampler.text.words import words_of

__all__ = [
    "AUTO",
    "AUTO_LANGUAGE",
    "CHARACTER_NGRAMS",
    "LANGUAGES",
    "MARKUPS",
    "MAX_WORD_NGRAM",
    "NONE",
    "NO_STOP_WORDS",
    "SHORT",
    "STEMMED_LANGUAGES",
    "STOP_WORD_LANGUAGES",
    "Encoded",
    "Numbers",
    "Reader",
    "Reading",
    "Text",
    "TextFacts",
    "TextOptions",
    "Urls",
    "encode",
    "has_usable_word",
    "is_greek",
    "language_of",
    "markup_of",
    "scripts_of",
    "stop_list",
    "stop_word_set",
    "tokenize",
    "words_of",
]
