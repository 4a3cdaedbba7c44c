"""What the answers with each of several numbers of categories are worth against gold labels."""

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.tables import Answer, Job, NumberAnswer
from app.schemas.scores import NumberScore
from app.scores.gold import Merged
from sampler.archive import unpack
from sampler.corpus import NO_CATEGORY


def score_numbers(session: Session, job: Job, merged: Merged, n_known: int) -> list[NumberScore] | None:
    """The scores with each number over the documents that are scored; None for a job that was not asked for several."""
    from sampler.answers import metrics

    mine = (NumberAnswer.job_id == job.id, NumberAnswer.edition == job.edition)
    columns = (NumberAnswer.n_categories, NumberAnswer.data)
    rows = session.execute(select(*columns).where(*mine).order_by(NumberAnswer.n_categories)).all()
    if not rows:
        return None
    answers = select(Answer.document_id).where(Answer.job_id == job.id, Answer.edition == job.edition)
    place = np.searchsorted(np.array(session.scalars(answers.order_by(Answer.document_id)).all()), merged.scored)
    found = []
    for number, data in rows:
        category = unpack(data)[1]["category"][place].astype(np.int64)
        is_answered = category != NO_CATEGORY
        gold, category = merged.answered.gold[is_answered], category[is_answered]
        is_defined = gold.size > 0
        found.append(
            NumberScore(
                n_categories=number,
                nmi=metrics.nmi(gold, category) if is_defined else None,
                ari=metrics.ari(gold, category) if is_defined else None,
                mean_f1=metrics.mean_f1(gold, category, np.arange(n_known)) if is_defined and n_known else None,
            )
        )
    return found
