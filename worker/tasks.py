"""The Celery side of a worker: one task, which works on what is ready, and the reaper beside it.

A worker is a single process: Celery runs the task in its main thread. A pool's processes share locks, and one that is
killed while it holds such a lock leaves a pool that waits for ever; here whatever is killed ends the whole worker, and
whoever supervises it starts it again.
"""

import logging
import threading
import warnings
from typing import Any

from celery import bootsteps
from celery.apps.worker import (
    Worker,
    install_worker_int_handler,
    install_worker_term_handler,
    install_worker_term_hard_handler,
)
from celery.platforms import SecurityWarning
from celery.signals import setup_logging, worker_ready, worker_shutting_down

from app.broker import queue
from app.broker.queue import CALL, celery
from app.core.db import connect
from app.core.settings import Settings
from worker import turns
from worker.niceness import give_way
from worker.reaper import Reaper

logger = logging.getLogger(__name__)

settings = Settings()
queue.configure(settings)
database = connect(settings.database)  # opened by the first transaction

leaving = threading.Event()  # set by the signal that ends this worker


@celery.task(name=CALL)  # type: ignore[untyped-decorator]
def work() -> None:
    """Work until nothing is ready."""
    turns.work(database, settings, leaving.is_set)


@worker_shutting_down.connect  # type: ignore[untyped-decorator]
def leave(**_: Any) -> None:
    """Let the running leg save after its present sweep."""
    leaving.set()


@setup_logging.connect  # type: ignore[untyped-decorator]
def keep_logging(**_: Any) -> None:
    """Leave logging as the command has set it up: Celery does so where anybody listens."""


@worker_ready.connect  # type: ignore[untyped-decorator]
def say_ready(sender: Any, **_: Any) -> None:
    """Log that this worker hears calls."""
    broker = "the broker's folder" if queue.is_folder(settings) else sender.app.connection().as_uri()  # without secrets
    logger.info("%s is ready and hears calls from %s", sender.hostname, broker)


class QuietWorker(Worker):  # type: ignore[misc]
    """Celery's worker without a banner, and without what it prints past all logging when it is ended."""

    def install_platform_tweaks(self, worker: Any) -> None:
        """Listen to signals."""
        super().install_platform_tweaks(worker)
        install_worker_term_handler(worker, verbose=False)
        install_worker_int_handler(worker, verbose=False, callback=end_at_once_next_time)


def end_at_once_next_time(worker: Any) -> None:
    """Let a second Ctrl-C end a worker in the middle of its sweep."""
    install_worker_term_hard_handler(worker, sig="SIGINT", verbose=False)


class Reaping(bootsteps.StartStopStep):  # type: ignore[misc]
    """Keeps a reaper going as long as the worker runs."""

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self.reaper = Reaper(database, settings, str(parent.hostname))

    def start(self, parent: Any) -> None:
        """Begin to reap."""
        self.reaper.start()

    def stop(self, parent: Any) -> None:
        """Reap no more."""
        logger.info("this worker ends")
        self.reaper.stop()


celery.steps["worker"].add(Reaping)


def only_task() -> None:
    """Forget the tasks that Celery brings along: a message that names one of them is refused, as any unknown one is.

    Some of them run other tasks, or send further messages, as the message says.
    """
    celery.finalize()
    for name in [name for name in celery.tasks if name != CALL]:
        celery.tasks.unregister(name)


def run(name: str) -> int:
    """Work under this name until a signal ends it; returns the exit code."""
    give_way(settings.worker_niceness)
    only_task()
    with warnings.catch_warnings():
        # Of work as root, since a message may hold code: ours hold nothing.
        warnings.simplefilter("ignore", SecurityWarning)
        # What Celery's own command does, which is longer about its imports.
        worker = QuietWorker(
            app=celery,
            hostname=name,
            pool_cls="solo",
            loglevel=settings.log_level,
            quiet=True,
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
        )
    worker.start()
    return int(worker.exitcode or 0)
