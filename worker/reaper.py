"""A thread in every worker: says that the worker lives, and calls for workers where a lease ran out or a call was lost.

It also removes files of encoded corpora that are not in the database any more, since texts have been erased, or their
corpus deleted. No worker is special, so none is missed when it dies.
"""

import logging
import threading

from sqlalchemy import select

from app.broker import queue
from app.core import leases, presence
from app.core.counters import counters
from app.core.db import Database
from app.core.embedding_models import embedding_digest
from app.core.settings import Settings
from app.core.tables import Encoding
from worker.corpus_cache import CorpusCache

logger = logging.getLogger(__name__)


class Reaper:
    """Reaps every `reap_seconds`, from its start to its stop."""

    def __init__(self, database: Database, settings: Settings, name: str) -> None:
        self.database, self.settings, self.name = database, settings, name
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.go_on, name="reaper", daemon=True)

    def start(self) -> None:
        """Reap once, then begin to do so again and again."""
        self.reap()
        self.thread.start()

    def stop(self) -> None:
        """Reap no more, and hand over what was counted."""
        self.ended.set()
        self.hand_over()

    def go_on(self) -> None:
        """Reap until the worker ends."""
        while not self.ended.wait(self.settings.reap_seconds):
            self.reap()
            self.hand_over()
            self.tidy()

    def reap(self) -> None:
        """Free what has no live lease, and call for workers; a database that is away is asked again next time."""
        try:
            with self.database.sessions.begin() as session:
                presence.record(session, self.name, embedding_model=embedding_digest(self.settings))
                unit_ids = leases.reap(session)
        except Exception as error:
            logger.warning("reaping failed, will be retried: %r", error)
            return
        queue.wake(self.database.sessions, unit_ids)

    def hand_over(self) -> None:
        """Add what this process has counted to what all workers have."""
        try:
            counters.flush(self.database)
        except Exception as error:
            logger.warning("what was counted is handed over later: %r", error)

    def tidy(self) -> None:
        """Remove this host's files of encoded corpora that are no longer in the database."""
        try:
            CorpusCache(self.settings.encodings, self.settings.max_encodings_bytes).keep_only(self.wanted)
        except Exception as error:
            logger.warning("the folder of encoded corpora could not be tidied: %r", error)

    def wanted(self, digests: list[str]) -> set[str]:
        """Those of some digests that encodings have."""
        with self.database.readers.begin() as session:
            return {
                str(found) for found in session.scalars(select(Encoding.digest).where(Encoding.digest.in_(digests)))
            }
