"""The Celery application and the one message there is: a unit's id, a wake-up call."""

import logging
from collections.abc import Sequence
from importlib import import_module

from celery import Celery
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session, sessionmaker

from app import leases
from app.settings import Settings

logger = logging.getLogger(__name__)

LEG = "newfound.leg"
DAY = 86_400  # seconds
POLLING_SECONDS = 0.2
CONNECT_SECONDS, SOCKET_SECONDS = 2, 10  # a broker that does not answer holds up a request no longer

celery = Celery("newfound")


def configure(settings: Settings) -> None:
    """Point the application at the settings' broker, and make the folders of a filesystem broker.

    Each process calls this at its start, since importing a module makes no folders.
    """
    if settings.broker.startswith("redis"):
        import_module("app.redis_broker")
    if settings.broker.startswith("filesystem:"):
        import_module("app.file_broker")
    celery.conf.update(
        broker_url=settings.broker,
        broker_transport_options=transport_options(settings),
        broker_connection_retry_on_startup=True,
        broker_connection_timeout=CONNECT_SECONDS,
        result_backend=None,
        task_ignore_result=True,
        task_serializer="json",
        accept_content=["json"],
        # A leg's message is acknowledged at the end of the leg, so a worker holds one message at a time
        # and none waits behind a long leg. Who works on what is decided by the lease, not by the broker.
        task_acks_late=True,
        worker_prefetch_multiplier=1,
        worker_disable_prefetch=settings.broker.startswith("redis"),  # it exists there alone
        worker_concurrency=1,
        # A leg goes on without the broker: all it needs is the database.
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_lost_wait=1.0,  # seconds until a killed child counts as lost and another takes its place
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
    )


def transport_options(settings: Settings) -> dict[str, object]:
    """Options of the broker's transport."""
    if not settings.broker.startswith("filesystem:"):
        # Longer than any leg: Redis must not hand out a second time what is still worked on.
        return {"visibility_timeout": DAY, "socket_connect_timeout": CONNECT_SECONDS, "socket_timeout": SOCKET_SECONDS}
    messages, control = settings.broker_folder / "messages", settings.broker_folder / "control"
    for folder in (messages, control):
        folder.mkdir(parents=True, exist_ok=True)
    # What one process puts out another takes in, so both are one folder.
    return {
        "data_folder_in": str(messages),
        "data_folder_out": str(messages),
        "control_folder": str(control),
        "polling_interval": POLLING_SECONDS,
    }


def send(unit_ids: Sequence[int]) -> bool:
    """Send a wake-up call for each unit; False, and a line in the log, if the broker does not take them all.

    One short attempt, over a connection of its own: a pooled one may have died with the broker, or in a fork.
    """
    if not unit_ids:
        return True
    try:
        with celery.connection_for_write() as connection:
            for unit_id in unit_ids:
                celery.send_task(LEG, args=[unit_id], connection=connection, retry=False, ignore_result=True)
    except Exception as error:  # each transport has errors of its own
        logger.warning("the broker took no message for units %s, the reaper sends them again: %r", unit_ids, error)
        return False
    return True


def wake(sessions: sessionmaker[Session], unit_ids: Sequence[int]) -> None:
    """Wake a worker up for each unit; to be called after the commit that made them ready.

    Never fails: what cannot be sent from here is due at once, for the next reaper that has a broker.
    """
    if send(unit_ids):
        return
    try:
        with sessions.begin() as session:
            leases.make_due(session, unit_ids)
    except SQLAlchemyError:
        logger.warning("units %s are sent again when their time is up", unit_ids, exc_info=True)
