"""Documents of a job, by their keys or by their ids."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import and_, select
from sqlalchemy.orm import Session

from app.core.splits import seen_label
from app.core.tables import Answer, Document, Job, is_part_of

AT_ONCE = 1_000  # that a statement names


def lots(values: Iterable[Any]) -> Iterator[list[Any]]:
    """The values, as many at a time as a statement names."""
    rest = iter(values)
    while some := list(islice(rest, AT_ONCE)):
        yield some


def ids_of(session: Session, job: Job, keys: Iterable[str]) -> dict[str, int]:
    """The ids of documents by their keys, in the version of the corpus that the job is over."""
    is_there = and_(Document.corpus_id == job.corpus_id, is_part_of(job.corpus_version))
    found: dict[str, int] = {}
    for some in lots(keys):
        rows = session.execute(select(Document.key, Document.id).where(is_there, Document.key.in_(some)))
        found.update((key, document_id) for key, document_id in rows)
    return found


def with_answers(session: Session, job: Job, document_ids: Sequence[int]) -> Iterator[Any]:
    """Rows of some documents: `id`, `key`, `label`, and `category`, `leaf` and `runner_up` of the answer, if any."""
    of_job = and_(Answer.document_id == Document.id, Answer.job_id == job.id, Answer.edition == job.edition)
    label = seen_label(job).label("label")
    columns = (Document.id, Document.key, label, Answer.category, Answer.leaf, Answer.runner_up)
    for some in lots(document_ids):
        query = select(*columns).outerjoin(Answer, of_job).where(Document.id.in_(some))
        yield from session.execute(query.order_by(Document.id))
