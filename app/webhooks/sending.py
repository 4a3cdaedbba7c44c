"""Webhooks: who is told of the end of a job, and the thread of the API that tells them.

A row of `webhooks` waits until its job has ended. Then whichever process comes first takes an attempt, by one UPDATE
that moves the time of the next one: of several at once one wins. It sends, and notes what came of it. If it dies in
between, the message is sent again when that time has come: at least once, under the same id.
"""

import json
import logging
import random
from datetime import UTC, datetime
from http import HTTPStatus
from http.client import HTTPException
from threading import Event, Thread
from typing import Any, NamedTuple

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.core.db import AWAY, Database, now
from app.core.runs import UNFINISHED, change
from app.core.settings import Settings
from app.core.tables import Job, Webhook, is_visible_job
from app.webhooks import signing
from app.webhooks.addresses import Refused, networks_of, target_of
from app.webhooks.post import post

logger = logging.getLogger(__name__)

POLL_SECONDS = 2.0
AT_ONCE = 8  # messages under way, of one process
JOIN_SECONDS = 1.0  # at the end, for a look at a database that may be away
# Longer than an attempt takes, the name server included: then whoever made it is taken for dead.
ATTEMPT_SECONDS = 120.0
# Until the next attempt, after the first one and so on; then it is given up, a day and a half after the job's end.
PAUSES = (10.0, 60.0, 300.0, 1_800.0, 7_200.0, 28_800.0, 86_400.0)
SPREAD = 0.2  # of a pause: a receiver that comes back is not met by all at once


class Attempt(NamedTuple):
    """A message, and the claim to send it."""

    job_id: str
    message_id: str
    url: str
    secret: str
    body: bytes
    number: int  # from 1
    until: float  # when somebody else may take it


def add(session: Session, job_id: str, url: str, secret: str | None) -> str | None:
    """Note that somebody wants to be told of a job's end; returns the secret if it was made here."""
    made = signing.new_secret() if secret is None else None
    session.add(Webhook(job_id=job_id, url=url, secret=secret or made))
    session.flush()
    return made


def rearm(session: Session, job_id: str) -> None:
    """Tell of the end of a job again: it goes on, and there will be another one."""
    anew = {"state": "waiting", "attempts": 0, "next_at": 0.0, "delivered_at": None, "last_error": None}
    change(session, update(Webhook).where(Webhook.job_id == job_id).values(anew))


