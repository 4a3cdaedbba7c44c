"""Which workers live, as far as the database knows."""

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app.db import now, upsert
from app.models import Worker
from app.settings import Settings

FORGOTTEN_SECONDS = 86_400.0  # a worker unseen for so long is not coming back under its name


def seen(session: Session, name: str) -> None:
    """Note that the worker lives, and forget those that were last seen a day ago."""
    noted = upsert(session, Worker).values(name=name, seen_at=now())
    session.execute(noted.on_conflict_do_update(index_elements=[Worker.name], set_={"seen_at": now()}))
    session.execute(delete(Worker).where(Worker.seen_at < now() - FORGOTTEN_SECONDS))


def alive(session: Session, settings: Settings) -> int:
    """How many workers were seen of late; each says so every `reap_seconds`, and may be late twice."""
    since = now() - (3 * settings.reap_seconds + 1)
    return session.scalar(select(func.count()).select_from(Worker).where(Worker.seen_at > since)) or 0
