"""Documents for the load: made-up words that occur by Zipf's law, seeded."""

import json
from collections.abc import Iterable, Iterator

import numpy as np
from sqlalchemy import insert, text

from app.core.db import Database
from app.core.tables import Corpus, Document

N_WORDS = 20_000  # of the vocabulary
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
LABELED = 4  # every fourth document bears a label
N_LABELS = 10
ROWS_AT_ONCE = 10_000


def word(rank: int) -> str:
    """A word of its own for each rank: short for the frequent ones, as in real languages."""
    syllables = [SYLLABLES[rank % len(SYLLABLES)]]
    while rank := rank // len(SYLLABLES):
        syllables.append(SYLLABLES[rank % len(SYLLABLES)])
    return "".join(syllables) + "n"


def texts(n: int, seed: int, n_words: int) -> Iterator[str]:
    """Texts of so many words each."""
    vocabulary = [word(rank) for rank in range(N_WORDS)]
    chances = np.cumsum(1.0 / np.arange(1, N_WORDS + 1))
    generator = np.random.default_rng(seed)
    for _ in range(n):
        ranks = np.searchsorted(chances, generator.random(n_words) * chances[-1])
        yield " ".join([vocabulary[rank] for rank in ranks])


def label(number: int) -> str | None:
    """The label of a document; most have none."""
    return f"category {number // LABELED % N_LABELS}" if number % LABELED == 0 else None


def lines(n: int, seed: int, n_words: int = 30) -> list[bytes]:
    """Documents as lines of NDJSON."""
    return [
        json.dumps({"key": f"key-{number}", "text": text, "label": label(number)}).encode() + b"\n"
        for number, text in enumerate(texts(n, seed, n_words))
    ]


def store(database: Database, corpus_id: str, n: int, written: Iterable[str]) -> None:
    """Put documents with the first of these texts into an empty corpus, without the API and faster than it does."""
    written = iter(written)
    for first in range(0, n, ROWS_AT_ONCE):
        rows = [
            {"corpus_id": corpus_id, "version": 1, "key": f"key-{number}", "text": text, "label": label(number)}
            for number, text in zip(range(first, min(first + ROWS_AT_ONCE, n)), written)  # noqa: B905 - more texts may follow
        ]
        with database.sessions.begin() as session:
            session.execute(insert(Document), rows)
    with database.sessions.begin() as session:
        corpus = session.get_one(Corpus, corpus_id)
        corpus.version = 1
        session.execute(text("ANALYZE documents"))
