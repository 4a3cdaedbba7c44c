"""Forms that are one word: Greek with and without accents, and by option words with the same stem."""

from collections.abc import Collection

import numpy as np

from sampler.corpus import Array
from sampler.text.stemming import stemmer
from sampler.text.stop_words import is_greek, unaccented
from sampler.text.tokens import Tokens, blocks, count_documents, count_words


def join_forms(tokens: Tokens, language: str | None, left_alone: Collection[str]) -> Tokens:
    """Words instead of forms, in place; each is shown as its most frequent form, the first by code points of several.

    `language` is the one whose stems are taken, if any. Forms in `left_alone` are words of their own, as are those of
    ready bags.
    """
    if language is None and not any(map(is_greek, tokens.names)):
        return tokens
    number_of_key: dict[tuple[str, bool], int] = {}
    stem = stemmer(language) if language else str
    word_of_form = np.empty(len(tokens.names), np.int32)
    for form, name in enumerate(tokens.names):
        is_own = name in left_alone or name in tokens.ready
        key = (name if is_own else unaccented(stem(name)), is_own)
        word_of_form[form] = number_of_key.setdefault(key, len(number_of_key))
    if len(number_of_key) == len(tokens.names):
        return tokens
    names = most_frequent_forms(tokens, word_of_form, len(number_of_key))
    for block in blocks(tokens.words):
        block[:] = word_of_form[block]
    frequency = count_documents(tokens.words, tokens.offsets, len(names))
    return tokens._replace(names=names, document_frequency=frequency)


def most_frequent_forms(tokens: Tokens, word_of_form: Array, n_words: int) -> list[str]:
    """The name of each word."""
    counts = count_words(tokens.words, len(tokens.names))
    best: list[tuple[int, str]] = [(1, "")] * n_words
    for word, count, form in zip(word_of_form.tolist(), counts.tolist(), tokens.names, strict=True):
        best[word] = min(best[word], (-count, form))
    return [form for _, form in best]
