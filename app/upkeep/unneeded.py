"""Derived rows that no job needs any more: encoded corpora, vectors of texts, atoms.

Each can be computed again, to the same bytes, from documents; so what is taken out too early costs time alone. They go
a few at a time, under a lock on their corpus that no new job over it comes past: one that is submitted meanwhile finds
them whole, or sees that they are not.
"""

from collections.abc import Sequence
from functools import partial
from threading import Event
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, not_, or_, select, tuple_, update
from sqlalchemy.orm import Session

from app.core.db import Database
from app.core.kinds import UnitKind
from app.core.runs import UNFINISHED, change
from app.core.tables import AtomRun, Corpus, Encoding, EncodingPart, Job, SideRun, Unit, VectorStep

ROWS_AT_ONCE = 4  # of up to some MiB each: while they go, no other can write to SQLite
RUN = (AtomRun.corpus_id, AtomRun.words_digest, AtomRun.options)


def goes_on() -> ColumnElement[bool]:
    """The condition that a job has not been deleted, and that its checkpoints have not expired."""
    return and_(Job.deleted_at.is_(None), Job.expired_at.is_(None))


def is_needed_encoding() -> ColumnElement[bool]:
    """The condition that a job uses an encoding, or is at work over its corpus and may come to."""
    using = select(Job.id).where(Job.encoding_id == Encoding.id, goes_on())
    side = select(SideRun.job_id).where(SideRun.job_id == Job.id, SideRun.status.in_(UNFINISHED))
    is_unfinished = or_(Job.status.in_(UNFINISHED), side.exists())
    at_work = select(Job.id).where(Job.corpus_id == Encoding.corpus_id, Job.deleted_at.is_(None), is_unfinished)
    return or_(using.exists(), at_work.exists())


def is_empty() -> ColumnElement[bool]:
    """The condition that an encoding has no rows beside its own, which still says of jobs how large they were."""
    parts = select(EncodingPart.number).where(EncodingPart.encoding_id == Encoding.id)
    vectors = select(VectorStep.number).where(VectorStep.encoding_id == Encoding.id)
    return and_(Encoding.digest.is_(None), ~parts.exists(), ~vectors.exists())


def has_job() -> ColumnElement[bool]:
    """The condition that the row of a job points to an encoding."""
    return select(Job.id).where(Job.encoding_id == Encoding.id).exists()


def is_unneeded_encoding() -> ColumnElement[bool]:
    """The condition that something of an encoding may go."""
    return and_(not_(is_needed_encoding()), not_(and_(is_empty(), has_job())))


def is_needed_run() -> ColumnElement[bool]:
    """The condition that a job may read an atom run again; of a job of which that is unknown, it may read any."""
    has_atoms = select(Unit.id).where(Unit.job_id == Job.id, Unit.kind == UnitKind.ATOMS).exists()
    may_be_its = or_(Job.words_digest == AtomRun.words_digest, Job.words_digest.is_(None))
    return select(Job.id).where(Job.corpus_id == AtomRun.corpus_id, goes_on(), has_atoms, may_be_its).exists()


def encodings(session: Session) -> Sequence[tuple[int, str]]:
    """The ids of encodings that nobody needs, and their corpora."""
    found = select(Encoding.id, Encoding.corpus_id).where(is_unneeded_encoding())
    return [(encoding_id, corpus_id) for encoding_id, corpus_id in session.execute(found)]


def atom_runs(session: Session) -> Sequence[tuple[str, str, str]]:
    """The keys, without numbers, of atom runs that nobody needs."""
    found = session.execute(select(*RUN).where(not_(is_needed_run())).distinct())
    return [(corpus_id, words_digest, options) for corpus_id, words_digest, options in found]


def clear(database: Database, leaving: Event) -> None:
    """Take out all of these, until it is time to leave."""
    with database.readers.begin() as session:
        work = [partial(clear_encoding, encoding_id=id_, corpus_id=corpus_id) for id_, corpus_id in encodings(session)]
        runs = [partial(clear_atoms, key=key) for key in atom_runs(session)]
    for clear_some in (*work, *runs):
        is_left = True
        while is_left and not leaving.is_set():
            with database.sessions.begin() as session:
                is_left = clear_some(session)


def lock_corpus(session: Session, corpus_id: str) -> None:
    """Lock a corpus, so that no job over it is submitted until the transaction ends."""
    session.execute(select(Corpus.id).where(Corpus.id == corpus_id).with_for_update())


def clear_encoding(session: Session, encoding_id: int, corpus_id: str) -> bool:
    """Take out some rows of an encoding, and its own if no job points to it; False if it is done, or needed again."""
    lock_corpus(session, corpus_id)
    mine = (Encoding.id == encoding_id, is_unneeded_encoding())
    if not change(session, update(Encoding).where(*mine).values(digest=None)):
        return False
    for table, columns in (
        (EncodingPart, (EncodingPart.number,)),
        (VectorStep, (VectorStep.made_by, VectorStep.number)),
    ):
        of_encoding: Any = table.encoding_id == encoding_id
        some = session.execute(select(*columns).where(of_encoding).order_by(*columns).limit(ROWS_AT_ONCE)).all()
        if some:
            change(session, delete(table).where(of_encoding, tuple_(*columns).in_([tuple(row) for row in some])))
            return True
    change(session, delete(Encoding).where(Encoding.id == encoding_id, not_(has_job())))
    return False


def clear_atoms(session: Session, key: tuple[str, str, str]) -> bool:
    """Take out some atom runs of a key; False if all are gone, or needed again."""
    lock_corpus(session, key[0])
    mine = (*(column == value for column, value in zip(RUN, key, strict=True)), not_(is_needed_run()))
    numbers = session.scalars(select(AtomRun.number).where(*mine).order_by(AtomRun.number).limit(ROWS_AT_ONCE)).all()
    return bool(numbers and change(session, delete(AtomRun).where(*mine, AtomRun.number.in_(numbers))))
