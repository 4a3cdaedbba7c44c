"""Categories as HTTP reports them, with what their portraits say."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session, aliased

from app.core.splits import seen_label
from app.core.tables import Answer, Category, Document, Job, is_part_of
from app.schemas.category_detail import PortraitDocument
from app.schemas.portraits import CategoryWords, MapPlace, Nearest
from app.schemas.results import CategoryOut, RunnerUp

SHOWN = 500  # characters of a text

Lookup = Callable[[int], Category | None]


def category_out(category: Category, named: Lookup, origin: list[int] | None = None) -> CategoryOut:
    """A category as HTTP reports it. `named` finds the category under which one of the answer's is reported.

    Nothing is checked: rows hold what workers have concluded, and to check hundreds takes longer than to read them.
    """
    return CategoryOut.model_construct(**category_fields(category, named), origin=origin)


def category_fields(category: Category, named: Lookup) -> dict[str, Any]:
    """The fields of a category; what its portrait would say is null if it has none."""
    portrait = category.portrait
    return {
        "category": category.category,
        "id": category.short_id,
        "name": category.name,
        "known": category.known,
        "documents": category.n_documents,
        "size_interval_90": portrait and pair(portrait["size_interval_90"]),
        "labeled": category.n_labeled,
        "share": category.share,
        "top_words": category.top_words,
        "words": portrait and CategoryWords(by_probability=portrait["by_probability"], by_lift=portrait["by_lift"]),
        "nearest": nearest_out(portrait, named),
        "place": place_out(portrait),
        "stability": category.stability,
        "topics": category.topics,
        "described": portrait and portrait.get("described"),
    }


def nearest_out(portrait: dict[str, Any] | None, named: Lookup) -> Nearest | None:
    """The nearest category, unless a cut has it no longer."""
    if portrait is None or portrait["nearest"] is None:
        return None
    other = named(portrait["nearest"]["category"])
    if other is None:
        return None
    told: dict[str, Any] = {**portrait["nearest"], "category": other.category, "name": other.name}
    return cast(Nearest, told)


def pair(interval: list[int] | None) -> tuple[int, int] | None:
    """An interval of JSON."""
    return None if interval is None else (interval[0], interval[1])


def place_out(portrait: dict[str, Any] | None) -> MapPlace | None:
    """Where a category stands on the map, if its job made one."""
    place = None if portrait is None else portrait.get("place")
    return None if place is None else MapPlace(x=place[0], y=place[1])


def portrait_documents(session: Session, job: Job, keys: Sequence[str]) -> dict[str, PortraitDocument]:
    """The documents with these keys in the job's version of its corpus, by key; those that are gone are not there."""
    second = aliased(Category)
    answer = and_(Answer.job_id == job.id, Answer.edition == job.edition, Answer.document_id == Document.id)
    runner_up = and_(second.job_id == job.id, second.edition == job.edition, second.category == Answer.runner_up)
    query = (
        select(
            Document.key,
            func.substr(Document.text, 1, SHOWN).label("text"),
            (func.length(Document.text) > SHOWN).label("shortened"),
            seen_label(job).label("label"),
            Document.erased,
            Answer.probability,
            Answer.runner_up_probability,
            second.category,
            second.name,
        )
        .outerjoin(Answer, answer)
        .outerjoin(second, runner_up)
        .where(Document.corpus_id == job.corpus_id, is_part_of(job.corpus_version), Document.key.in_(keys))
    )
    return {row.key: document_out(row) for row in session.execute(query)}


def document_out(row: Any) -> PortraitDocument:
    """A document of a portrait as HTTP reports it."""
    second = None
    if row.name is not None and row.runner_up_probability is not None:
        second = RunnerUp(category=row.category, name=row.name, probability=row.runner_up_probability)
    return PortraitDocument(
        key=row.key,
        text=row.text,
        shortened=bool(row.shortened),
        label=row.label,
        probability=row.probability,
        runner_up=second,
        erased=row.erased,
    )
