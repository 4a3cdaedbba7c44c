"""Where the words of a text stand in it: offsets into the text as it is, though words are read from a folded one.

Pieces of the text are read by the rules that the whole was read by, and a piece that reads as a word is an occurrence
of it. Folding and the rules hardly look beyond a word, so that is exact, with these exceptions. Where the options strip
markup, a piece inside of it is an occurrence, too, if its word was read elsewhere. Sequences of words have no places of
their own. And what normalization alone makes a word, or a part of one, such as ㎏ or the sign in Foo™, is missed, as
are a Greek word whose last sigma stands before an apostrophe, and a number with a soft hyphen that is to be one word.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial

import regex

from sampler.text import Reader, TextOptions, words_of
from sampler.text.markup import stripped
from sampler.text.normal_forms import normal_form
from sampler.text.scripts import SPACELESS, SPACELESS_LETTER
from sampler.text.stop_words import TURKIC
from sampler.text.tokens import word_filter
from sampler.text.words import ADDRESS, NUMBER, is_turkish

Span = tuple[int, int, int]  # start, end, and the number of the word

JOINERS, APOSTROPHE = r"\u00ad\u200c\u200d", r"['\u2019]\u00ad*"  # of parts of one word; the first are soft hyphens

CHARACTER = regex.compile(r"[^\p{M}\u00ad][\p{M}\u00ad]*")  # of a run, with its marks and what nobody sees


def spans_of(text: str, reader: Reader, wanted: Mapping[int, int], most: int) -> list[Span]:
    """The first `most` occurrences of the `wanted` words of a vocabulary, in order, with what is wanted of each.

    Character n-grams overlap. O(n) time for n characters.
    """
    found: list[Span] = []
    for start, end, word in occurrences(text, reader):
        if word in wanted:
            found.append((start, end, wanted[word]))
            if len(found) == most:
                break
    return found


def occurrences(text: str, reader: Reader) -> Iterator[Span]:
    """All places of a text that read as words of the reader's vocabulary."""
    options = reader.options
    read = piece_reader(text, options)
    is_left = word_filter(options)

    @cache  # most pieces come more than once
    def numbers(piece: str) -> list[int | None]:
        """Of each word of a piece its number, None for those that the options or the vocabulary leave out."""
        return [reader.number(word, True) if is_left([word]) else None for word in read(piece)]

    pattern = piece_pattern(options.ngram_length is not None, options.urls, options.numbers)
    for place in pattern.finditer(text):
        piece = place[0]
        for (start, end), word in zip(parts_of(piece, options, len(numbers(piece))), numbers(piece), strict=False):
            if word is not None:
                yield place.start() + start, place.start() + end, word


def piece_reader(text: str, options: TextOptions) -> Callable[[str], list[str]]:
    """What reads a piece of a text as it is read there: whether its I is Turkish, the whole text says."""
    language = options.known_language
    if language is None:
        is_dotless = is_turkish(normal_form("NFKC", stripped(text, options.markup)))
    else:
        is_dotless = language in TURKIC
    return partial(
        words_of, turkish=is_dotless, ngram_length=options.ngram_length, urls=options.urls, numbers=options.numbers
    )


@cache
def piece_pattern(splits_runs: bool, urls: str, numbers: str) -> "regex.Pattern[str]":
    """Addresses and numbers, if these are words, runs of a script without spaces, if they are split, and words."""
    others = rf"--[{SPACELESS}]" if splits_runs else ""
    first = rf"[\p{{L}}{others}]" if numbers == "drop" else rf"[[\p{{L}}\p{{N}}]{others}]"
    part = rf"{first}[[\p{{L}}\p{{N}}\p{{M}}{JOINERS}]{others}]*"
    run = rf"[{SPACELESS}](?:[{SPACELESS}]|[\p{{M}}\u00ad])*"
    pieces = [
        *([rf"(?i:{ADDRESS.pattern})"] if urls != "keep" else []),
        *([NUMBER] if numbers == "join" else []),
        *([run] if splits_runs else []),
        rf"{part}(?:{APOSTROPHE}{part})*",
    ]
    return regex.compile(f"(?V1){'|'.join(pieces)}")


def parts_of(piece: str, options: TextOptions, n_words: int) -> Sequence[tuple[int, int]]:
    """The places of a piece's words in it: all of it for one, those of n-grams; none that nobody can tell apart."""
    if n_words == 1:
        return [(0, len(piece))]
    length = options.ngram_length
    if length is not None and SPACELESS_LETTER.match(piece):
        ends = [character.span() for character in CHARACTER.finditer(piece)]
        if len(ends) - length + 1 == n_words:
            return [(ends[n][0], ends[n + length - 1][1]) for n in range(n_words)]
    return []
