"""Descriptions of categories, as the versions of a corpus have them."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.orm import Session

from app.core.tables import CategoryDescription

MAX_DESCRIPTIONS = 1_000  # of a corpus
MAX_TEXT = 2_000  # characters of one


def is_in_version(version: Any) -> ColumnElement[bool]:
    """The condition, in SQL, that a version of its corpus has a description."""
    return and_(CategoryDescription.version <= version, CategoryDescription.until > version)


def descriptions_of(session: Session, corpus_id: str, version: int) -> Sequence[CategoryDescription]:
    """The descriptions that a version of a corpus has, in the order of their names, by code points."""
    mine = (CategoryDescription.corpus_id == corpus_id, is_in_version(version))
    return sorted(session.scalars(select(CategoryDescription).where(*mine)), key=lambda each: each.name)
