"""Decisions about the answer of a job, as rows: which of them are in force, and the names that they gave.

Each is an event, and none is ever changed. An `undo` takes another one back, and may be undone itself.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.core.tables import DecidedDocument, Decision


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


def in_force(decisions: Iterable[Decision]) -> list[Decision]:
    """The decisions that count, in their order: none that another one in force has undone, and no `undo`."""
    undone: set[int] = set()
    found = []
    for decision in sorted(decisions, key=lambda decision: -decision.number):
        if decision.number in undone:
            continue
        if decision.kind == DecisionKind.UNDO:
            undone.add(decision.body["decision"])
        else:
            found.append(decision)
    return found[::-1]


def given_names(decisions: Iterable[Decision]) -> dict[str, str]:
    """The names that decisions in force gave to categories, by their short ids."""
    return {each.body["category"]: each.body["name"] for each in decisions if each.body.get("name")}


def decided_documents(session: Session, job_id: str, decisions: Iterable[Decision]) -> dict[int, DecidedDocument]:
    """Of each document that a decision in force is about, the last such one."""
    numbers = {decision.number for decision in decisions}
    rows = select(DecidedDocument).where(DecidedDocument.job_id == job_id).order_by(DecidedDocument.number)
    return {row.document_id: row for row in session.scalars(rows) if row.number in numbers}
