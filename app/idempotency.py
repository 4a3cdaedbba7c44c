"""Requests that a client may repeat: the same key and the same body get the same answer, and do nothing twice.

The row of a request that makes something is written with what it makes, in one transaction. Of two such
requests at once the second waits for the first at the unique constraint, and finds its answer. An upload
takes many transactions: its row is there from the start, without an answer until the upload has ended.
"""

import hashlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Select, delete, select, update
from sqlalchemy.orm import Session

from app.db import now, upsert
from app.errors import IdempotencyKeyReused
from app.models import IdempotentRequest

KEPT_SECONDS = 86_400.0


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
    digest: str = ""  # SHA-256 of the body; an upload knows it at its end only

    def find(self, session: Session) -> Answer | None:
        """The answer to an earlier request with this key. Raises IdempotencyKeyReused."""
        row = session.scalar(self.rows().where(IdempotentRequest.created_at > now() - KEPT_SECONDS))
        return None if row is None or row.digest is None else self.answer_of(row)

    def begin(self, session: Session) -> Answer | None:
        """Note the request, or know the answer to an earlier one. Raises IdempotencyKeyReused."""
        if self.key is None:
            return None
        row = self.open(session)
        return None if row.digest is None else self.answer_of(row)

    def open(self, session: Session) -> IdempotentRequest:
        """The request's row, made unless an earlier request has made it; what is too old is forgotten."""
        forget(session)
        noted = upsert(session, IdempotentRequest).values(scope=self.scope, key=self.key)
        session.execute(noted.on_conflict_do_nothing())
        return session.scalars(self.rows()).one()

    def end(self, session: Session, answer: Answer) -> Answer:
        """Keep the answer; of requests that end at once all get the first one's. Raises IdempotencyKeyReused."""
        if self.key is None:
            return answer
        kept = session.execute(
            update(IdempotentRequest)
            .where(
                IdempotentRequest.scope == self.scope,
                IdempotentRequest.key == self.key,
                IdempotentRequest.digest.is_(None),
            )
            .values(digest=self.digest, status=answer.status, headers=dict(answer.headers), body=answer.body)
            .returning(IdempotentRequest.id)
            .execution_options(synchronize_session=False)
        ).one_or_none()
        return answer if kept else self.answer_of(session.scalars(self.rows()).one())

    def answer_of(self, row: IdempotentRequest) -> Answer:
        """The answer that was kept, if the body is the same. Raises IdempotencyKeyReused."""
        if row.digest != self.digest:
            raise IdempotencyKeyReused(f"the key {self.key!r} came before with another body: use a new key")
        return Answer(int(row.status or 0), row.headers or {}, row.body or "", replayed=True)

    def rows(self) -> Select[IdempotentRequest]:
        """The query for the request's row, as it is now."""
        mine = (IdempotentRequest.scope == self.scope, IdempotentRequest.key == self.key)
        return select(IdempotentRequest).where(*mine).execution_options(populate_existing=True)


def forget(session: Session) -> None:
    """Delete what is too old; rows that somebody else is at are left to the next one."""
    old = select(IdempotentRequest.id).where(IdempotentRequest.created_at < now() - KEPT_SECONDS)
    ids = old.order_by(IdempotentRequest.id).with_for_update(skip_locked=True)
    session.execute(delete(IdempotentRequest).where(IdempotentRequest.id.in_(ids)))


def touch(session: Session, request_id: int) -> bool:
    """Lock the row of an upload and count its day from now; False if the upload has ended."""
    touched = session.execute(
        update(IdempotentRequest)
        .where(IdempotentRequest.id == request_id, IdempotentRequest.digest.is_(None))
        .values(created_at=now())
        .returning(IdempotentRequest.id)
        .execution_options(synchronize_session=False)
    )
    return touched.one_or_none() is not None


class Hashed:
    """A stream of bytes that knows the SHA-256 of what has passed."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self.chunks = chunks
        self.hash = hashlib.sha256()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self.chunks:
            self.hash.update(chunk)
            yield chunk

    def digest(self) -> str:
        """In hex."""
        return self.hash.hexdigest()
