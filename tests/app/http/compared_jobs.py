"""Jobs over versions of one corpus, with answers that a test chooses, put straight into the tables."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from app.core.db import Database
from app.core.tables import Answer, Category, ClampedLabel, Corpus, Document, Job
from tests.app.rows import CORPUS

Answers = Mapping[int, int | None]  # category by document


def add_corpus(database: Database, documents: Mapping[int, str | None], corpus_id: str = CORPUS) -> None:
    """A corpus of these documents, by id, with a label or without; the key follows from the id."""
    with database.sessions.begin() as session:
        session.add(Corpus(id=corpus_id, name="corpus", version=1))
        session.flush()
        session.add_all(document(number, label, corpus_id=corpus_id) for number, label in documents.items())


def document(number: int, label: str | None = None, **columns: Any) -> Document:
    """A document that is part of version 1 on, unless columns say otherwise."""
    given = {"corpus_id": CORPUS, "version": 1, "key": f"key {number}", "text": "text", **columns}
    return Document(id=number, label=label, **given)


def add_job(
    database: Database,
    names: Sequence[str],
    answers: Answers,
    clamped: Mapping[int, str | None] | None = None,
    **columns: Any,
) -> Job:
    """A job with results; categories are new whose name begins so, and have ids such as c-1new2."""
    with database.sessions.begin() as session:
        job = Job(id=str(uuid.uuid4()), corpus_id=CORPUS, corpus_version=1, settings={}, status="succeeded", edition=1)
        for name, value in columns.items():
            setattr(job, name, value)
        session.add(job)
        session.flush()
        for index, name in enumerate(names):
            n_documents = sum(category == index for category in answers.values())
            row = Category(job_id=job.id, edition=job.edition, category=index, name=name, n_documents=n_documents)
            row.known, row.n_labeled, row.share, row.top_words = not name.startswith("new"), 0, 0.0, []
            row.short_id = "c-1" + name.replace(" ", "").replace("u", "v").replace("i", "j").replace("o", "0")[:9]
            session.add(row)
        for edition in {job.edition, 7}:  # of the other one nobody reads anything
            session.add_all(
                Answer(job_id=job.id, edition=edition, document_id=number, category=category if edition < 7 else 0)
                for number, category in answers.items()
            )
        session.add_all(
            ClampedLabel(job_id=job.id, document_id=number, label=label) for number, label in (clamped or {}).items()
        )
    return job


def numbers(category: int | None, *found: int | range) -> dict[int, int | None]:
    """These documents in a category."""
    return {number: category for each in found for number in (each if isinstance(each, range) else [each])}
