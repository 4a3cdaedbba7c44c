"""What the jobs of a comparison of methods are worth, by the labels that were hidden from them.

Scores are over the documents whose label a job did not see and which it has given a category, as the answer has it:
what people have decided since is left out.
"""

import math
import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.core.kinds import MODELS
from app.core.tables import Answer, Document, Job
from app.review.decided import categories_of
from app.review.shown import Own
from app.schemas.method_comparisons import Estimate
from app.scores import gold
from app.scores.gold import Answered
from app.scores.measures import measure

MAX_KEPT = 10_000  # jobs whose scores this process remembers


class Worth(NamedTuple):
    """The scores of a job; None where one is not defined."""

    nmi: float | None
    ari: float | None
    mean_f1: float | None
    n_categories: int  # that scored documents were given
    n_scored: int
    n_without_answer: int


class KnownWorth:
    """Scores of jobs in their editions, which no longer change."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.kept: OrderedDict[tuple[str, int], Worth] = OrderedDict()

    def of(self, session: Session, job: Job) -> Worth:
        """The scores of a job that has results; the oldest ones may be forgotten for them."""
        key = (job.id, job.edition)
        with self.lock:
            found = self.kept.get(key)
        if found is None:
            found = worth_of(session, job)
            with self.lock:
                self.kept[key] = found
                if len(self.kept) > MAX_KEPT:
                    self.kept.popitem(last=False)
        return found


def worth_of(session: Session, job: Job) -> Worth:
    """Score a job's answers by the labels that its corpus has for the same documents."""
    shown = Own(categories_of(session, job))
    names = gold.names_of(shown)
    number = {category.category: place for place, category in enumerate(gold.known_first(shown))}
    label_number = {name: place for place, name in enumerate(names.names[: names.n_known])}
    of_job = (Answer.job_id == job.id, Answer.edition == job.edition, Document.label.is_not(None))
    counted = (
        select(Answer.category, Document.label, func.count())
        .join(Document, Document.id == Answer.document_id)
        .where(*of_job)
        .group_by(Answer.category, Document.label)
        .order_by(Answer.category, Document.label)
    )
    cells = session.execute(counted).all()
    scored = [(number[category], label, n) for category, label, n in cells if category is not None]
    labels = [label_number.setdefault(str(label), len(label_number)) for _, label, _ in scored]
    sizes = [n for _, _, n in scored]
    n_scored = sum(sizes)
    unknown = np.full(n_scored, np.nan)
    answered = Answered(
        np.repeat(np.array(labels, np.int64), sizes),
        np.repeat(np.array([category for category, _, _ in scored], np.int64), sizes),
        unknown,
        unknown,
        list(label_number),
    )
    measured = measure(answered, names)
    found, scores = measured.categories.answer, measured.scores
    n_documents = sum(n for _, _, n in cells)
    # Groups that were found without labels are of no known category, so that F1 says nothing of them.
    mean_f1 = scores.mean_f1 if MODELS[job.settings["model"]].sees_labels else None
    return Worth(scores.nmi, scores.ari, mean_f1, found.known + found.new, n_scored, n_documents - n_scored)


def estimate(values: Iterable[float | None]) -> Estimate:
    """The mean of those values that are defined, and its standard error."""
    defined = [value for value in values if value is not None]
    n = len(defined)
    if not n:
        return Estimate(mean=None, standard_error=None, n=0)
    mean = math.fsum(defined) / n
    if n == 1:
        return Estimate(mean=mean, standard_error=None, n=1)
    variance = math.fsum((value - mean) ** 2 for value in defined) / (n - 1)
    return Estimate(mean=mean, standard_error=math.sqrt(variance / n), n=n)
