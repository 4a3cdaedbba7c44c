"""What a bounded look into a corpus shows, on both databases."""

from collections.abc import Sequence

import numpy as np
import pytest
from sqlalchemy import insert
from sqlalchemy.orm import Session

from app.core.db import Database
from app.core.errors import NothingToCategorize
from app.core.tables import Corpus, Document
from app.forecasts import corpus_sample
from app.forecasts.corpus_sample import (
    MAX_CHARACTERS,
    MAX_DOCUMENTS,
    MAX_LENGTH,
    check_usable,
    estimated_sizes,
    read_sample,
)
from sampler.text import TextOptions, encode
from tests.app.rows import CORPUS

OPTIONS = TextOptions(min_document_frequency=2)
WORDS = [
    f"{first}{second}" for first in ("gal", "plas", "neut", "quar") for second in ("axy", "ma", "ron", "ks", "ino")
]


def add(session: Session, texts: Sequence[str], labels: Sequence[str | None]) -> None:
    """A corpus of these documents."""
    session.add(Corpus(id=CORPUS, name="corpus", version=1))
    session.flush()
    rows = [
        {"corpus_id": CORPUS, "version": 1, "key": f"document-{number}", "text": text, "label": label}
        for number, (text, label) in enumerate(zip(texts, labels, strict=True))
    ]
    if rows:
        session.execute(insert(Document), rows)


def texts(n: int) -> list[str]:
    """Documents of a dozen words."""
    return [" ".join(WORDS[(7 * number + 3 * place) % len(WORDS)] for place in range(12)) for number in range(n)]


def refused(session: Session, options: TextOptions = OPTIONS) -> str | None:
    """Why a job over the corpus is refused, if it is."""
    try:
        check_usable(session, CORPUS, read_sample(session, CORPUS), options)
    except NothingToCategorize as error:
        return error.detail
    return None


def test_a_small_corpus_is_read_as_a_whole_and_its_sizes_are_those_of_its_encoding(database: Database) -> None:
    given, labels = texts(150), ["physics" if number % 3 else None for number in range(150)]
    with database.sessions.begin() as session:
        add(session, given, labels)
    with database.readers.begin() as session:
        sample = read_sample(session, CORPUS)
    assert sample.is_whole
    assert sorted(document.text for document in sample.documents) == sorted(given)
    corpus = encode(given, labels, OPTIONS).corpus
    sizes = estimated_sizes(sample, OPTIONS)
    assert sizes == (corpus.n_documents, corpus.n_tokens, corpus.n_words, corpus.n_known)


def test_of_a_large_corpus_a_bounded_part_is_read_from_everywhere(database: Database) -> None:
    n = 3 * MAX_DOCUMENTS
    labels = [None] * (n // 2) + ["physics"] * (n // 4) + ["optics"] * (n // 4)
    with database.sessions.begin() as session:
        add(session, texts(n), labels)
    with database.readers.begin() as session:
        sample = read_sample(session, CORPUS)
    assert (sample.n_documents, sample.is_whole) == (n, False)
    assert MAX_DOCUMENTS / 2 <= len(sample.documents) <= MAX_DOCUMENTS
    found = [document.label for document in sample.documents]
    assert found.count(None) == pytest.approx(len(found) / 2, rel=0.1)
    corpus = encode(texts(n), labels, OPTIONS).corpus
    sizes = estimated_sizes(sample, OPTIONS)
    assert sizes.n_tokens == pytest.approx(corpus.n_tokens, rel=0.2)
    assert sizes.n_known == 2


def test_a_vocabulary_is_estimated_within_a_factor_of_two(database: Database) -> None:
    """Words have frequencies as in real texts: the vocabulary grows with a power of 0.6 of the corpus."""
    rng = np.random.default_rng(62)
    given = [" ".join(f"w{n}" for n in rng.zipf(1.6, 60) if n < 10**6) for _ in range(5_000)]
    with database.sessions.begin() as session:
        add(session, given, [None] * len(given))
    with database.readers.begin() as session:
        sample = read_sample(session, CORPUS)
    for least in (1, 5, 0.01):
        options = TextOptions("none", min_document_frequency=least)
        actual = encode(given, [None] * len(given), options).corpus.n_words
        assert actual / 2 <= estimated_sizes(sample, options).n_words <= 2 * actual, least


def test_long_documents_are_read_in_part_and_a_few_at_a_time(database: Database) -> None:
    text = "galaxy plasma " * (MAX_LENGTH // 7)
    with database.sessions.begin() as session:
        add(session, [text] * 300, [None] * 300)
    sizes: list[int] = []
    with database.readers.begin() as session:
        rows = corpus_sample.pieces(session, CORPUS, 300, 1, 10**9)
        assert {len(piece) for piece in rows} <= {corpus_sample.AT_ONCE}
        sample = read_sample(session, CORPUS)
        sizes = [len(document.text) for document in sample.documents]
    assert max(sizes) == MAX_LENGTH
    assert sum(sizes) <= MAX_CHARACTERS + MAX_LENGTH
    assert not sample.is_whole
    expected = 300 * len(text.split())
    assert estimated_sizes(sample, OPTIONS).n_tokens == pytest.approx(expected, rel=0.01)


def test_of_a_large_corpus_only_a_frequency_above_its_number_of_documents_is_refused(database: Database) -> None:
    n = 2 * MAX_DOCUMENTS
    with database.sessions.begin() as session:
        add(session, texts(n), [None] * n)
    with database.readers.begin() as session:
        reason = refused(session, TextOptions(min_document_frequency=n + 1))
        assert refused(session, TextOptions(min_document_frequency=n)) is None, "that takes an encoding to see"
    assert reason is not None and f"min_document_frequency (now {n + 1})" in reason


@pytest.mark.parametrize(
    ("labels", "frequency", "reason"),
    [
        ([], 1, "has no documents"),
        (["physics"] * 4, 1, "has no unlabeled documents"),
        ([None] * 4, 5, "min_document_frequency (now 5)"),
        ([None] * 4, 4, None),
        (["physics"] * 3 + [None], 1, None),
    ],
)
def test_what_a_whole_corpus_shows_to_be_impossible_is_refused(
    database: Database, labels: list[str | None], frequency: int, reason: str | None
) -> None:
    with database.sessions.begin() as session:
        add(session, ["galaxy plasma"] * len(labels), labels)
    with database.readers.begin() as session:
        found = refused(session, TextOptions(min_document_frequency=frequency))
    assert found == reason if reason is None else reason in str(found)
