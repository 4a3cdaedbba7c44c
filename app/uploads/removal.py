"""Deleted corpora and jobs: their rows are taken out a few at a time, so that other writers get their turn.

A deletion marks the corpus, which hides it and its jobs, or a single job; what is marked is taken out by a thread of
the API, or by that of the next one should it be killed. Several may be at the same one: each finds less to do.

Children go before their parents, so that no ON DELETE CASCADE has much to do. Units go first of all: a leg that still
winds down has lost its lease then, and writes no more rows.
"""

import logging
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import monotonic
from typing import Any

from sqlalchemy import ColumnElement, ForeignKey, FromClause, Select, Table, and_, delete, select, text, tuple_, update
from sqlalchemy.orm import Session

from app.core.db import AWAY, Database
from app.core.tables import (
    ATOMS_OF_JOB,
    ENCODING_OF_JOB,
    AtomRun,
    Base,
    Corpus,
    Document,
    Encoding,
    EncodingPart,
    Job,
    named_in,
)

logger = logging.getLogger(__name__)

ROOTS: tuple[type[Corpus | Job], ...] = (Corpus, Job)  # what can be deleted
FIRST = ("checkpoints", "units")
FEW, MANY = 4, 2_000  # rows a transaction, at first and at most
SHORT, LONG = 0.02, 0.05  # seconds: transactions between these are of the right size
WAIT_SECONDS = 2.0  # for a database that is away


