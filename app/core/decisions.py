"""Decisions about the answer of a job, as rows: which of them are in force, and the names that they gave.

Each is an event, and none is ever changed. An `undo` takes another one back, and may be undone itself.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.core.tables import DecidedDocument, Decision

SET_ASIDE = "somebody decided that it is of none of the categories"  # why a document has no category


class DecisionKind(StrEnum):
    """What can be decided."""

    NAME = "name"  # give a category another name
    MERGE = "merge"  # several categories are one
    SPLIT = "split"  # a category is several
    PROMOTE = "promote"  # a new category is a known one from now on
    DISSOLVE = "dissolve"  # there is no such category: its documents are of their next likely ones
    PIN = "pin"  # documents are of a category
    NONE = "none"  # documents are of none
    ACCEPT = "accept"  # labeled documents are of the category that the audit suggests
    UNDO = "undo"  # another decision does not count any more


def decisions_of(session: Session, job_id: str) -> Sequence[Decision]:
    """All decisions about a job, in their order."""
    return session.scalars(select(Decision).where(Decision.job_id == job_id).order_by(Decision.number)).all()


def n_decisions(session: Session, job_id: str) -> int:
    """How many decisions there are about a job: the number of the last one."""
    return session.scalar(select(func.count()).select_from(Decision).where(Decision.job_id == job_id)) or 0


def undone(decisions: Iterable[Decision]) -> set[int]:
    """The numbers of decisions that an `undo` has taken back which was not undone itself."""
    found: set[int] = set()
    for decision in sorted(decisions, key=lambda decision: -decision.number):
        if decision.kind == DecisionKind.UNDO and decision.number not in found:
            found.add(decision.body["decision"])
    return found


def in_force(decisions: Sequence[Decision]) -> list[Decision]:
    """The decisions that count, in their order; an `undo` is none of them."""
    gone = undone(decisions)
    return [each for each in decisions if each.kind != DecisionKind.UNDO and each.number not in gone]


def given_names(decisions: Iterable[Decision]) -> dict[str, str]:
    """The names that `name` decisions in force gave to categories, by their short ids."""
    return {each.body["category"]: each.body["name"] for each in decisions if each.kind == DecisionKind.NAME}


def decided_documents(session: Session, job_id: str) -> Sequence[DecidedDocument]:
    """What decisions about a job say of documents, in their order."""
    rows = select(DecidedDocument).where(DecidedDocument.job_id == job_id)
    return session.scalars(rows.order_by(DecidedDocument.number, DecidedDocument.document_id)).all()
