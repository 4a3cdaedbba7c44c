"""A job over many documents with its answers, put straight into the tables, faster than any job or upload could."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import create_engine, text

from app.core.db import Database
from benchmarks.load.documents import texts

CORPUS = "11111111-2222-4333-8444-000000000001"
JOB = "11111111-2222-4333-8444-000000000002"
N_KNOWN, N_NEW = 40, 20
N_LABELED = 4  # documents that are answered for each that bears a label
N_WORDS = 80  # of a document
N_JOBS, N_CHAINS, N_SWEEPS = 2_000, 4, 10_000
ROWS_AT_ONCE = 20_000
SETTINGS = {"model": "calibrated", "sweeps": 50, "burn_in": 20, "chains": 4, "seed": 0, "text": {}, "calibrated": {}}
RARE = ("needle", 1_000, 7)  # a word, and in which documents it is: every so many, from this one on


class Sizes(NamedTuple):
    """How many documents are answered, and how many bear a label."""

    answered: int
    labeled: int


def sizes(n_documents: int) -> Sizes:
    """The sizes of a job that answers so many documents."""
    return Sizes(n_documents, n_documents // N_LABELED)


def fill(database: Database, n_documents: int, report: Callable[[str], None]) -> None:
    """Put a corpus, a job with results, and some other jobs into an empty database."""
    found = sizes(n_documents)
    for table, columns, rows in (
        ("corpora", ("id", "name", "version", "created_at"), [(CORPUS, "corpus", 1, 1.0)]),
        ("documents", ("id", "corpus_id", "version", "key", "text", "label", "fields"), documents(found)),
        ("jobs", JOB_COLUMNS, jobs()),
        ("units", ("id", "job_id", "kind", "chain", "status", "n_sweeps", "attempts", "seconds"), units()),
        ("categories", CATEGORY_COLUMNS, categories(n_documents)),
        ("summaries", ("job_id", "edition", "data"), [(JOB, 1, json.dumps(SUMMARY))]),
        ("answers", ANSWER_COLUMNS, answers(found)),
        ("audits", AUDIT_COLUMNS, audits(found)),
        ("draws", DRAW_COLUMNS, draws()),
    ):
        report(f"rows of {table}")
        add_rows(database, table, columns, rows)
    report("ANALYZE")
    look_over(database)


def look_over(database: Database) -> None:
    """Let the database know its tables, as PostgreSQL does by itself after a while."""
    engine = create_engine(database.engine.url, isolation_level="AUTOCOMMIT")  # no VACUUM within a transaction
    with engine.connect() as connection:
        connection.execute(text("ANALYZE" if engine.dialect.name == "sqlite" else "VACUUM ANALYZE"))
    engine.dispose()


def add_rows(database: Database, table: str, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Insert rows, many at a time."""
    names = ", ".join(columns)
    left = iter(rows)
    while some := list(islice(left, ROWS_AT_ONCE)):
        with database.sessions.begin() as session:
            cursor = session.connection().connection.cursor()
            if database.engine.dialect.name == "sqlite":
                cursor.executemany(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})", some)
            else:
                with cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
                    for row in some:
                        copy.write_row(row)


def documents(found: Sizes) -> Iterator[tuple[Any, ...]]:
    """Texts of made-up words; those with a label come between the others."""
    word, every, first = RARE
    for number, written in enumerate(texts(sum(found), 1, N_WORDS)):
        if number % every == first:
            written = f"{written} {word}"
        label = known_name(labeled_as(number)) if is_labeled(number, found) else None
        fields = json.dumps({"year": 2000 + number % 25, "source": f"source {number % 997}"})
        yield number + 1, CORPUS, 1, f"document-{number:08d}", written, label, fields


def is_labeled(number: int, found: Sizes) -> bool:
    """Whether the document with this number, from 0, bears a label."""
    return number % (N_LABELED + 1) == N_LABELED and number // (N_LABELED + 1) < found.labeled


def labeled_as(number: int) -> int:
    """The category that the label of a document names."""
    return number // (N_LABELED + 1) % N_KNOWN


def known_name(category: int) -> str:
    """The name of a known category."""
    return f"category {category}"


JOB_COLUMNS = ("id", "corpus_id", "corpus_version", "settings", "status", "created_at", "edition")