class Removal:
    """Takes out what has been deleted, in a thread of its own."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="removal")
        self.leaving = Event()

    def wake(self) -> None:
        """Look for what has been deleted; to be called at the start and whenever one has been marked."""
        self.thread.submit(self.run)

    def stop(self) -> None:
        """End after the present transaction; what is left is taken out by whoever looks next."""
        self.leaving.set()
        self.thread.shutdown(cancel_futures=True)

    def run(self) -> None:
        """Take out all that has been deleted, waiting for a database that is away."""
        while not self.leaving.is_set():
            try:
                marked = self.marked()
                if not marked:
                    return
                for root, id_ in marked:
                    self.remove(root, id_)
            except AWAY as error:
                logger.warning("a deletion waits for the database: %s", str(error).partition("\n")[0])
                self.leaving.wait(WAIT_SECONDS)
            except Exception:
                logger.exception("a deletion failed; it is retried when the API starts, or with the next deletion")
                return

    def marked(self) -> list[tuple[type[Corpus | Job], str]]:
        """What has been deleted and has rows; corpora come first, since their jobs go with them."""
        with self.database.readers.begin() as session:
            return [
                (root, id_)
                for root in ROOTS
                for id_ in session.scalars(select(root.id).where(root.deleted_at.is_not(None)))
            ]

    def remove(self, root: type[Corpus | Job], root_id: str) -> None:
        """Take out a corpus or a job and all that hangs on it, until the API is to end."""
        for table in tables(root.__table__):
            key = parent_key(table)
            if key.column.table is Document.__table__:
                self.clear_of_documents(table, key.parent, root_id)
                continue
            with self.database.readers.begin() as session:
                parents = session.scalars(ids(key.column.table, root.__table__, root_id)).all()
            size = FEW
            for parent_id in parents:
                size = self.clear(table, key.parent, parent_id, size)
        if root is Job:
            self.remove_own(root_id)
        if not self.leaving.is_set():
            with self.database.sessions.begin() as session:
                plan_anew(session)
                session.execute(delete(root).where(root.id == root_id))
            logger.info("%s %s and everything that belonged to it are removed", root.__name__.lower(), root_id)

    def remove_own(self, job_id: str) -> None:
        """Take out what hangs on the corpus and is of one job alone: its labels are other ones, or its atoms are.

        Whatever jobs share stays for the next one, but for what was encoded under a split: the last job goes with it.
        """
        with self.database.readers.begin() as session:
            corpus_id = session.scalars(select(Job.corpus_id).where(Job.id == job_id)).one()
            is_own = Encoding.options.contains(named_in(ENCODING_OF_JOB, job_id)) | is_last_of_split(job_id)
            encodings = session.scalars(select(Encoding.id).where(Encoding.corpus_id == corpus_id, is_own)).all()
            runs = select(AtomRun.words_digest, AtomRun.options, AtomRun.number).where(
                AtomRun.corpus_id == corpus_id, AtomRun.options.contains(named_in(ATOMS_OF_JOB, job_id))
            )
            keys = session.execute(runs).all()
        for encoding_id in encodings:
            with self.database.sessions.begin() as session:
                session.execute(update(Job).where(Job.id == job_id).values(encoding_id=None))
            parts = Base.metadata.tables[EncodingPart.__tablename__]
            self.clear(parts, parts.c.encoding_id, encoding_id, FEW)
            if not self.leaving.is_set():
                with self.database.sessions.begin() as session:
                    session.execute(delete(Encoding).where(Encoding.id == encoding_id))
        for words_digest, options, number in keys:
            mine = (AtomRun.words_digest == words_digest, AtomRun.options == options, AtomRun.number == number)
            with self.database.sessions.begin() as session:
                session.execute(delete(AtomRun).where(AtomRun.corpus_id == corpus_id, *mine))

    def clear(self, table: Table, parent: ColumnElement[Any], parent_id: Any, size: int) -> int:
        """Delete the rows of a table under one parent, `size` of them at first; returns what proved to be a good size.

        They are taken in the order of the primary key, and each time those after the last one: PostgreSQL's indexes
        know deleted rows for a while, and whoever begins at the front again comes past all of them.
        """
        columns: list[ColumnElement[Any]] = [column for column in table.primary_key if column is not parent]
        *prefix, last = columns or [parent]
        bounds = mine = [parent == parent_id]
        while not self.leaving.is_set():
            with self.database.readers.begin() as session:
                keys = session.execute(select(*prefix, last).where(*bounds).order_by(*prefix, last).limit(size)).all()
            if not keys:
                break
            # Of one prefix at a time: then no other index than that of the primary key looks as good to a planner.
            first = keys[0]
            end = [key for key in keys if key[:-1] == first[:-1]][-1]
            is_first = [column == value for column, value in zip(prefix, first, strict=False)]
            with self.database.sessions.begin() as session:
                plan_anew(session)
                began = monotonic()
                session.execute(delete(table).where(*mine, *is_first, last.between(first[-1], end[-1])))
            seconds = monotonic() - began
            bounds = [*mine, tuple_(*prefix, last) > tuple_(*end)]
            size = fitting(size, seconds)
            self.leaving.wait(seconds)  # half of the time is for others
        return size

    def clear_of_documents(self, table: Table, parent: ColumnElement[Any], corpus_id: str) -> None:
        """Delete the rows of a table that hang on the documents of a corpus: of these there are many, each with few."""
        size, last = FEW, 0
        while not self.leaving.is_set():
            with self.database.readers.begin() as session:
                some = select(Document.id).where(Document.corpus_id == corpus_id, Document.id > last)
                document_ids = session.scalars(some.order_by(Document.id).limit(size)).all()
                found = select(parent).where(parent.in_(document_ids)).order_by(parent).limit(size + 1)
                having = session.scalars(found).all()
            if not document_ids:
                return
            if len(having) > size:  # those before the one whose rows would be too many, or that one alone
                document_ids = [id_ for id_ in document_ids if id_ < having[size]] or [having[size]]
            seconds = 0.0
            if having:
                with self.database.sessions.begin() as session:
                    plan_anew(session)
                    began = monotonic()
                    session.execute(delete(table).where(parent.in_(document_ids)))
                seconds = monotonic() - began
            last, size = document_ids[-1], fitting(size, seconds)
            self.leaving.wait(seconds)  # as above


def is_last_of_split(job_id: str) -> ColumnElement[bool]:
    """The condition that an encoding is one that a job of a comparison of methods uses, and no other job does."""
    of_job = select(Job.encoding_id).where(Job.id == job_id, Job.comparison_id.is_not(None)).scalar_subquery()
    other = select(Job.id).where(Job.encoding_id == Encoding.id, Job.id != job_id)
    return and_(Encoding.id == of_job, ~other.exists())


def tables(root: FromClause = Corpus.__table__) -> list[Table]:
    """All tables whose rows are found from a row of `root`, children before parents."""
    found = [table for table in reversed(Base.metadata.sorted_tables) if hangs_on(table, root)]
    return sorted(found, key=lambda table: FIRST.index(table.name) if table.name in FIRST else len(FIRST))


def hangs_on(table: FromClause, root: FromClause) -> bool:
    """Whether a table's rows are found from a row of `root`, over any number of parents."""
    if not cascades(table):
        return False
    above = parent_key(table).column.table
    return above is root or hangs_on(above, root)


def cascades(table: FromClause) -> list[ForeignKey]:
    """The keys by which rows of a table go when others go."""
    return [key for column in table.columns for key in column.foreign_keys if key.ondelete == "CASCADE"]


def parent_key(table: FromClause) -> ForeignKey:
    """The key by which a table's rows are found from their root: the first one, which begins an index."""
    return cascades(table)[0]


def ids(table: FromClause, root: FromClause, root_id: str) -> Select[Any]:
    """The ids of a table's rows that hang on a row of `root`, or are it."""
    if table is root:
        return select(root.c.id).where(root.c.id == root_id)
    key = parent_key(table)
    return select(table.c.id).where(key.parent.in_(ids(key.column.table, root, root_id)))


def fitting(size: int, seconds: float) -> int:
    """How many rows the next transaction takes, after one of `size` rows took so long."""
    if seconds > LONG:
        return max(size // 2, 1)
    return min(2 * size, MANY) if seconds < SHORT else size


def plan_anew(session: Session) -> None:
    """Let PostgreSQL plan the statements of foreign keys for the tables as they are, not as they once were."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("SET LOCAL plan_cache_mode = force_custom_plan"))