class Sending:
    """Sends what is due, in threads of its own; none of them holds up the end of the process."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.database, self.root_path = database, settings.root_path
        self.networks = networks_of(settings.webhook_networks)
        self.leaving = Event()
        self.thread: Thread | None = None
        self.under_way: set[Thread] = set()

    def start(self) -> None:
        """Begin to send; nothing happens if that has been done."""
        if self.thread is None:
            self.thread = Thread(target=self.run, name="webhooks", daemon=True)
            self.thread.start()

    def stop(self) -> None:
        """Take no more attempts; one that is under way ends with the process, and is made again by the next one."""
        self.leaving.set()
        if self.thread is not None:
            self.thread.join(JOIN_SECONDS)

    def run(self) -> None:
        """Send what is due, until the process is to end."""
        is_away = False
        while not self.leaving.wait(POLL_SECONDS):
            try:
                while self.send_some():
                    if self.leaving.wait(POLL_SECONDS / 20):
                        break
                is_away = False
            except AWAY as error:
                if not is_away:
                    logger.warning("webhooks wait for the database: %s", str(error).partition("\n")[0])
                is_away = True
            except Exception:
                logger.exception("webhooks are not sent; they are tried again")

    def send_some(self) -> bool:
        """Send a few messages that are due, each in a thread; whether there was any."""
        self.under_way = {thread for thread in self.under_way if thread.is_alive()}
        taken = False
        for job_id in self.due(AT_ONCE - len(self.under_way)):
            attempt = self.take(job_id)
            if attempt is not None:
                taken = True
                thread = Thread(target=self.deliver, args=(attempt,), name="webhook", daemon=True)
                self.under_way.add(thread)
                thread.start()
        return taken

    def due(self, n_most: int) -> list[str]:
        """Jobs that have ended and of which somebody waits to be told, those that have waited longest first."""
        if n_most <= 0:
            return []
        query = select(Webhook.job_id).join(Job, Job.id == Webhook.job_id)
        is_due = (Webhook.state == "waiting", Webhook.next_at <= now())
        query = query.where(*is_due, Job.status.not_in(UNFINISHED), is_visible_job())
        with self.database.readers.begin() as session:
            return list(session.scalars(query.order_by(Webhook.next_at).limit(n_most)))

    def take(self, job_id: str) -> Attempt | None:
        """Take the next attempt for a job; None if another process has taken it, or the job goes on."""
        ended = select(Job.id).where(Job.id == Webhook.job_id, Job.status.not_in(UNFINISHED)).exists()
        is_due = (Webhook.job_id == job_id, Webhook.state == "waiting", Webhook.next_at <= now())
        taken = update(Webhook).where(*is_due, ended).values(attempts=Webhook.attempts + 1)
        taken = taken.values(next_at=now() + ATTEMPT_SECONDS).returning(Webhook)
        with self.database.sessions.begin() as session:
            row = session.scalars(taken, execution_options={"synchronize_session": False}).one_or_none()
            job = None if row is None else session.get(Job, job_id)
            if row is None or job is None or job.finished_at is None:
                return None
            body = json.dumps(message(job, self.root_path)).encode()
            # Of this end of the job: if it is resumed and ends again, that is another message.
            message_id = f"{job_id}-{round(job.finished_at * 1000)}"
            return Attempt(job_id, message_id, row.url, row.secret, body, row.attempts, row.next_at)

    def deliver(self, attempt: Attempt) -> None:
        """Send a message and note what came of it."""
        try:
            status, reason = self.send(attempt)
            if not self.leaving.is_set():
                self.note(attempt, status, reason)
        except AWAY as error:
            logger.warning("a webhook is sent again: its end was not noted: %s", str(error).partition("\n")[0])
        except Exception:
            logger.exception("the webhook of job %s failed; it is tried again", attempt.job_id)

    def send(self, attempt: Attempt) -> tuple[int | None, str | None]:
        """The status of the answer and None, or what went wrong."""
        try:
            with self.database.readers.begin() as session:
                timestamp = int(session.scalars(select(now())).one())
            signed = signing.headers(attempt.secret, attempt.message_id, timestamp, attempt.body)
            headers = {"Content-Type": "application/json", "User-Agent": "Newfound-Webhooks", **signed}
            status = post(target_of(attempt.url, self.networks), self.networks, headers, attempt.body)
        except Refused as error:
            return None, f"the address is refused: {error}"
        except TimeoutError:
            return None, "the receiver did not answer in time"
        except (OSError, HTTPException, ValueError) as error:  # its text may hold what only the operator should see
            return None, f"the receiver could not be reached: {type(error).__name__}"
        if 200 <= status < 300:
            return status, None
        if 300 <= status < 400:
            return status, f"the receiver answered {status}; redirects are not followed"
        return status, f"the receiver answered {status}"

    def note(self, attempt: Attempt, status: int | None, reason: str | None) -> None:
        """Write down what came of an attempt, unless the job has been resumed or somebody else sends by now."""
        values: dict[str, Any] = {"last_error": reason}
        if reason is None:
            values |= {"state": "delivered", "delivered_at": now()}
        elif status == HTTPStatus.GONE or attempt.number > len(PAUSES):
            values["state"] = "failed"
        else:
            pause = PAUSES[attempt.number - 1]
            values["next_at"] = now() + pause * random.uniform(1 - SPREAD, 1 + SPREAD)
        is_mine = (Webhook.job_id == attempt.job_id, Webhook.state == "waiting", Webhook.next_at == attempt.until)
        with self.database.sessions.begin() as session:
            change(session, update(Webhook).where(*is_mine).values(values))
        came = "delivered" if reason is None else reason
        logger.info("webhook of job %s, attempt %d: %s", attempt.job_id, attempt.number, came)


def message(job: Job, root_path: str) -> dict[str, Any]:
    """What the receiver is told: no texts, nothing that it could not read with a key."""
    assert job.finished_at is not None, "it has ended"
    return {
        "type": f"job.{job.status}",
        "timestamp": datetime.fromtimestamp(job.finished_at, UTC).isoformat().replace("+00:00", "Z"),
        "data": {
            "job_id": job.id,
            "name": job.name,
            "corpus_id": job.corpus_id,
            "status": job.status,
            "error": job.error,
            "links": {"self": f"{root_path}/v1/jobs/{job.id}"},
        },
    }
