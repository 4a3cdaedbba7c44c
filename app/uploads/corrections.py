"""Documents that are corrected, deleted or erased: the corpus gets a new version, and jobs keep theirs.

An erased document keeps its key and its label, for the sake of what jobs have answered; its text and its fields are
gone from all versions, and so are its vectors and the encoded corpora that it was part of: a job over one of those
cannot go on.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, delete, func, select, update
from sqlalchemy.orm import Session

from app.core.db import Database
from app.core.errors import CorpusInUse, DocumentNotFound, MalformedRequest
from app.core.lifecycle import unfinished_job
from app.core.quotas import UNLIMITED, StorageQuota, bytes_of
from app.core.runs import change as change_rows
from app.core.tables import IS_CURRENT, Document, DocumentVector, Encoding, Job, TextIndex
from app.uploads.current import Current
from app.uploads.limits import ReadLimits
from app.uploads.rows import BadRow, Row, RowBuilder
from app.uploads.store import Store, Written
from app.uploads.texts import RememberedTexts, forget_texts
from app.uploads.vector_values import vector_bytes

MAX_MISSING = 10  # keys that are told
RELABELED_AT_ONCE = 500  # documents


class Changed(NamedTuple):
    """What changes did, and the version of the corpus after them."""

    n_changed: int
    n_unchanged: int
    version: int


class Gone(Enum):
    """Stands for the label of a document that is no longer there."""

    GONE = "gone"


GONE = Gone.GONE


class Relabeling(NamedTuple):
    """Another label for a document, as long as it still has this one."""

    key: str
    label: str
    new_label: str


class Relabeled(NamedTuple):
    """What became of relabelings, and the version of the corpus after them."""

    done: list[Relabeling]
    left: dict[str, str | Gone | None]  # by key, the label that a document has now
    version: int


def change(
    database: Database,
    corpus_id: str,
    changes: Mapping[str, Mapping[str, Any]],
    limits: ReadLimits,
    remembered: RememberedTexts,
    quota: StorageQuota = UNLIMITED,
) -> Changed:
    """Change documents by their keys: `text`, `label`, `fields` and `vector`, as far as given; all of them, or none.

    Raises CorpusNotFound, DocumentNotFound, MalformedRequest, QuotaExceeded.
    """
    store = Store(database, corpus_id, "replace", remembered=remembered, quota=quota)
    with database.sessions.begin() as session:
        version = store.lock(session)
        found = store.current(session, [Row(0, "", key, None) for key in changes])
        check_found(corpus_id, [key for key in changes if key not in found])
        written = put_changes(session, store, version, found, changes, limits)
        if written.stored:
            version += 1
            store.set_version(session, version)
    return Changed(len(written.replaced), len(written.unchanged), version)


def relabel(
    database: Database,
    corpus_id: str,
    relabelings: Sequence[Relabeling],
    limits: ReadLimits,
    remembered: RememberedTexts,
    quota: StorageQuota = UNLIMITED,
) -> Relabeled:
    """Give documents another label, each once, but for those whose label is no longer what it was.

    All of it is one version of the corpus, of which a few texts at a time are held.

    Raises CorpusNotFound, QuotaExceeded.
    """
    store = Store(database, corpus_id, "replace", remembered=remembered, quota=quota)
    done: list[Relabeling] = []
    left: dict[str, str | Gone | None] = {}
    with database.sessions.begin() as session:
        version = store.lock(session)
        for first in range(0, len(relabelings), RELABELED_AT_ONCE):
            some = relabelings[first : first + RELABELED_AT_ONCE]
            found = store.current(session, [Row(0, "", each.key, None) for each in some])
            labels = {each.key: found[each.key].label if each.key in found else GONE for each in some}
            still = [each for each in some if labels[each.key] == each.label]
            changes = {each.key: {"label": each.new_label} for each in still}
            if changes:
                put_changes(session, store, version, found, changes, limits)
            done += still
            left |= {key: label for key, label in labels.items() if key not in changes}
        if done:
            version += 1
            store.set_version(session, version)
    return Relabeled(done, left, version)


def put_changes(
    session: Session,
    store: Store,
    version: int,
    found: Mapping[str, Current],
    changes: Mapping[str, Mapping[str, Any]],
    limits: ReadLimits,
) -> Written:
    """Put changed documents in the place of those that were found, in the version after this one.

    Of one version only one call may change texts. Raises MalformedRequest.
    """
    rows = [changed_row(found[key], change, limits) for key, change in changes.items()]
    store.know_texts(session, version)
    written = store.put(session, rows, version + 1)
    if written.refused:
        raise MalformedRequest(f"nothing is changed: {written.refused[0].reason}")
    return written


def changed_row(current: Current, change: Mapping[str, Any], limits: ReadLimits) -> Row:
    """A document with its changes, by the rules of uploads. Raises MalformedRequest."""
    build = RowBuilder(limits)
    label, fields = change.get("label", current.label), change.get("fields", current.fields)
    try:
        vector = (vector_bytes(change["vector"]) or b"") if "vector" in change else None
        if current.is_counts and "text" not in change:
            row = build.row(0, [""], current.key, label, fields)._replace(text=current.text, is_counts=True)
        else:
            row = build.row(0, [change.get("text", current.text)], current.key, label, fields)
        return row._replace(vector=vector)
    except BadRow as error:
        raise MalformedRequest(f"the document {current.key!r} cannot be changed so: {error}") from error


def remove(
    database: Database, corpus_id: str, which: Sequence[ColumnElement[bool]], keys: Sequence[str], erase: bool
) -> Changed:
    """Delete the documents that meet all conditions, with or without a trace; each of the keys must be there.

    Raises CorpusNotFound, DocumentNotFound, or CorpusInUse if a job that has not ended needs what is to be erased.
    """
    store = Store(database, corpus_id)
    mine = Document.corpus_id == corpus_id
    with database.sessions.begin() as session:
        version = store.lock(session) + 1
        check_found(corpus_id, missing_keys(session, keys, mine, *(() if erase else (IS_CURRENT, *which))))
        gone = update(Document).where(mine, IS_CURRENT, *which).values(until=version)
        n_gone = change_rows(session, gone)
        if erase:
            ended = select(Document.key).where(mine, Document.until == version)
            freed = erase_texts(session, corpus_id, Document.key.in_(keys) | Document.key.in_(ended))
            store.grown = store.grown.plus(0, -freed)
            store.settle(session)
        if n_gone:
            forget_texts(session, corpus_id)
            store.set_version(session, version)
    return Changed(n_gone, 0, version if n_gone else version - 1)


def missing_keys(session: Session, keys: Sequence[str], *conditions: ColumnElement[bool]) -> list[str]:
    """Those of some keys that no document has which meets the conditions."""
    found = set(session.scalars(select(Document.key).where(Document.key.in_(keys), *conditions))) if keys else set()
    return [key for key in keys if key not in found]


def erase_texts(session: Session, corpus_id: str, is_chosen: ColumnElement[bool]) -> int:
    """Take the texts of documents, as they are and as they were, out of the database; returns how many bytes.

    Raises CorpusInUse.
    """
    job_id = unfinished_job(session, corpus_id)
    if job_id is not None:
        raise CorpusInUse(f"job {job_id} over corpus {corpus_id} has not ended; cancel it first, then erase")
    mine = and_(Document.corpus_id == corpus_id, is_chosen)
    first, last = session.execute(select(func.min(Document.version), func.max(Document.until)).where(mine)).one()
    if first is None:
        return 0
    freed = bytes_of(session, mine)
    is_within = and_(Encoding.corpus_id == corpus_id, Encoding.corpus_version >= first, Encoding.corpus_version < last)
    ids = select(Encoding.id).where(is_within)
    quietly = {"synchronize_session": False}
    if session.get_bind().dialect.name == "sqlite":
        session.connection().exec_driver_sql("PRAGMA secure_delete=ON")  # else texts stay in pages that are free
    session.execute(update(Job).where(Job.encoding_id.in_(ids)).values(encoding_id=None).execution_options(**quietly))
    session.execute(delete(Encoding).where(is_within).execution_options(**quietly))
    theirs = DocumentVector.document_id.in_(select(Document.id).where(mine))
    session.execute(delete(DocumentVector).where(theirs).execution_options(**quietly))
    session.execute(update(Document).where(mine).values(text="", fields=None, erased=True).execution_options(**quietly))
    noted = update(TextIndex).where(TextIndex.corpus_id == corpus_id).values(n_erasures=TextIndex.n_erasures + 1)
    session.execute(noted.execution_options(**quietly))
    return freed


def check_found(corpus_id: str, missing: Sequence[str]) -> None:
    """Raise DocumentNotFound, naming the keys that are not there."""
    if missing:
        reasons = [{"where": key, "reason": "no document has this key"} for key in missing[:MAX_MISSING]]
        n = "1 key is" if len(missing) == 1 else f"{len(missing)} keys are"
        raise DocumentNotFound(f"{n} not in corpus {corpus_id}, so nothing is changed", reasons)
