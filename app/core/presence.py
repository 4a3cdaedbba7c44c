"""Which workers live, as far as the database knows."""

from typing import NamedTuple

from sqlalchemy import BindParameter, ColumnElement, Double, bindparam, delete, select
from sqlalchemy.orm import Session

from app.core.db import now, upsert
from app.core.settings import Settings
from app.core.tables import Worker

FORGOTTEN_SECONDS = 86_400.0  # a worker unseen for so long is not coming back under its name


class Living(NamedTuple):
    """A worker that lives, as far as is known."""

    note: str | None  # why it takes no work yet
    embedding_model: str | None  # the digest of that with which it makes vectors


def record(session: Session, name: str, note: str | None = None, embedding_model: str | None = None) -> None:
    """Record that the worker lives, perhaps why it takes no work yet, and the digest of its embedding model, if any.

    Forgets those last seen a day ago.
    """
    told = {"seen_at": now(), "note": note, "embedding_model": embedding_model}
    recorded = upsert(session, Worker).values(name=name, **told)
    session.execute(recorded.on_conflict_do_update(index_elements=[Worker.name], set_=told))
    session.execute(delete(Worker).where(Worker.seen_at < now() - FORGOTTEN_SECONDS))


def living(session: Session, settings: Settings) -> list[Living]:
    """The workers seen recently: each says so every `reap_seconds`; two missed heartbeats are tolerated."""
    return [Living(*row) for row in session.execute(LIVING, {"recent": recent_seconds(settings)})]


def recent_seconds(settings: Settings) -> float:
    """For how long a worker that says nothing still counts as one that lives."""
    return 3 * settings.reap_seconds + 1


def was_seen_within(seconds: float | BindParameter[float]) -> ColumnElement[bool]:
    """The condition that a worker was seen within so many seconds."""
    return Worker.seen_at > now() - seconds


LIVING = select(Worker.note, Worker.embedding_model).where(was_seen_within(bindparam("recent", type_=Double())))
