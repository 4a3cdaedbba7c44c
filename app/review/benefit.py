"""What a round of decisions was worth: how many corrected the answer, and how unsure it is before and after."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session, aliased

from app.core.certainty import UNSURE
from app.core.tables import Answer, Category, Job
from app.review.decided import read_decided
from app.review.documents import with_answers


class Benefit(NamedTuple):
    """Of decisions about documents without a label, and of documents that both jobs have answered."""

    confirmed: int  # documents that somebody said to be of the category that the answer had
    corrected: int  # those said to be of another one, or of none
    unsure_before: int
    unsure_now: int


def benefit_of(session: Session, before: Job, now: Job, own: Sequence[Category]) -> Benefit:
    """What the decisions about a job were worth to the one that continues it; `own` are the categories of before."""
    confirmed = corrected = 0
    decided = read_decided(session, before, own)
    if decided is not None:
        rows = with_answers(session, before, sorted(decided.moved))
        same = [decided.of_document(row.id, row) is decided.at(row) for row in rows if row.label is None]
        confirmed, corrected = sum(same), len(same) - sum(same)
    first, second = aliased(Answer), aliased(Answer)
    was, is_now = (func.sum(case((answer.probability < UNSURE, 1), else_=0)) for answer in (first, second))
    both = (
        select(was, is_now)
        .join(second, second.document_id == first.document_id)
        .where(first.job_id == before.id, first.edition == before.edition)
        .where(second.job_id == now.id, second.edition == now.edition)
    )
    unsure_before, unsure_now = session.execute(both).one()
    return Benefit(confirmed, corrected, unsure_before or 0, unsure_now or 0)
