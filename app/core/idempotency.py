"""Requests that a client may repeat: the same key and the same body get the same answer, and do nothing twice.

The row of a request that makes something is written with what it makes, in one transaction. Of two such
requests at once the second waits for the first at the unique constraint, and finds its answer. An upload
takes many transactions: its row is there from the start, without an answer until the upload has ended. Two at once do
no harm: what the one has stored is there, unchanged, for the other.
What has been deleted since is neither made again nor pointed to: the repeat is told so.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, String, cast, delete, select, update
from sqlalchemy.orm import Session

from app.core.db import now, upsert
from app.core.errors import IdempotencyKeyReused, ResourceDeleted
from app.core.tables import Comparison, IdempotentRequest, Job, is_visible, is_visible_comparison, is_visible_job

KEPT_SECONDS = 86_400.0
MAX_FORGOTTEN = 100  # rows at a time: no request waits long for those who prune
RESOURCE = re.compile("/v1/(corpora|jobs|comparisons)/([0-9a-f-]{36})")


class Answer(NamedTuple):
    """What a request was answered; the body is JSON."""

    status: int
    headers: Mapping[str, str]
    body: str
    replayed: bool = False


@dataclass(frozen=True)
class Once:
    """A request under its client's key; without one, each request is one of its own."""

    scope: str  # method and path
    key: str | None
    digest: str = ""  # SHA-256 of the body

    def find(self, session: Session) -> Answer | None:
        """The answer to an earlier request with this key. Raises IdempotencyKeyReused, ResourceDeleted."""
        row = session.scalar(self.rows().where(~is_old()))
        return None if row is None else self.answer_of(session, row)

    def begin(self, session: Session) -> Answer | None:
        """Note the request, or know the answer to an earlier one. Raises IdempotencyKeyReused, ResourceDeleted."""
        if self.key is None:
            return None
        noted = upsert(session, IdempotentRequest).values(scope=self.scope, key=self.key, digest=self.digest)
        noted = noted.on_conflict_do_nothing().returning(IdempotentRequest.id)
        if session.scalar(noted) is not None:
            return None
        given_back = session.scalars(  # by a request that is too old
            update(IdempotentRequest)
            .where(*self.mine(), is_old())
            .values(scope="", key=cast(IdempotentRequest.id, String))
            .returning(IdempotentRequest.id)
            .execution_options(synchronize_session=False)
        ).all()
        if given_back:
            session.execute(noted)
        return self.answer_of(session, session.scalars(self.rows()).one())

    def end(self, session: Session, answer: Answer) -> Answer:
        """Keep the answer; of requests that end at once all get the first one's. Raises IdempotencyKeyReused."""
        if self.key is None:
            return answer
        kept = session.execute(
            update(IdempotentRequest)
            .where(*self.mine(), IdempotentRequest.digest == self.digest, IdempotentRequest.status.is_(None))
            .values(status=answer.status, headers=dict(answer.headers), body=answer.body)
            .returning(IdempotentRequest.id)
            .execution_options(synchronize_session=False)
        ).one_or_none()
        if kept:
            return answer
        row = session.scalars(self.rows()).one_or_none()  # None if it has been forgotten, or withdrawn, meanwhile
        return (None if row is None else self.answer_of(session, row)) or answer

    def withdraw(self, session: Session) -> None:
        """Take back that the request was noted: it was refused, and leaves no key behind."""
        mine = (*self.mine(), IdempotentRequest.digest == self.digest, IdempotentRequest.status.is_(None))
        session.execute(delete(IdempotentRequest).where(*mine))

    def answer_of(self, session: Session, row: IdempotentRequest) -> Answer | None:
        """The answer that was kept, if the body is the same and what it speaks of is there; None if it is to come.

        Raises IdempotencyKeyReused, ResourceDeleted.
        """
        if row.digest != self.digest:
            raise IdempotencyKeyReused(f"the key {self.key!r} was used before with another body; use a new key")
        if row.status is None:
            return None
        kept = Answer(int(row.status), row.headers or {}, row.body or "", replayed=True)
        check_resource(session, kept.headers.get("Location", self.scope))
        return kept

    def rows(self) -> Select[IdempotentRequest]:
        """The query for the request's row, as it is now."""
        return select(IdempotentRequest).where(*self.mine()).execution_options(populate_existing=True)

    def mine(self) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        """The condition of that row."""
        return IdempotentRequest.scope == self.scope, IdempotentRequest.key == self.key


def check_resource(session: Session, path: str) -> None:
    """Raise ResourceDeleted if the corpus, the job or the comparison of a path is gone."""
    found = RESOURCE.search(path)
    if found is None:
        return
    kind, id_ = found.groups()
    name, there = {
        "corpora": ("corpus", is_visible(id_)),
        "jobs": ("job", select(Job).where(Job.id == id_, is_visible_job()).exists()),
        "comparisons": ("comparison", select(Comparison).where(Comparison.id == id_, is_visible_comparison()).exists()),
    }[kind]
    if not session.scalar(select(there)):
        raise ResourceDeleted(f"{name} {id_} has been deleted since; use a new key for a new request")


def is_old() -> ColumnElement[bool]:
    """The condition of rows that are kept no longer."""
    return IdempotentRequest.created_at < now() - KEPT_SECONDS


def forget(session: Session) -> int:
    """Delete some of what is too old, and say how much; rows that somebody else is at are left for the next time."""
    old = select(IdempotentRequest.id).where(is_old()).order_by(IdempotentRequest.created_at).limit(MAX_FORGOTTEN)
    forgotten = session.scalars(old.with_for_update(skip_locked=True)).all()
    session.execute(delete(IdempotentRequest).where(IdempotentRequest.id.in_(forgotten)))
    return len(forgotten)
