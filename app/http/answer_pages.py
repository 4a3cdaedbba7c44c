"""A page of a job's answers: the places of its rows, found by the filters and in the order of a request."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, false, select
from sqlalchemy.orm import Session

from app.core.tables import Answer, Document, Job
from app.exports.documents import Chosen
from app.http.answer_filters import AnswerFilters
from app.http.answer_orders import Sort, place_of, sort_key, stretches
from app.http.searches import Scope, corpus_scope, look_up
from app.http.walks import Filters, Place, Source, Walked, walk
from app.review.shown import Shown
from app.review.unindexed import unindexed

AT_ONCE = 1_000  # documents that a statement names


class Asked(NamedTuple):
    """The answers that a request wants, in which order, from where on, and how many."""

    filters: AnswerFilters
    sort: Sort | None
    start: Place
    n: int


def read_places(
    session: Session,
    job: Job,
    shown: Shown,
    asked: Asked,
    wake: Callable[[str], None],
) -> Walked:
    """The places of answers; filters name categories that are shown."""
    filters = asked.filters
    one, several = shown.among(filters.categories(shown.categories))
    found = look_up(session, filters.search, scope(session, job, filters), wake)
    few, matches = found.document_ids, found.matches
    if filters.key is not None:
        few = list(of_key(session, job, filters.key))
        matches = None if filters.search is None else filters.search.matches
    conditions = [*several, *filters.others(shown)]
    if few is not None:
        conditions += [*one, *filters.probabilities()]
        return of_few(session, job, few, conditions, asked, matches)
    mine = [Answer.job_id == job.id, Answer.edition == job.edition, *one]
    if asked.sort is None:
        conditions += filters.probabilities()
    ordered = stretches(asked.sort, mine, filters.bounds(), has_null=filters.allows_null())
    asked_of_rows = Filters(conditions, Document.text, matches)
    return walk(session, ordered, asked.start, asked.n, (answers, source_of(filters, matches)), asked_of_rows)


def exported(
    session: Session,
    job: Job,
    shown: Shown,
    filters: AnswerFilters,
    wake: Callable[[str], None],
    *,
    has_labeled: bool,
) -> Chosen:
    """The documents of a job that a file is to have."""
    wanted = filters.categories(shown.categories)
    one, several = shown.among(wanted)
    conditions = [*filters.others(shown), *filters.probabilities()]
    if filters.key is not None:
        conditions.append(false() if "\0" in filters.key else Document.key == filters.key)
    within = corpus_scope(session, job.corpus_id) if has_labeled else scope(session, job, filters)
    found = look_up(session, filters.search, within, wake)
    return Chosen(
        conditions,
        [*one, *several],
        [] if wanted is None else labels_of(shown, wanted),
        has_labeled,
        found.document_ids,
        found.matches,
    )


def labels_of(shown: Shown, wanted: set[int | None]) -> list[str]:
    """The labels whose documents are shown as of some categories."""
    known = {each.name: shown.other(each.category) for each in shown.own if each.known}
    return [name for name, row in known.items() if row is not None and row.category in wanted]


def scope(session: Session, job: Job, filters: AnswerFilters) -> Scope:
    """The documents that the job has answered, where somebody searches in them."""
    if filters.search is None:
        return Scope(job.corpus_id, None, None)
    mine = (Answer.job_id == job.id, Answer.edition == job.edition)
    number = select(Answer.document_id).where(*mine).limit(1)
    first = session.scalar(number.order_by(Answer.document_id))
    return Scope(job.corpus_id, first, session.scalar(number.order_by(Answer.document_id.desc())))


def of_key(session: Session, job: Job, key: str) -> Sequence[int]:
    """The documents that have borne a key; a job has answered one of them at most."""
    if "\0" in key:
        return []
    return session.scalars(select(Document.id).where(Document.corpus_id == job.corpus_id, Document.key == key)).all()


def of_few(
    session: Session,
    job: Job,
    document_ids: Sequence[int],
    conditions: Sequence[ColumnElement[bool]],
    asked: Asked,
    matches: Callable[[str], bool] | None,
) -> Walked:
    """The places of those of some documents that meet all conditions, sorted here: all of them are read."""
    columns = (Answer.probability, Answer.document_id, *(() if matches is None else (Document.text,)))
    source, places = source_of(asked.filters, matches), list[Place]()
    for first in range(0, len(document_ids), AT_ONCE):
        is_one = is_answered(job, document_ids[first : first + AT_ONCE])
        rows: Iterable[Any] = session.execute(source(columns).where(*is_one, *conditions))
        for probability, document_id, *text in rows:
            if matches is None or matches(*text):
                places.append(place_of(asked.sort, probability, document_id))
    places.sort(key=lambda place: sort_key(asked.sort, place))
    if asked.start.key is not None:
        start = sort_key(asked.sort, asked.start)
        places = [place for place in places if sort_key(asked.sort, place) > start]
    return Walked(places[: asked.n], places[asked.n - 1] if len(places) >= asked.n else None)


def is_answered(job: Job, document_ids: Sequence[int]) -> list[ColumnElement[bool]]:
    """The conditions that an answer is the job's, of one of some documents: SQLite is to look each of them up."""
    is_mine = [unindexed(Answer.job_id) == job.id, unindexed(Answer.edition) == job.edition]
    return [*is_mine, Answer.document_id.in_(document_ids)]


def source_of(filters: AnswerFilters, matches: Callable[[str], bool] | None) -> Source:
    """What rows that meet all filters are selected from: documents only if something is asked of them."""
    return answers_with_documents if filters.asks_documents or matches is not None else answers


def answers(columns: Sequence[Any]) -> Select[Any]:
    """Columns of answers."""
    return select(*columns).select_from(Answer)


def answers_with_documents(columns: Sequence[Any]) -> Select[Any]:
    """Columns of answers and of their documents."""
    return answers(columns).join(Document, Document.id == Answer.document_id)
