"""A thread of the API that prunes once an hour and keeps the write-ahead log short; in several replicas, in each.

They do no harm beside each other: each finds less to do. It also takes out what another replica was deleting when it
died.
"""

import logging
import threading

from app.core.db import AWAY, Database
from app.core.settings import Settings
from app.upkeep.files import cut_log, file_of
from app.upkeep.prune import Ages, prune
from app.uploads.removal import Removal

logger = logging.getLogger(__name__)

TURN_SECONDS = 60.0
TURNS_OF_PRUNING = 60  # the first one comes with the first turn


class Keeper:
    """Does so from its start to its stop."""

    def __init__(self, database: Database, settings: Settings, removal: Removal) -> None:
        self.database, self.removal = database, removal
        self.ages, self.file = ages_of(settings), file_of(settings.database)
        self.ended = threading.Event()
        self.thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, a turn from now; nothing happens if that has been done."""
        if self.thread is None:
            self.thread = threading.Thread(target=self.go_on, name="upkeep", daemon=True)
            self.thread.start()

    def stop(self) -> None:
        """End after the present transaction; the removal must have been stopped."""
        self.ended.set()
        if self.thread is not None:
            self.thread.join()

    def go_on(self) -> None:
        """Take turns until the API ends."""
        turn = 0
        while not self.ended.wait(TURN_SECONDS):
            self.turn(prunes=turn % TURNS_OF_PRUNING == 0)
            turn += 1

    def turn(self, *, prunes: bool) -> None:
        """Do what is to be done; whatever fails is tried again in a later turn."""
        try:
            if prunes:
                prune(self.database, self.ages, self.removal)
            if self.file is not None:
                cut_log(self.file)
        except AWAY as error:
            logger.warning("upkeep waits for the database: %s", str(error).partition("\n")[0])
        except Exception:
            logger.exception("upkeep failed; it is tried again")


def ages_of(settings: Settings) -> Ages:
    """What the settings say of how long things stay."""
    return Ages(settings.keep_jobs_days, settings.keep_checkpoints_days)
