"""How texts become words under some options, on a sample of a corpus, and what would be better."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from heapq import nsmallest
from typing import NamedTuple

import numpy as np

from app.forecasts.corpus_sample import Sample, SampledDocument, estimated_words, for_part, part_of
from sampler.text import (
    NONE,
    Encoded,
    TextOptions,
    encode,
    is_greek,
    language_of,
    markup_of,
    scripts_of,
    stop_list,
    stop_word_set,
    tokenize,
)

MAX_ENCODED = 1_000  # documents of a sample whose words are counted
N_WORDS = 20  # words of a list
N_TELLING = 1_000  # words of a document that its language is seen by
N_TOKENS = 200  # tokens of a document that are shown
NO_LIMIT = 10**9


class PreviewedDocument(NamedTuple):
    """A document with the words that are kept of it."""

    key: str
    label: str | None
    text: str
    n_tokens: int
    tokens: list[str]  # the first N_TOKENS


class WordCount(NamedTuple):
    """A word of the sample that is kept."""

    word: str
    n: int  # of occurrences


class DroppedWord(NamedTuple):
    """A word of the sample that is not kept, and why."""

    word: str
    n: int  # of occurrences
    reason: str


class Share(NamedTuple):
    """A share of something by name; None is what is not recognized."""

    name: str | None
    share: float


class Preview(NamedTuple):
    """What the options make of a sample."""

    n_sampled: int
    encoded: Encoded
    n_words: int  # of the corpus, as estimated
    n_tokens: list[int]  # of a document: least, quartiles, greatest
    n_empty: int
    scripts: list[Share]  # of words
    languages: list[Share]  # of documents
    markup: list[Share]  # of documents
    addresses: float  # share of documents with a URL
    top_words: list[WordCount]
    dropped_words: list[DroppedWord]
    documents: list[PreviewedDocument]


def preview(sample: Sample, options: TextOptions, n_shown: int, n_characters: int) -> Preview:
    """Encode a part of the sample under the options, as a job over the corpus would, and look at its words."""
    part = part_of(sample, MAX_ENCODED)
    more = max(sample.n_documents, 1) / max(len(part), 1)
    scaled = for_part(options, more)
    contents = [document.content for document in part]
    texts = [document.text for document in part if document.words is None]
    encoded = encode(contents, [document.label for document in part], scaled)
    tokens = list(tokenize(contents, unfiltered(options)))
    words = [Counter(found) for found in tokens]
    counts: Counter[str] = Counter()
    for found in words:
        counts.update(found)
    lengths = encoded.corpus.lengths
    found_markup = Counter(kind for text in texts for kind in markup_of(text))
    return Preview(
        len(part),
        encoded,
        estimated_words(encoded.corpus.n_words, more, options, sample.n_documents) if encoded.corpus.n_words else 0,
        [round(float(n)) for n in np.quantile(lengths, (0, 0.25, 0.5, 0.75, 1))] if lengths.size else [0] * 5,
        int((lengths == 0).sum()),
        [Share(script.name, script.share) for script in scripts_of(counts.items())],
        shares(Counter(language_of(Counter(found[:N_TELLING])) for found in tokens if found), len(part)),
        shares(found_markup, len(part)),
        sum("://" in text or "www." in text for text in texts) / max(len(part), 1),
        top_words(encoded),
        dropped_words(words, counts, encoded, options, scaled),
        [shown(document, encoded, d, n_characters) for d, document in evenly(part, n_shown)],
    )


def unfiltered(options: TextOptions) -> TextOptions:
    """The same options, but that no word is left out."""
    return replace(
        options, stop_words=NONE, extra_stop_words=(), min_word_length=1, max_word_length=NO_LIMIT,
        language=options.known_language or options.language,
    )  # fmt: skip


def shares(counts: Counter[str | None] | Counter[str], total: int) -> list[Share]:
    """Shares of a total, the largest first."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
    return [Share(name, n / max(total, 1)) for name, n in ranked]


def evenly(part: Sequence[SampledDocument], n: int) -> list[tuple[int, SampledDocument]]:
    """At most n of the documents with their numbers, evenly apart."""
    n = min(n, len(part))
    return [(number, part[number]) for number in (i * len(part) // n for i in range(n))]


def top_words(encoded: Encoded) -> list[WordCount]:
    """The most frequent words that are kept."""
    counts = np.bincount(encoded.corpus.words, minlength=encoded.corpus.n_words)
    ranked = np.argsort(-counts, kind="stable")[:N_WORDS]
    return [WordCount(encoded.vocabulary[word], int(counts[word])) for word in ranked]


def dropped_words(
    words: Sequence[Collection[str]], counts: Counter[str], encoded: Encoded, options: TextOptions, scaled: TextOptions
) -> list[DroppedWord]:
    """The most frequent words that are not kept. Of forms that may be joined to others only stop words."""
    vocabulary = set(encoded.vocabulary)
    stop_words = stop_word_set(options).union(*map(stop_list, encoded.facts.stop_words))
    frequency: Counter[str] = Counter()
    for found in words:
        frequency.update(found)
    greatest = scaled.greatest_frequency(len(words))
    reasons = dict.fromkeys(counts.keys() & stop_words, "stop word")
    left_out = () if encoded.facts.stemming else counts.keys() - vocabulary
    dropped = {word: counts[word] for word in (*reasons, *(word for word in left_out if not is_greek(word)))}
    most = nsmallest(N_WORDS, dropped, key=lambda word: (-dropped[word], word))
    return [
        DroppedWord(word, dropped[word], reasons.get(word) or why_dropped(word, frequency[word], greatest, options))
        for word in most
    ]


def why_dropped(word: str, n_documents: int, greatest: int, options: TextOptions) -> str:
    """The reason why a word that is no stop word is not kept."""
    if len(word) > options.max_word_length:
        return "too long"
    if not next(tokenize([word], replace(unfiltered(options), min_word_length=options.min_word_length))):
        return "too short"
    return "in too many documents" if n_documents > greatest else "in too few documents"


def shown(document: SampledDocument, encoded: Encoded, d: int, n_characters: int) -> PreviewedDocument:
    """The document with its first words."""
    corpus = encoded.corpus
    words = corpus.words[corpus.offsets[d] : corpus.offsets[d + 1]]
    tokens = [encoded.vocabulary[word] for word in words[:N_TOKENS]]
    return PreviewedDocument(document.key, document.label, document.text[:n_characters], int(words.size), tokens)
