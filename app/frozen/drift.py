"""How many of the documents that a model answers are unlike all that it learned from, day by day."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.db import upsert
from app.core.tables import CategorizedDay
from app.frozen.documents import Answered
from sampler.frozen.answering import NOVEL

SECONDS_A_DAY = 86_400
DEVIATIONS = 3.0  # of a day's share of novel documents from what is expected: chance goes beyond it once in 700 days


class DayCounts(NamedTuple):
    """Documents that were answered."""

    n_documents: int
    n_novel: int
    n_without_evidence: int

    def plus(self, other: "DayCounts") -> "DayCounts":
        """These documents and others."""
        return DayCounts(*map(sum, zip(self, other, strict=True)))


NOTHING = DayCounts(0, 0, 0)


def counted(found: Sequence[Answered]) -> DayCounts:
    """The documents by what the model says of them, whatever threshold a client has chosen."""
    answers = [each.answer for each in found]
    novel = sum(says is not None and says.novelty >= NOVEL for says in answers)
    return DayCounts(len(answers), novel, sum(says is None for says in answers))


def record(session: Session, model_id: str, seconds: float, counts: DayCounts) -> None:
    """Add documents that were answered at this time, in seconds since 1970."""
    key = {"model_id": model_id, "day": int(seconds // SECONDS_A_DAY)}
    made = upsert(session, CategorizedDay).values(**key, **counts._asdict())
    added = {name: getattr(CategorizedDay, name) + getattr(made.excluded, name) for name in DayCounts._fields}
    columns = [CategorizedDay.model_id, CategorizedDay.day]
    session.execute(made.on_conflict_do_update(index_elements=columns, set_=added))


def days_of(session: Session, model_id: str, since: int | None) -> Sequence[CategorizedDay]:
    """The days on which the model was asked, in order."""
    query = select(CategorizedDay).where(CategorizedDay.model_id == model_id).order_by(CategorizedDay.day)
    return session.scalars(query if since is None else query.where(CategorizedDay.day >= since)).all()


def counts_of(day: CategorizedDay) -> DayCounts:
    """What was counted on a day."""
    return DayCounts(day.n_documents, day.n_novel, day.n_without_evidence)


def alarm_level(expected: float, n_documents: int) -> float:
    """The share of novel documents above which a day is unlike the corpus, by the binomial distribution's deviation.

    One more document is let pass, or one alone would be an alarm on a quiet day.
    """
    if n_documents == 0:
        return 1.0
    deviation = math.sqrt(expected * (1.0 - expected) / n_documents)
    return min(expected + DEVIATIONS * deviation + 1.0 / n_documents, 1.0)
