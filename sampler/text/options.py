"""The options that say how texts become words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Literal, get_args

from sampler.text.stemming import STEMMED_LANGUAGES, can_stem
from sampler.text.stop_words import STOP_WORD_LANGUAGES

AUTO = "auto"
NONE = "none"
NO_STOP_WORDS = NONE
MARKUPS = ("html", "markdown", "mail")
Urls = Literal["keep", "drop", "join"]
Numbers = Literal["drop", "keep", "join"]
CHARACTER_NGRAMS = (AUTO, NONE, 2, 3)
MAX_WORD_NGRAM = 3
LANGUAGES = tuple(sorted({*STOP_WORD_LANGUAGES, *STEMMED_LANGUAGES, "az"}))
LISTS = ("markup", "extra_stop_words")  # options with several values


@dataclass(frozen=True)
class TextOptions:
    """How texts become words. Raises ValueError for a value outside its limits."""

    stop_words: str | tuple[str, ...] = AUTO  # stopwords-iso languages, "none", or "auto": see `sampler.text.encode`
    extra_stop_words: tuple[str, ...] = ()
    min_word_length: int = 2  # characters; words of scripts without spaces and of Hangul have no least length
    min_document_frequency: int | float = 5  # documents that a word must occur in (the paper: 16), or a share of all
    join_copies: bool = True  # whether documents with the same words, or nearly, are one text; see `sampler.copies`
    language: str = AUTO  # of most texts, or "auto": as their words show it
    max_word_length: int = 100  # characters: what is longer is data, such as base64
    max_document_frequency: int | float | None = None  # documents that a word may occur in, or a share of all
    character_ngrams: str | int = AUTO  # length of the pieces of a run in a script without spaces; "auto": 2
    word_ngrams: int = 1  # most words in a sequence that counts as a word of its own
    markup: tuple[str, ...] = ()  # of MARKUPS, stripped in the order mail, html, markdown
    urls: Urls = "keep"  # and e-mail addresses
    numbers: Numbers = "drop"  # "drop": words begin with a letter
    stemming: str = NONE  # a language, "none", or "auto": the corpus' language, if there is a stemmer for it

    def __post_init__(self) -> None:
        for field in fields(self):  # lists, as they come from JSON
            value = getattr(self, field.name)
            if isinstance(value, list):
                object.__setattr__(self, field.name, tuple(value))
            elif field.name in LISTS and isinstance(value, str):
                object.__setattr__(self, field.name, (value,))
        self.check_languages()
        check_choice("urls", self.urls, get_args(Urls))
        check_choice("numbers", self.numbers, get_args(Numbers))
        check_choice("character_ngrams", self.character_ngrams, CHARACTER_NGRAMS)
        for markup in self.markup:
            check_choice("markup", markup, MARKUPS)
        if self.min_word_length < 1:
            raise ValueError(f"min_word_length = {self.min_word_length} is below 1")
        if self.max_word_length < self.min_word_length:
            raise ValueError(
                f"max_word_length = {self.max_word_length} is below min_word_length = {self.min_word_length}"
            )
        if not 1 <= self.word_ngrams <= MAX_WORD_NGRAM:
            raise ValueError(f"word_ngrams = {self.word_ngrams} is not from 1 to {MAX_WORD_NGRAM}")
        self.check_frequencies()

    def check_languages(self) -> None:
        """Raise ValueError for a language that nothing is known about."""
        if isinstance(self.stop_words, str):
            check_choice("stop_words", self.stop_words, (AUTO, NONE, *STOP_WORD_LANGUAGES))
        else:
            for language in self.stop_words:
                check_choice("stop_words", language, STOP_WORD_LANGUAGES)
        check_choice("language", self.language, (AUTO, *LANGUAGES))
        check_choice("stemming", self.stemming, (AUTO, NONE, *STEMMED_LANGUAGES))
        if self.stemming != NONE and not can_stem():
            raise ValueError(
                f"stemming = {self.stemming!r} needs the extra `stemming`: pip install 'newfound[stemming]'"
            )

    def check_frequencies(self) -> None:
        """Raise ValueError for a document frequency that is neither a number of documents nor a share of them."""
        low, high = self.min_document_frequency, self.max_document_frequency
        for name, value in (("min_document_frequency", low), ("max_document_frequency", high)):
            if isinstance(value, float) and not 0.0 < value <= 1.0:
                raise ValueError(f"{name} = {value!r} is a share, and not above 0 and up to 1")
            if isinstance(value, int) and value < 1:
                raise ValueError(f"{name} = {value} is below 1")
        if high is not None and isinstance(low, float) == isinstance(high, float) and high < low:
            raise ValueError(f"max_document_frequency = {high} is below min_document_frequency = {low}")

    @property
    def stop_languages(self) -> tuple[str, ...]:
        """The languages whose stop words are dropped whatever the texts are."""
        if isinstance(self.stop_words, tuple):
            return self.stop_words
        return () if self.stop_words in (AUTO, NONE) else (self.stop_words,)

    @property
    def known_language(self) -> str | None:
        """The language that most texts are said to be in, by itself or by the one list of stop words that is named."""
        if self.language != AUTO:
            return self.language
        return self.stop_languages[0] if len(self.stop_languages) == 1 else None

    @property
    def ngram_length(self) -> int | None:
        """Characters of a piece of a run in a script without spaces; None leaves runs whole."""
        if self.character_ngrams == NONE:
            return None
        return 2 if self.character_ngrams == AUTO else int(self.character_ngrams)

    def least_frequency(self, n_documents: int) -> int:
        """Documents that a word must occur in, of so many."""
        least = self.min_document_frequency
        return least if isinstance(least, int) else max(math.ceil(Decimal(repr(least)) * n_documents), 1)

    def greatest_frequency(self, n_documents: int) -> int:
        """Documents that a word may occur in, of so many."""
        greatest = self.max_document_frequency
        if greatest is None:
            return n_documents
        return greatest if isinstance(greatest, int) else math.floor(Decimal(repr(greatest)) * n_documents)


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Raise ValueError unless the value is one of the choices."""
    if value not in choices:
        listed = ", ".join(map(repr, choices))
        raise ValueError(f"{name} = {value!r} is not one of {listed}")
