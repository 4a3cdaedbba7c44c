"""What a worker does when it is called: claim what should be done next, unit after unit, until nothing is ready."""

import logging
import time
from collections.abc import Callable

from app.broker import queue
from app.core.db import AWAY, Database, is_away
from app.core.embedding_models import embedding_digest
from app.core.next_unit import Free, next_unit
from app.core.settings import Settings
from worker import runner
from worker.leg import told

logger = logging.getLogger(__name__)


def work(database: Database, settings: Settings, leaving: Callable[[], bool]) -> int:
    """Work until no unit is free or the worker is to leave; returns the number of legs.

    A job keeps its turn for as long as one leg may last, so that a short job's units follow one another even where
    long jobs wait, whose chains take a whole leg each time.
    """
    if leaving():  # Celery hears one more call before it ends: it is meant for somebody else
        queue.call(1)
    turn_of, turn_ends, n_legs = None, 0.0, 0
    while not leaving():
        unit = unit_to_claim(database, settings, turn_of if time.monotonic() < turn_ends else None)
        if unit is None:
            break
        if unit.job_id != turn_of or time.monotonic() >= turn_ends:
            turn_of, turn_ends = unit.job_id, time.monotonic() + settings.leg_seconds
        ready = runner.run(database, settings, unit.unit_id, leaving)
        n_legs += 1
        # This worker goes on to one of them itself.
        queue.wake(database.sessions, ready if leaving() else ready[1:])
    return n_legs


def unit_to_claim(database: Database, settings: Settings, turn_of: str | None) -> Free | None:
    """The unit to claim next; None if there is none that this worker can do.

    None too if the database is away: reapers call again later.
    """
    try:
        with database.readers.begin() as session:
            return next_unit(session, turn_of, embedding_digest(settings))
    except AWAY as error:
        if not is_away(error):
            raise
        logger.warning("nothing can be claimed: %s", told(error))
        return None
