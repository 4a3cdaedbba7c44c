"""Jobs with answers that a test chooses, put straight into the tables."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import insert, update

from app.core import lifecycle
from app.core.db import Database
from app.core.tables import Answer, Audit, Category, Corpus, Document, Job, Summary
from tests.app.rows import OF_MODEL, SETTINGS, end

CATEGORIES = (("astronomy", True), ("optics", True), ("new 1", False), ("new 2", False))


class Given(NamedTuple):
    """A document, and what the job says of it: its category, or of a labeled one how good its label is.

    `suggested` is the category that is likelier than the label.
    """

    key: str
    label: str | None = None
    category: int | None = None
    fields: Mapping[str, Any] | None = None
    probability: float | None = None
    known_probability: float | None = None
    quality: float | None = None
    suggested: int | None = None
    by_copies: bool = False


class Made(NamedTuple):
    """Addresses of a job and of its corpus."""

    job: str
    corpus: str


def add_job(database: Database, documents: Sequence[Given], is_over: bool = True) -> Made:
    """A job that has answered these documents."""
    corpus_id = str(uuid.uuid4())
    with database.sessions.begin() as session:
        session.add(Corpus(id=corpus_id, name="corpus", version=1))
        session.flush()
        session.add_all(
            Document(
                corpus_id=corpus_id,
                version=1,
                key=each.key,
                text=f"text of {each.key}",
                label=each.label,
                fields=None if each.fields is None else dict(each.fields),
            )
            for each in documents
        )
    with database.sessions.begin() as session:
        settings = {**SETTINGS, **OF_MODEL["lbpl-ntm"], "model": "lbpl-ntm"}
        job, _ = lifecycle.submit(session, corpus_id, settings)
    if is_over:
        add_answers(database, job.id, corpus_id, documents)
        end(database, job.id)
    return Made(f"/v1/jobs/{job.id}", f"/v1/corpora/{corpus_id}")


def add_answers(database: Database, job_id: str, corpus_id: str, documents: Sequence[Given]) -> None:
    """What the job says, in its first edition, beside rows of an edition that nobody reads."""
    names = {name: index for index, (name, _) in enumerate(CATEGORIES)}
    with database.sessions.begin() as session:
        session.execute(update(Job).where(Job.id == job_id).values(edition=1))
        for index, (name, known) in enumerate(CATEGORIES):
            row = Category(job_id=job_id, category=index, name=name, known=known)
            row.n_documents = sum(each.category == index for each in documents)
            row.n_labeled = sum(each.label == name for each in documents)
            row.share, row.top_words = 0.25, []
            session.add(row)
        session.add(Summary(job_id=job_id, data={"n_new": {"2": 1}, "n_new_with_documents": {"2": 1}}))
        session.flush()
        ids = dict(session.query(Document.key, Document.id).filter_by(corpus_id=corpus_id).all())
        answers, audits = [], []
        for each in documents:
            place = {"job_id": job_id, "document_id": ids[each.key]}
            if each.label is None:
                sure = {"probability": each.probability, "known_probability": each.known_probability}
                answers.append({**place, "edition": 1, "category": each.category, **sure})
                answers.append({**place, "edition": 2, "category": 3, **sure})
            elif each.quality is not None:
                worth = {"probability": each.quality, "by_copies": each.by_copies, "suggested": each.suggested}
                worth["suggested_probability"] = None if each.suggested is None else each.probability
                audits.append({**place, "edition": 1, "category": names[each.label], **worth})
                audits.append({**place, "edition": 2, "category": names[each.label], **worth})
        for table, found in ((Answer, answers), (Audit, audits)):
            if found:
                session.execute(insert(table), found)
