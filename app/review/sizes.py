"""How many documents the categories of an answer have once people have decided about it."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.core.tables import Answer, Category, Job
from app.review.decided import Decided
from app.review.documents import with_answers


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
    for row in with_answers(session, job, sorted(decided.moved)):
        labeled = by_name.get(row.label)
        before = decided.other(labeled.category) if labeled else decided.at(row)
        after = decided.of_document(row.id, row)
        counter = labels if row.label is not None else sizes
        if before is not None:
            counter[before.category] -= 1
        if after is not None:
            counter[after.category] += 1
    n_answered = max(sum(sizes.values()), 1)
    for category in decided.categories:
        category.n_documents, category.n_labeled = sizes[category.category], labels[category.category]
        category.share = category.n_documents / n_answered


def parted(session: Session, job: Job, decided: Decided) -> Iterator[tuple[Any, int]]:
    """How many documents have each answer, of categories that have no whole counterpart: those split or dissolved."""
    own = [category.category for category in decided.own if decided.other(category.category) is None]
    if not own:
        return
    columns = (Answer.category, Answer.leaf, Answer.runner_up)
    mine = (Answer.job_id == job.id, Answer.edition == job.edition, Answer.category.in_(own))
    for row in session.execute(select(*columns, func.count()).where(*mine).group_by(*columns)):
        yield row, row[-1]
