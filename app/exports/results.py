"""The categories and the trace of a job as tables."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sqlalchemy import select, tuple_
from sqlalchemy.orm import Session, sessionmaker

from app.core.tables import Category, Draw
from app.exports.lots import lots
from app.exports.tables import Column, Kind, Table

CATEGORY_COLUMNS: dict[str, Kind] = {
    "category": "integer",
    "id": "text",
    "name": "text",
    "known": "boolean",
    "documents": "integer",
    "documents_low": "integer",
    "documents_high": "integer",
    "labeled": "integer",
    "share": "number",
    "stability": "number",
    "top_words": "text",
    "words_by_lift": "text",
    "nearest": "text",
    "nearest_distance": "number",
    "described": "text",
    "described_probability": "number",
}
TRACE_COLUMNS: dict[str, Kind] = {
    "chain": "integer",
    "sweep": "integer",
    "n_categories": "integer",
    "n_new": "integer",
    "n_new_with_documents": "integer",
    "n_tables": "integer",
    "alpha": "number",
    "gamma": "number",
    "log_joint": "number",
    "setting": "integer",
}


def columns_of(kinds: dict[str, Kind]) -> list[Column]:
    """Columns by their names and kinds."""
    return [Column(name, kind) for name, kind in kinds.items()]


def categories_table(
    job_id: str, categories: Sequence[Category], named: Callable[[int], Category | None]
) -> Table:  # fmt: skip
    """The categories of a job, each with its words in two cells. `named` finds one of the answer's by its index."""
    rows = [category_values(category, named) for category in categories]
    return Table(f"categories-{job_id[:8]}", columns_of(CATEGORY_COLUMNS), lambda: iter([rows]))


def category_values(category: Category, named: Callable[[int], Category | None]) -> list[Any]:
    """The cells of a category; those of its portrait are empty if it has none."""
    portrait = category.portrait or {"size_interval_90": [None, None], "by_lift": None, "nearest": None}
    nearest = portrait["nearest"]
    other = None if nearest is None else named(nearest["category"])
    described = portrait.get("described") or {"name": None, "probability": None}
    return [
        category.category,
        category.short_id,
        category.name,
        category.known,
        category.n_documents,
        *(portrait["size_interval_90"] or (None, None)),
        category.n_labeled,
        category.share,
        category.stability,
        words_of(category.top_words),
        None if portrait["by_lift"] is None else words_of(portrait["by_lift"]),
        other and other.name,
        other and nearest["distance"],
        described["name"],
        described["probability"],
    ]


def words_of(words: Sequence[dict[str, Any]]) -> str:
    """Words in one cell."""
    return ", ".join(word["word"] for word in words)


def trace_table(readers: sessionmaker[Session], job_id: str, check: Callable[[Session], Any]) -> Table:
    """The draws of a job by chain and sweep; of a job that runs, those that are saved by then."""
    columns = [getattr(Draw, name) for name in TRACE_COLUMNS]
    query = select(*columns).where(Draw.job_id == job_id).order_by(Draw.chain, Draw.sweep)
    place = tuple_(Draw.chain, Draw.sweep)

    def rows() -> Iterator[list[Any]]:
        return lots(readers, check, query, lambda row: (row.chain, row.sweep), place.__gt__)

    return Table(f"trace-{job_id[:8]}", columns_of(TRACE_COLUMNS), rows)
