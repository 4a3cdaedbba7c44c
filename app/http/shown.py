"""What a request wants to be shown of a job's answer: with decisions, as it is, or under a cut of its tree."""

from typing import Annotated

from fastapi import Depends, Query
from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session, defer

from app.core.tables import Category, Job
from app.review.cuts import find_cut
from app.review.decided import read_decided
from app.review.shown import Own, Shown
from app.review.sizes import count
from app.schemas.common import MAX_INTEGER


class Wanted:
    """How the answer is to be shown."""

    def __init__(
        self,
        categories: Annotated[
            Annotated[int, Field(ge=1, le=MAX_INTEGER)] | None,
            Query(
                description="Answer with so many new categories, coarser or finer than the answer's own, by the tree "
                "over them; decisions are left out then."
            ),
        ] = None,
        decisions: Annotated[
            bool, Query(description="With what people have decided, which `false` leaves out.")
        ] = True,
    ) -> None:
        self.n_new, self.decisions = categories, decisions

    def show(self, session: Session, job: Job, *, counted: bool = False, portrayed: bool = False) -> Shown:
        """The answer as it is wanted; its categories with their sizes, and their portraits, if these are needed.

        Portraits and topics are longer than all else about a category, so without `portrayed` they are not read.
        Raises MalformedRequest.
        """
        later = () if portrayed else (defer(Category.portrait, raiseload=True), defer(Category.topics, raiseload=True))
        own = session.scalars(
            select(Category)
            .where(Category.job_id == job.id, Category.edition == job.edition)
            .order_by(Category.category)
            .options(*later)
        ).all()
        if self.n_new is not None:
            return find_cut(session, job, self.n_new, own)
        decided = read_decided(session, job, own) if self.decisions else None
        if decided is None:
            return Own(own)
        if counted:
            count(session, job, decided)
        return decided


Showing = Annotated[Wanted, Depends(Wanted)]
