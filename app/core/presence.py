"""Which workers live, as far as the database knows."""

from collections.abc import Sequence

from sqlalchemy import BindParameter, ColumnElement, delete, select
from sqlalchemy.orm import Session

from app.core.db import now, upsert
from app.core.settings import Settings
from app.core.tables import Worker

FORGOTTEN_SECONDS = 86_400.0  # a worker unseen for so long is not coming back under its name


def record(session: Session, name: str, note: str | None = None, embedding_model: str | None = None) -> None:
    """Record that the worker lives, perhaps why it takes no work yet, and the digest of its embedding model, if any.

    Forgets those last seen a day ago.
    """
    told = {"seen_at": now(), "note": note, "embedding_model": embedding_model}
    recorded = upsert(session, Worker).values(name=name, **told)
    session.execute(recorded.on_conflict_do_update(index_elements=[Worker.name], set_=told))
    session.execute(delete(Worker).where(Worker.seen_at < now() - FORGOTTEN_SECONDS))


def alive(session: Session, settings: Settings) -> int:
    """How many workers were seen recently: each says so every `reap_seconds`; two missed heartbeats are tolerated."""
    return len(notes(session, settings))


def notes(session: Session, settings: Settings) -> Sequence[str | None]:
    """Of each worker seen recently, why it takes no work yet; None for those that do."""
    return session.scalars(select(Worker.note).where(was_seen_recently(settings))).all()


def embedding_models(session: Session, settings: Settings) -> set[str]:
    """The digests of the embedding models that workers seen recently have."""
    found = session.scalars(select(Worker.embedding_model).where(was_seen_recently(settings)).distinct())
    return {digest for digest in found if digest is not None}


def was_seen_recently(settings: Settings) -> ColumnElement[bool]:
    """The condition that a worker lives, as far as is known."""
    return was_seen_within(recent_seconds(settings))


def recent_seconds(settings: Settings) -> float:
    """For how long a worker that says nothing still counts as one that lives."""
    return 3 * settings.reap_seconds + 1


def was_seen_within(seconds: float | BindParameter[float]) -> ColumnElement[bool]:
    """The condition that a worker was seen within so many seconds."""
    return Worker.seen_at > now() - seconds
