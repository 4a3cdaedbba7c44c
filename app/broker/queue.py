"""The Celery application and the one message there is: a call for a worker, which says nothing of what to do.

Whoever is called claims from the database what should be done next, and goes on until nothing is left to claim. So
any call wakes any worker, more calls in the queue than units that wait are of no use, and a lost one is made up for by
the next.
"""

import logging
from collections.abc import Sequence
from typing import Any

from celery import Celery
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session, sessionmaker

from app.core import leases
from app.core.settings import Settings

logger = logging.getLogger(__name__)

CALL, QUEUE = "newfound.work", "newfound"
MAX_CALLS = 1_000  # in the queue, however many units wait: each worker that is called goes on to all of them
POLLING_SECONDS = 0.2
FOLDER_TRANSPORT = "app.broker.folder:FolderTransport"
FOLDER_URL = "filesystem://localhost/"  # Kombu warns of a URL without a host
CONNECT_SECONDS, SOCKET_SECONDS = 2, 10  # a broker that does not answer holds up a request no longer

celery = Celery("newfound")


def configure(settings: Settings) -> None:
    """Point the application at the settings' broker, and make the folders of a filesystem broker.

    Each process calls this at its start, since importing a module makes no folders.
    """
    celery.conf.update(
        broker_url=FOLDER_URL if is_folder(settings) else settings.broker,
        broker_transport=FOLDER_TRANSPORT if is_folder(settings) else None,
        broker_transport_options=transport_options(settings),
        broker_connection_retry_on_startup=True,
        broker_connection_timeout=CONNECT_SECONDS,
        result_backend=None,
        task_ignore_result=True,
        task_serializer="json",
        task_default_queue=QUEUE,
        accept_content=["json"],
        # A call is acknowledged when it is heard: who works on what is decided by leases, not by the broker.
        task_acks_late=False,
        # No limit on calls that were heard and not acknowledged. A worker takes them one by one as it is; and one whose
        # acknowledgement was lost with the broker would count for ever, so that it heard no other call.
        worker_prefetch_multiplier=0,
        worker_concurrency=1,
        worker_enable_remote_control=False,  # what there is to say to a worker stands in the database
        # A leg goes on without the broker: all it needs is the database.
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
    )


def is_folder(settings: Settings) -> bool:
    """Whether the broker is a folder, not a server."""
    return settings.broker.startswith("filesystem:")


def transport_options(settings: Settings) -> dict[str, object]:
    """Options of the broker's transport."""
    if not is_folder(settings):
        return {"socket_connect_timeout": CONNECT_SECONDS, "socket_timeout": SOCKET_SECONDS}
    messages = settings.broker_folder / "messages"
    messages.mkdir(parents=True, exist_ok=True)
    # What one process puts out another takes in, so both are one folder.
    return {
        "data_folder_in": str(messages),
        "data_folder_out": str(messages),
        "polling_interval": POLLING_SECONDS,
    }


def call(n_units: int) -> bool:
    """Call for workers for so many units; False, and a line in the log, if the broker does not take the calls.

    Calls that still wait in the queue count. One short attempt, over a connection of its own: a pooled one may have
    died with the broker.
    """
    if n_units == 0:
        return True
    try:
        with celery.connection_for_write() as connection:
            for _ in range(min(n_units, MAX_CALLS) - n_waiting(connection)):
                celery.send_task(CALL, connection=connection, retry=False, ignore_result=True)
    except Exception as error:  # each transport has errors of its own
        logger.warning("the broker did not accept a call for workers; a reaper will call again: %r", error)
        return False
    return True


def wake(sessions: sessionmaker[Session], unit_ids: Sequence[int]) -> None:
    """Call for workers for some units; to be called after the commit that made them ready.

    Never fails: units that cannot call from here are due at once, for the next reaper that has a broker.
    """
    if call(len(unit_ids)):
        return
    try:
        with sessions.begin() as session:
            leases.make_due(session, unit_ids)
    except SQLAlchemyError as error:
        logger.warning("units %s will call again when their time is up: %s", unit_ids, error)


def calls_waiting() -> int | None:
    """How many calls wait for a worker now; None if the broker does not answer."""
    try:
        with celery.connection_for_write() as connection:
            return n_waiting(connection)
    except Exception as error:
        logger.warning("the broker does not answer: %r", error)
        return None


def n_waiting(connection: Any) -> int:
    """How many calls wait in the queue."""
    declared = celery.amqp.queues[QUEUE].bind(connection.default_channel).queue_declare()
    return int(declared.message_count)
