"""Categories of a job counted by a field of its documents, in SQL."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import (
    CTE,
    BigInteger,
    ColumnElement,
    Select,
    Text,
    and_,
    case,
    cast,
    func,
    literal,
    null,
    select,
    union_all,
)
from sqlalchemy.orm import Session

from app.core.errors import MalformedRequest
from app.core.splits import seen_label
from app.core.tables import Answer, Category, Document, Job, is_part_of
from app.http.document_filters import field_text
from app.http.periods import DAYS, MAX_DATE, MILLISECONDS_A_DAY, SECONDS_A_DAY, period_of
from app.review.shown import Shown
from app.schemas.groups import GroupCategory, GroupOut, Period

MAX_VALUES = 100  # of a field that are told apart
MAX_PERIODS = 4_000  # eleven years of days
MAX_VALUE = 200  # characters
DIGITS = "0123456789"
SAMPLE = 100  # documents whose fields are named in a refusal


class Cell(NamedTuple):
    """Documents of one group and category."""

    kind: str
    value: str | None
    category: int | None
    documents: int


def count_groups(
    session: Session, job: Job, shown: Shown, by: str, period: Period, *, labeled: bool
) -> list[GroupOut]:  # fmt: skip
    """The categories of a job's documents by a field, or by the period in it. Raises MalformedRequest.

    Labeled documents, if they count, are of the category that their label names.
    """
    texts = documents(job, shown, field_text(by), labeled=labeled)
    if period == "none":
        cells = value_cells(session, counted(texts, func.substr(texts.c.value, 1, MAX_VALUE)))
        is_found = any(cell.kind == "value" for cell in cells)
    else:
        cells = period_cells(session, counted(texts, shortened_date(texts.c.value)), period)
        is_found = any(cell.kind != "missing" for cell in cells)
    if not is_found:
        raise MalformedRequest(no_such_field(session, job, by))
    if period != "none":
        check_periods(cells, by, period)
    return groups(cells, {category.category: category for category in shown.categories}, by_size=period == "none")


def shortened_date(text: ColumnElement[str]) -> ColumnElement[str]:
    """What `period_of` needs of a value: as little as may be, so that a million times are a few thousand groups."""
    is_whole = and_(func.ltrim(text, DIGITS) == "", func.length(text).between(9, 13))
    units = case((func.length(text) >= 12, MILLISECONDS_A_DAY), else_=SECONDS_A_DAY)
    days = cast(cast(text, BigInteger) // units, Text)
    return case(
        (text.like("____-__-__%"), func.substr(text, 1, 11)),
        (is_whole, literal(DAYS).concat(days)),
        else_=func.substr(func.ltrim(text), 1, MAX_DATE),
    )


def documents(job: Job, shown: Shown, value: ColumnElement[str], *, labeled: bool) -> CTE:
    """The value and category of each document; made once, for reading a value out of JSON is most of the work.

    A label names a category as the corpus has it: that counts in what has all documents of that one now.
    """
    of_job = (Answer.job_id == job.id, Answer.edition == job.edition)
    rows: Any = (
        select(value.label("value"), shown.column().label("category"))
        .join(Document, Document.id == Answer.document_id)
        .where(*of_job)
    )
    if labeled:
        named = and_(
            Category.job_id == job.id,
            Category.edition == job.edition,
            Category.known.is_(True),
            Category.name == seen_label(job),
        )
        now = {category.category: shown.other(category.category) for category in shown.own if category.known}
        whens = [(Category.category == own, row.category) for own, row in now.items() if row is not None]
        of_labeled = (
            select(value.label("value"), case(*whens, else_=None) if whens else Category.category)
            .join(Category, named)
            .where(Document.corpus_id == job.corpus_id, is_part_of(job.corpus_version))
        )
        rows = union_all(rows, of_labeled)
    found: CTE = rows.cte("values_of_documents").prefix_with("MATERIALIZED")
    return found


def counted(documents: CTE, value: ColumnElement[str]) -> Select[Any]:
    """How many documents have each value and category."""
    category = documents.c.category
    n_documents = func.count().label("documents")
    return select(value.label("value"), category, n_documents).group_by(value, category)


def value_cells(session: Session, counts: Select[Any]) -> list[Cell]:
    """The cells of the most frequent values, of all others together, and of the documents without a value."""
    cells = counts.cte("cells")
    n_documents = func.sum(cells.c.documents)
    largest = (
        select(cells.c.value)
        .where(cells.c.value.is_not(None))
        .group_by(cells.c.value)
        .order_by(n_documents.desc(), cells.c.value)
        .limit(MAX_VALUES)
        .cte("largest")
    )
    is_missing = case((cells.c.value.is_(None), 1), else_=0)
    grouped: Select[Any] = (
        select(largest.c.value, is_missing, cells.c.category, n_documents)
        .select_from(cells)
        .outerjoin(largest, largest.c.value == cells.c.value)
        .group_by(largest.c.value, is_missing, cells.c.category)
    )
    return [
        Cell("value" if value is not None else "missing" if is_missing else "other", value, category, int(n))
        for value, is_missing, category, n in session.execute(grouped)
    ]


def period_cells(session: Session, counts: Select[Any], period: Period) -> list[Cell]:
    """The cells of the periods, of what is not a date, and of the documents without a value."""
    read = lru_cache(2**16)(period_of)
    found: Counter[tuple[str, str | None, int | None]] = Counter()
    for value, category, n in session.execute(counts.execution_options(yield_per=10_000)):
        at = None if value is None else read(value, period)
        kind = "missing" if value is None else "unreadable" if at is None else "value"
        found[kind, at, category] += n
    return [Cell(*cell, n) for cell, n in found.items()]


def check_periods(cells: Sequence[Cell], by: str, period: Period) -> None:
    """Raise MalformedRequest if no value is a date, or if there are too many periods."""
    n_periods = len({cell.value for cell in cells if cell.kind == "value"})
    if n_periods == 0:
        raise MalformedRequest(
            f"no value of the field {by[:100]!r} is a date: write dates as 2024-03-01 or 2024-03-01T10:30, as the "
            "header of a mail does, or as seconds since 1970; or group by its values, with period=none"
        )
    if n_periods > MAX_PERIODS:
        raise MalformedRequest(f"the field {by[:100]!r} has {n_periods} {period}s: take a longer period")


def no_such_field(session: Session, job: Job, by: str) -> str:
    """That no document has a field, and which ones there are."""
    mine = (Document.corpus_id == job.corpus_id, is_part_of(job.corpus_version), Document.fields.is_not(null()))
    some = session.scalars(select(Document.fields).where(*mine).order_by(Document.id).limit(SAMPLE))
    names = list(dict.fromkeys(name for fields in some for name in fields or {}))
    there = f"there are {', '.join(names[:20])}" if names else "they have no fields"
    return f"no document has a field {by[:100]!r}: {there}"


def groups(cells: Iterable[Cell], categories: Mapping[int, Category], *, by_size: bool) -> list[GroupOut]:
    """The groups that cells are of: values by falling size or in their order, and then what is no value."""
    held: dict[tuple[str, str | None], Counter[int | None]] = defaultdict(Counter)
    for cell in cells:
        held[cell.kind, cell.value][cell.category] += cell.documents

    def place(item: tuple[tuple[str, str | None], Counter[int | None]]) -> tuple[int, int, str]:
        (kind, value), counts = item
        order = ("value", "other", "missing", "unreadable").index(kind)
        return order, -counts.total() if by_size else 0, value or ""

    return [group(kind, value, counts, categories) for (kind, value), counts in sorted(held.items(), key=place)]


def group(kind: Any, value: str | None, counts: Counter[int | None], categories: Mapping[int, Category]) -> GroupOut:
    """A group as HTTP reports it."""
    n_without = counts[None]
    n_with = counts.total() - n_without
    shown = [
        GroupCategory(
            category=index,
            name=categories[index].name,
            known=categories[index].known,
            documents=n,
            share=n / n_with,
        )
        for index, n in sorted((index, n) for index, n in counts.items() if index is not None)
    ]
    n_known = sum(each["documents"] for each in shown if each["known"])
    return GroupOut.model_construct(  # of tens of thousands of counts, which take longer to check than to count
        kind=kind,
        value=value,
        documents=n_with + n_without,
        known=n_known,
        new=n_with - n_known,
        without_category=n_without,
        categories=shown,
    )
