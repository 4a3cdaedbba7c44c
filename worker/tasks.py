"""The Celery side of a worker: one task, which works on what is ready, and the reaper beside it.

A worker is a single process: Celery runs the task in its main thread. A pool's processes share locks, and one that is
killed while it holds such a lock leaves a pool that waits for ever; here whatever is killed ends the whole worker, and
whoever supervises it starts it again.
"""

import logging
import threading
from typing import Any

from celery import bootsteps
from celery.signals import setup_logging, worker_shutting_down

from app.broker import queue
from app.broker.queue import CALL, celery
from app.core.db import connect
from app.core.settings import Settings
from worker import turns
from worker.niceness import give_way
from worker.reaper import Reaper

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
def log(loglevel: int = logging.INFO, **_: Any) -> None:
    """One line a record on standard error, with no colours."""
    logging.basicConfig(level=loglevel, format="%(asctime)s %(levelname)s %(name)s: %(message)s", force=True)


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
        self.reaper.stop()


celery.steps["worker"].add(Reaping)


def run(name: str) -> int:
    """Work under this name until a signal ends it; returns the exit code."""
    give_way(settings.worker_niceness)
    # What Celery's own command does, which is longer about its imports.
    worker = celery.Worker(
        hostname=name,
        pool_cls="solo",
        loglevel="INFO",
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    worker.start()
    return int(worker.exitcode or 0)
