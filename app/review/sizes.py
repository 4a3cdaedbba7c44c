"""How many documents the categories of an answer have once people have decided about it."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session

from app.core.tables import Answer, Category, Document, Job
from app.review.decided import Decided, listed


def count(session: Session, job: Job, decided: Decided) -> None:
    """Count the documents of the categories, labeled and not, into their rows."""
    sizes: Counter[int] = Counter()
    labels: Counter[int] = Counter()
    for category in decided.own:
        if (shown := decided.other(category.category)) is not None:
            sizes[shown.category] += category.n_documents
            labels[shown.category] += category.n_labeled
    for answer, n_documents in parted(session, job, decided):
        if (shown := decided.at(answer)) is not None:
            sizes[shown.category] += n_documents
    by_name: dict[str | None, Category] = {category.name: category for category in decided.own if category.known}
    for document_id, label, answer in rows_of_moved(session, job, decided):
        labeled = by_name.get(label)
        before = decided.other(labeled.category) if labeled else decided.at(answer)
        after = decided.of_document(document_id, answer)
        counter = labels if label is not None else sizes
        if before is not None:
            counter[before.category] -= 1
        if after is not None:
            counter[after.category] += 1
    n_answered = max(sum(sizes.values()), 1)
    for row in decided.categories:
        row.n_documents, row.n_labeled = sizes[row.category], labels[row.category]
        row.share = row.n_documents / n_answered


def parted(session: Session, job: Job, decided: Decided) -> Iterator[tuple[Any, int]]:
    """How many documents have each answer, of categories that have no whole counterpart: those split or dissolved."""
    own = [category.category for category in decided.own if decided.other(category.category) is None]
    if not own:
        return
    columns = (Answer.category, Answer.leaf, Answer.runner_up)
    mine = (Answer.job_id == job.id, Answer.edition == job.edition, Answer.category.in_(own))
    for row in session.execute(select(*columns, func.count()).where(*mine).group_by(*columns)):
        yield row, row[-1]


def rows_of_moved(session: Session, job: Job, decided: Decided) -> Iterator[tuple[int, str | None, Any]]:
    """The documents that somebody decided about, with their labels and their answers."""
    columns = (Document.id, Document.label, Answer.category, Answer.leaf, Answer.runner_up)
    of_job = and_(Answer.job_id == job.id, Answer.edition == job.edition, Answer.document_id == Document.id)
    query = select(*columns).outerjoin(Answer, of_job).where(Document.id.in_(listed(decided.moved)))
    for row in session.execute(query) if decided.moved else ():
        yield row.id, row.label, row
