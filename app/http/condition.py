"""Whether the service is well, part by part: its schema, its broker, its workers and its disk."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.broker import queue
from app.core import disk, ends, presence
from app.core.db import Database, is_among, now
from app.core.embedding_models import embedding_digest, waits_for
from app.core.kinds import UnitKind, vectors_made_by
from app.core.presence import Living
from app.core.schema import head_revision, schema_revision
from app.core.settings import Settings
from app.core.tables import IS_AT_HAND, Job, Unit

BROKER_SECONDS = 5.0  # for which what is known of the broker holds
NO_WORKER = "no worker is running: start one with `newfound worker`"
NO_BROKER = "the broker does not answer: jobs wait until it does"
BUSY = "all workers are busy with other jobs: this one waits for its turn"

# Of many jobs at once; put together once, since a list of jobs asks for a hundred.
HELD = select(Unit.job_id).where(is_among(Unit.job_id, "job_ids"), Unit.status == "running", Unit.lease_until > now())
WAITING = select(Job.id, Job.continues).where(is_among(Job.id, "job_ids"), ends.waits())
READY = (
    select(Job.id, Job.settings)
    .join(Unit, Unit.job_id == Job.id)
    .where(is_among(Job.id, "job_ids"), Unit.kind == UnitKind.VECTORS, Unit.status == "ready")
)


class Broker:
    """Whether the broker answers, as it was seen lately.

    A broker that is away takes seconds to be noticed: nobody who asks waits for that, except for the first one.
    """

    def __init__(self, look: Callable[[], int | None] = queue.calls_waiting) -> None:
        self.look, self.lock = look, threading.Lock()
        self.answers: bool | None = None
        self.n_calls: int | None = None  # that waited when it last answered
        self.url: str | None = None  # of the broker that was asked
        self.seen_at = 0.0

    def is_there(self) -> bool:
        """Whether it answered when it was last asked; if that is a while ago, it is asked again meanwhile."""
        if self.url != queue.celery.conf.broker_url:
            self.answers, self.url = None, queue.celery.conf.broker_url
        if self.answers is None:
            self.ask()
        elif time.monotonic() - self.seen_at > BROKER_SECONDS and not self.lock.locked():
            threading.Thread(target=self.ask, name="broker", daemon=True).start()
        return bool(self.answers)

    def calls_waiting(self) -> int | None:
        """How many calls waited for a worker then; None if it did not answer."""
        return self.n_calls if self.is_there() else None

    def ask(self) -> None:
        """Ask it now, unless somebody else does."""
        if self.lock.acquire(blocking=self.answers is None):
            try:
                self.n_calls = self.look()
                self.answers, self.seen_at = self.n_calls is not None, time.monotonic()
            finally:
                self.lock.release()


broker = Broker()  # one a process, as Celery's application is


class Health(NamedTuple):
    """How the service is; `faults` names what is not well, with the reason."""

    schema: str
    workers: int
    embedding_model: str | None  # the digest of that with which jobs make vectors
    faults: dict[str, str]


def examine(database: Database, settings: Settings) -> Health:
    """Look at each part. Raises what the database raises if it does not answer."""
    revision, head = schema_revision(database) or "none", head_revision()
    embedding_model = embedding_digest(settings)
    with database.readers.begin() as session:
        workers = presence.living(session, settings)
    is_missed = embedding_model is not None and bool(workers) and not has_model(workers, embedding_model)
    reasons = {
        "schema": None if revision == head else f"the schema is at {revision}, not at {head}: run `newfound migrate`",
        "broker": None if broker.is_there() else NO_BROKER,
        "workers": None if workers else NO_WORKER,
        "disk": disk.shortage(settings),
        "embedding_model": f"jobs with vectors wait: {waits_for(str(embedding_model))}" if is_missed else None,
    }
    faults = {name: reason for name, reason in reasons.items() if reason is not None}
    return Health(revision, len(workers), embedding_model, faults)


def has_model(workers: Sequence[Living], digest: str) -> bool:
    """Whether one of them makes vectors with this embedding model."""
    return any(worker.embedding_model == digest for worker in workers)


def why_jobs_wait(session: Session, workers: Sequence[Living], settings: Settings) -> str | None:
    """Why a job that is live and on which nobody works is not progressing; None if a worker is about to claim it."""
    notes = [worker.note for worker in workers]
    if not notes:
        return NO_WORKER
    if all(notes):
        return notes[0]
    is_held = (IS_AT_HAND, Unit.status == "running", Unit.lease_until > now())
    at_work = select(func.count()).select_from(Unit).where(*is_held)
    if (session.scalar(at_work) or 0) >= len(notes):
        return BUSY
    return disk.shortage(settings, share=0.5) or (None if broker.is_there() else NO_BROKER)


def notes_of(session: Session, live: set[str], settings: Settings) -> dict[str, str | None]:
    """Why each of some live jobs is not progressing, of those on which nobody works."""
    if not live:
        return {}
    return notes_of_unattended(session, live - set(session.scalars(HELD, {"job_ids": list(live)})), settings)


def notes_of_unattended(session: Session, idle: set[str], settings: Settings) -> dict[str, str | None]:
    """Why each of these jobs is not progressing, on which nobody works although they are live."""
    if not idle:
        return {}
    sources = session.execute(WAITING, {"job_ids": list(idle)})
    notes: dict[str, str | None] = {
        heir: f"it begins when job {source}, which it continues, has succeeded" for heir, source in sources
    }
    workers = presence.living(session, settings)
    notes |= without_model(session, idle - notes.keys(), workers)
    others = idle - notes.keys()
    return notes | dict.fromkeys(others, why_jobs_wait(session, workers, settings) if others else None)


def without_model(session: Session, job_ids: set[str], workers: Sequence[Living]) -> dict[str, str]:
    """Why those of some jobs wait whose vectors are to be made next, by a model that no worker has that lives."""
    if not job_ids or not workers:
        return {}
    wanted = {job_id: vectors_made_by(given) for job_id, given in session.execute(READY, {"job_ids": list(job_ids)})}
    return {job_id: waits_for(model) for job_id, model in wanted.items() if model and not has_model(workers, model)}
