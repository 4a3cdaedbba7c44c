"""Where documents come from: whether a field says it, and the sources of each category."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from app.core.errors import MalformedRequest, NoSourceField
from app.core.sources import MAX_SOURCES, MAX_VALUE, SOURCE_FIELD
from app.core.tables import IS_CURRENT, Category, Document, Job
from app.http.document_filters import field_text
from app.http.grouping import MAX_VALUES, Cell, counted, documents, no_such_field, value_cells
from app.review.shown import Shown
from app.schemas.sources import CategorySources, SourceCount, SourcesOut

SAMPLED = 10_000  # documents whose field is looked at before a job is queued
FEWEST_OF_FEW, FEWEST_OF_MANY = 2, 20  # documents a source, on average; of more sources than are told apart
NEARLY_ALL, LARGE = 0.9, 2 / 3  # share of a category in one source; of all documents, with which that is no wonder
FEWEST_TO_JUDGE = 5  # documents of a category

Counts = Counter[tuple[str | None, int | None]]  # documents by source and category


def check_source_field(session: Session, corpus_id: str, name: str) -> None:
    """Raise NoSourceField if no document has the field, or if hardly any share a value of it.

    Of a large corpus some documents are inspected, from many places.
    """
    current = (Document.corpus_id == corpus_id, IS_CURRENT)
    n_documents = session.scalar(select(func.count()).where(*current)) or 0
    value = func.substr(field_text(name), 1, MAX_VALUE)
    some = select(value.label("value")).where(*current, Document.id % max(n_documents // SAMPLED, 1) == 0).subquery()
    counted = select(func.count(some.c.value.distinct()), func.count(some.c.value))
    n_values, n_with = session.execute(counted).one()
    if n_with == 0:
        raise NoSourceField(f"no document of corpus {corpus_id} has a field {name[:100]!r}")
    if n_with < n_values * (FEWEST_OF_FEW if n_values <= MAX_SOURCES else FEWEST_OF_MANY):
        raise NoSourceField(
            f"the field {name[:100]!r} has {n_values:,} different values in {n_with:,} documents: a source is shared "
            "by many documents"
        )


def source_table(session: Session, job: Job, shown: Shown, name: str) -> SourcesOut:
    """The sources of a job's categories. Raises MalformedRequest if no document has the field, or too many values."""
    of_each = [documents(job, shown, field_text(name), labeled=labeled) for labeled in (False, True)]
    answered, both = (
        counts(cells_of(session, counted(texts, func.substr(texts.c.value, 1, MAX_VALUE)), name)) for texts in of_each
    )
    if not any(source is not None for source, _ in both):
        raise MalformedRequest(no_such_field(session, job, name))
    of_all = rows(by_source(both.items()), by_source(answered.items()))
    large = {row.source for row in of_all if row.share > LARGE}
    categories = [category_sources(category, both, answered, large) for category in shown.categories]
    return SourcesOut(
        field=name,
        used=job.settings.get(SOURCE_FIELD) == name,
        documents=both.total(),
        without_category=sum(n for (_, category), n in both.items() if category is None),
        sources=of_all,
        categories=[category for category in categories if category.documents],
    )


def cells_of(session: Session, query: Select[Any], name: str) -> Sequence[Cell]:
    """The counts of each value and category. Raises MalformedRequest."""
    cells = value_cells(session, query)
    if any(cell.kind == "other" for cell in cells):
        raise MalformedRequest(
            f"the field {name[:100]!r} has more than {MAX_VALUES} different values: a source is shared by many "
            "documents"
        )
    return cells


def counts(cells: Iterable[Cell]) -> Counts:
    """The cells by source and category."""
    found: Counts = Counter()
    for cell in cells:
        found[cell.value, cell.category] += cell.documents
    return found


def by_source(items: Iterable[tuple[tuple[str | None, int | None], int]]) -> Counter[str | None]:
    """Documents of each source, whatever the category."""
    found: Counter[str | None] = Counter()
    for (source, _), n in items:
        found[source] += n
    return found


def rows(both: Counter[str | None], answered: Counter[str | None]) -> list[SourceCount]:
    """The sources of some documents, the largest first; those of none last."""
    n_all = max(both.total(), 1)
    return [
        SourceCount(source=s, documents=n, labeled=n - answered[s], answered=answered[s], share=n / n_all)
        for s, n in sorted(both.items(), key=lambda item: (item[0] is None, -item[1], item[0] or ""))
        if n
    ]


def category_sources(category: Category, both: Counts, answered: Counts, large: set[str | None]) -> CategorySources:
    """The sources of a category; `large` are those that most documents of the job are from."""

    def own(found: Counts) -> Counter[str | None]:
        return by_source(item for item in found.items() if item[0][1] == category.category)

    sources = rows(own(both), own(answered))
    n_documents, n_answered = (sum(getattr(each, name) for each in sources) for name in ("documents", "answered"))
    largest = max((each for each in sources if each.source is not None), key=lambda each: each.share, default=None)
    share = 0.0 if largest is None else largest.share
    is_of_one = largest is not None and share >= NEARLY_ALL and largest.source not in large
    return CategorySources(
        category=category.category,
        name=category.name,
        known=category.known,
        documents=n_documents,
        labeled=n_documents - n_answered,
        answered=n_answered,
        sources=sources,
        largest_share=share,
        one_source=is_of_one and not category.known and n_documents >= FEWEST_TO_JUDGE,
    )
