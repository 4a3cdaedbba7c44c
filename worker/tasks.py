"""The Celery side of a worker: one task, a leg of one unit, and the reaper beside it."""

import logging
import multiprocessing
from functools import cache
from typing import Any

from celery.signals import setup_logging, worker_process_init, worker_shutting_down

from app import queue
from app.db import Database, connect
from app.queue import LEG, celery
from app.settings import Settings
from worker import legs
from worker.reaper import Reaper

settings = Settings()
queue.configure(settings)

# Made before the pool forks, so that the child sees what the parent's signal handler sets.
leaving = multiprocessing.get_context("fork").Event()


@cache
def database() -> Database:
    """This process's connection to the database."""
    return connect(settings.database)


@celery.task(name=LEG)  # type: ignore[untyped-decorator]
def leg(unit_id: int) -> None:
    """Run one leg of a unit, then wake up the next."""
    queue.wake(database().sessions, legs.run(database(), settings, unit_id, leaving.is_set))


@worker_process_init.connect  # type: ignore[untyped-decorator]
def forget_parents_connections(**_: Any) -> None:
    """A forked child leaves the parent's connections alone and opens its own."""
    database().engine.dispose(close=False)
    database.cache_clear()


@worker_shutting_down.connect  # type: ignore[untyped-decorator]
def leave(**_: Any) -> None:
    """Let the running leg save after its present sweep."""
    leaving.set()


@setup_logging.connect  # type: ignore[untyped-decorator]
def log(loglevel: int = logging.INFO, **_: Any) -> None:
    """One line a record on standard error, with no colours."""
    logging.basicConfig(
        level=loglevel, format="%(asctime)s %(levelname)s %(processName)s %(name)s: %(message)s", force=True
    )


celery.steps["worker"].add(Reaper)


def run(name: str) -> int:
    """Work under this name until a signal ends it; returns the exit code."""
    # What Celery's own command does, which is longer about its imports.
    worker = celery.Worker(
        hostname=name,
        pool_cls="prefork",
        loglevel="INFO",
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    worker.start()
    return int(worker.exitcode or 0)