def jobs() -> Iterator[tuple[Any, ...]]:
    """The job with the answers, and others without."""
    yield JOB, CORPUS, 1, json.dumps(SETTINGS), "succeeded", 1.0, 1
    for number in range(N_JOBS):
        yield other_job(number), CORPUS, 1, json.dumps(SETTINGS), "cancelled", 2.0 + number, 0


def other_job(number: int) -> str:
    """The id of a job without answers."""
    return f"22222222-2222-4333-8444-{number:012d}"


def units() -> Iterator[tuple[Any, ...]]:
    """The units of all jobs."""
    numbers = count(1)
    for job_id in (JOB, *(other_job(number) for number in range(N_JOBS))):
        for kind in ("encode", "atoms", "calibrate", "conclude"):
            yield next(numbers), job_id, kind, None, "done", 0, 0, 1.0
        for chain in range(N_CHAINS):
            yield next(numbers), job_id, "chain", chain, "done", 50, 0, 1.0


CATEGORY_COLUMNS = (
    *("job_id", "edition", "category", "name", "known", "n_documents", "n_labeled", "share", "top_words"),
    "short_id",
)
SUMMARY = {"n_new": {str(N_NEW): 1}, "n_new_with_documents": {str(N_NEW): 1}}


def categories(n_documents: int) -> Iterator[tuple[Any, ...]]:
    """Known and new categories of very different sizes."""
    words = json.dumps([{"word": f"word{n}", "documents": n} for n in range(10)])
    of_each = np.bincount(drawn(n_documents)[0], minlength=N_KNOWN + N_NEW)
    for category, n in enumerate(of_each):
        known = category < N_KNOWN
        name = known_name(category) if known else f"new {category - N_KNOWN + 1}"
        yield JOB, 1, category, name, known, int(n), 0, n / n_documents, words, f"c-{category:06d}"


ANSWER_COLUMNS = (
    *("job_id", "edition", "document_id", "category", "probability", "known_probability", "runner_up"),
    *("runner_up_probability", "copy_of"),
)


def drawn(n: int) -> tuple[Any, Any]:
    """The categories of documents, by Zipf's law, and their probabilities, many of which are the same."""
    generator = np.random.default_rng(2)
    chances = 1.0 / np.arange(1, N_KNOWN + N_NEW + 1)
    category = generator.permutation(N_KNOWN + N_NEW)[
        np.searchsorted(np.cumsum(chances / chances.sum()), generator.random(n), side="right").clip(0, chances.size - 1)
    ]
    return category, np.round(generator.beta(5, 1, n), 3)


def answers(found: Sizes) -> Iterator[tuple[Any, ...]]:
    """An answer for each unlabeled document; one of a hundred has no category, one of twenty is a copy."""
    categories, probabilities = drawn(found.answered)
    numbers = (number for number in range(sum(found)) if not is_labeled(number, found))
    for place, (number, category, probability) in enumerate(zip(numbers, categories, probabilities, strict=True)):
        if place % 100 == 50:
            yield JOB, 1, number + 1, None, None, None, None, None, None
        else:
            second = (int(category) + 1) % (N_KNOWN + N_NEW)
            rest = float(1 - probability)
            copy_of = number if place % 20 == 3 else None
            yield JOB, 1, number + 1, int(category), float(probability), 0.5, second, rest, copy_of


AUDIT_COLUMNS = (
    *("job_id", "edition", "document_id", "category", "probability", "suggested", "suggested_probability"),
)


def audits(found: Sizes) -> Iterator[tuple[Any, ...]]:
    """What each label is worth; one of twenty is doubtful."""
    generator = np.random.default_rng(3)
    for number in range(sum(found)):
        if is_labeled(number, found):
            is_doubtful = number % 100 == N_LABELED
            probability = round(float(generator.random()), 3)
            suggested = (labeled_as(number) + 1) % N_KNOWN if is_doubtful else None
            yield JOB, 1, number + 1, labeled_as(number), probability, suggested, 0.5 if is_doubtful else None


DRAW_COLUMNS = ("job_id", "chain", "sweep", "n_categories", "n_new", "n_new_with_documents", "log_joint")


def draws() -> Iterator[tuple[Any, ...]]:
    """A long trace."""
    for chain in range(N_CHAINS):
        for sweep in range(1, N_SWEEPS + 1):
            yield JOB, chain, sweep, N_KNOWN + N_NEW, N_NEW, N_NEW, -1.5
