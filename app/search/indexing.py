"""Fills the index of words in a thread of the API, in short transactions that let other writers get their turn.

A corpus is indexed once somebody submits a job over it or searches in it, and what has been added since then with the
next job or search. Whoever searches meanwhile has its texts read instead (`app.http.searches`).
"""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event, Lock
from time import monotonic

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.core.db import AWAY, Database
from app.core.tables import TextIndex
from app.search.index import index_some, is_sqlite, is_whole, last_document, merge_some
from app.uploads.removal import FEW, WAIT_SECONDS, fitting

logger = logging.getLogger(__name__)


class Indexing:
    """Puts the texts of corpora into the index, one corpus after the other."""

    def __init__(self, database: Database, shortage: Callable[[], str | None] = lambda: None) -> None:
        """`shortage` says why nothing more is to be written, as for lack of room on the disk."""
        self.database = database
        self.shortage = shortage
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="indexing")
        self.leaving = Event()
        self.lock = Lock()
        self.waiting: set[str] = set()  # corpora

    def wake(self, corpus_id: str) -> None:
        """Have a corpus indexed, unless it is to be already."""
        with self.lock:
            if corpus_id in self.waiting or self.leaving.is_set():
                return
            self.waiting.add(corpus_id)
        self.thread.submit(self.index, corpus_id)

    def forget_erased(self) -> None:
        """Have the words of erased texts taken out of the files; to be called at the start, and when one was erased."""
        if not self.leaving.is_set():
            self.thread.submit(self.persist, "words of erased texts", self.merge)

    def stop(self) -> None:
        """End after the present transaction; what is left is done when somebody asks for it again."""
        self.leaving.set()
        self.thread.shutdown(cancel_futures=True)

    def index(self, corpus_id: str) -> None:
        """Index a corpus; one that grows meanwhile is taken up again by whoever asks next."""
        try:
            self.persist(f"the index of corpus {corpus_id}", partial(self.fill, corpus_id))
        finally:
            with self.lock:
                self.waiting.discard(corpus_id)

    def persist(self, what: str, work: Callable[[], None]) -> None:
        """Do some work, and do it again if the database is away."""
        while not self.leaving.is_set():
            try:
                return work()
            except AWAY as error:
                logger.warning("%s: waits for the database: %s", what, str(error).partition("\n")[0])
                self.leaving.wait(WAIT_SECONDS)
            except Exception:
                return logger.exception("%s: failed; the next search tries it again", what)
        return None

    def fill(self, corpus_id: str) -> None:
        """Put all documents of a corpus into the index."""
        with self.database.readers.begin() as session:
            size, is_left = FEW, not is_whole(session, corpus_id, last_document(session, corpus_id))
        while is_left and not self.leaving.is_set():
            if reason := self.shortage():
                return logger.warning(
                    "corpus %s is not indexed, and its texts are searched instead: %s", corpus_id, reason
                )
            is_left, seconds = self.turn(partial(index_some, corpus_id=corpus_id, n=size))
            size = fitting(size, seconds)
        return None

    def merge(self) -> None:
        """Write SQLite's index anew, if it holds what was erased; PostgreSQL's vacuum does the like by itself."""
        with self.database.readers.begin() as session:
            marked = select(TextIndex.corpus_id, TextIndex.n_erasures).where(TextIndex.n_erasures > 0)
            erasures = session.execute(marked).all()
            if not erasures or not is_sqlite(session):
                return
        is_left, _ = self.turn(partial(merge_some, is_first=True))
        while is_left and not self.leaving.is_set():
            is_left, _ = self.turn(partial(merge_some, is_first=False))
        if not is_left:
            with self.database.sessions.begin() as session:
                for corpus_id, n_erasures in erasures:  # unless there has been another one since
                    is_same = (TextIndex.corpus_id == corpus_id, TextIndex.n_erasures == n_erasures)
                    session.execute(update(TextIndex).where(*is_same).values(n_erasures=0))

    def turn(self, work: Callable[[Session], bool]) -> tuple[bool, float]:
        """Do a piece of work in a transaction; returns whether more is left, and the seconds that others waited."""
        with self.database.sessions.begin() as session:
            began = monotonic()
            is_left = work(session)
            has_one_writer = is_sqlite(session)
        seconds = monotonic() - began if has_one_writer else 0.0
        self.leaving.wait(seconds)  # half of the time is for others
        return is_left, seconds
