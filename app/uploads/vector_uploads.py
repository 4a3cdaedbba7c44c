"""Vectors for documents that are in a corpus already: a file of keys and vectors, as one version of the corpus.

The file is read once, while nobody waits for it; what it says then goes into the database in one transaction.
"""

import struct
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, NamedTuple, cast

from sqlalchemy import func, insert, literal, select, update
from sqlalchemy.orm import Session

from app.core.db import Database
from app.core.document_vectors import brought_vectors, has_vector
from app.core.errors import MalformedRequest, NothingAccepted
from app.core.kinds import BROUGHT
from app.core.quotas import UNLIMITED, StorageQuota
from app.core.tables import FOREVER, IS_CURRENT, Corpus, Document, DocumentVector
from app.uploads import intake
from app.uploads.formats.reading import Reading
from app.uploads.inflate import IN_MEMORY
from app.uploads.intake import Report
from app.uploads.row_vectors import fitting, set_length
from app.uploads.rows import BadLine, Row, shortened
from app.uploads.store import Store

AT_ONCE = 1_000  # rows
HEAD = struct.Struct("<QHI")  # of a row in the spool: its line, and the bytes of its key and of its vector


class Put(NamedTuple):
    """What became of the rows of a file of vectors, and the corpus after them."""

    n_changed: int  # documents that have another vector now
    n_removed: int  # that have none any more
    n_unchanged: int
    version: int
    length: int | None


class Spool:
    """Rows of keys and vectors in a file of their own, as they are stored."""

    def __init__(self, folder: str) -> None:
        self.file = cast(BinaryIO, SpooledTemporaryFile(max_size=IN_MEMORY, dir=folder))  # noqa: SIM115

    def add(self, rows: Sequence[Row]) -> None:
        """Write some rows."""
        for row in rows:
            key, vector = str(row.key).encode(), row.vector or b""
            self.file.write(HEAD.pack(row.line, len(key), len(vector)) + key + vector)

    def rows(self) -> Iterator[Row]:
        """All rows from the beginning."""
        self.file.seek(0)
        while head := self.file.read(HEAD.size):
            line, n_key, n_vector = HEAD.unpack(head)
            key = self.file.read(n_key).decode()
            yield Row(line, "", key, None, vector=self.file.read(n_vector))


def check_has_vectors(reading: Reading) -> None:
    """Raise MalformedRequest for a file in a format that has no vectors."""
    if reading.columns.get("vector") is None or reading.columns.get("key") is None:
        raise MalformedRequest(
            f"the file is read as {reading.format}, which has no keys with vectors: send NDJSON, JSON, CSV, XLSX, "
            "Parquet, or what numpy.savez(file, keys=keys, vectors=vectors) writes"
        )


async def spooled(reading: Reading, spool: Spool, report: Report) -> None:
    """Read a file into the spool; the report has the lines that cannot be used."""
    found = reading.rows()
    while some := await intake.read(partial(take, found, spool, report)):
        del some


def take(found: Iterator[Row | BadLine], spool: Spool, report: Report) -> int:
    """Spool some rows; returns how many were read."""
    rows, refused = [], []
    some = list(islice(found, AT_ONCE))
    for each in some:
        if isinstance(each, BadLine):
            refused.append(each)
        elif each.key is None:
            refused.append(BadLine(each.line, "the key is missing: it says which document the vector is of"))
        else:
            rows.append(each)
    spool.add(rows)
    report.refuse(refused)
    return len(some)


def put(
    database: Database,
    corpus_id: str,
    spool: Spool,
    report: Report,
    is_whole: bool,
    quota: StorageQuota = UNLIMITED,
) -> tuple[Put, Report]:
    """Give documents the vectors of the spool, all as one version; and what else could not be used.

    Raises CorpusNotFound, NothingAccepted, QuotaExceeded, and UploadAborted if `is_whole` and a row cannot be used.
    """
    report = Report(rejected=report.rejected, errors=list(report.errors))  # the transaction may be tried again
    store = Store(database, corpus_id, quota=quota)
    with database.sessions.begin() as session:
        version = store.lock(session) + 1
        writing = Writing(session, corpus_id, version)
        rows = spool.rows()
        while some := list(islice(rows, AT_ONCE)):
            report.refuse(writing.put(some))
        report.errors.sort()
        if is_whole:
            report.check_all()
        check(writing, report)
        if writing.n_changed + writing.n_removed:
            store.grown = store.grown.plus(0, writing.n_bytes)
            store.set_version(session, version)
        else:
            version -= 1
        length = session.scalar(select(Corpus.vector_length).where(Corpus.id == corpus_id))
    return Put(writing.n_changed, writing.n_removed, writing.n_unchanged, version, length), report


def check(writing: "Writing", report: Report) -> None:
    """Raise NothingAccepted, with the reasons, if not one row could be used."""
    if writing.n_changed + writing.n_removed + writing.n_unchanged:
        return
    reason = f"none of the {report.rejected} rows could be used" if report.rejected else "the file has no row"
    raise NothingAccepted(reason, report.faults, {"accepted": 0, "rejected": report.rejected})


class Writing:
    """Writes vectors under one new version of a corpus, which is locked."""

    def __init__(self, session: Session, corpus_id: str, version: int) -> None:
        self.session = session
        self.corpus_id = corpus_id
        self.version = version
        self.length = session.scalar(select(Corpus.vector_length).where(Corpus.id == corpus_id))
        self.is_length_stored = self.length is not None
        self.n_changed = self.n_removed = self.n_unchanged = self.n_bytes = 0

    def put(self, rows: Sequence[Row]) -> list[BadLine]:
        """Write the vectors of some rows; returns those that cannot be used."""
        found = fitting(rows, self.length)
        self.length = found.length
        mine = (Document.corpus_id == self.corpus_id, IS_CURRENT, Document.key.in_([row.key for row in found.rows]))
        rows_found = self.session.execute(select(Document.key, Document.id).where(*mine))
        ids = {str(key): int(document_id) for key, document_id in rows_found}
        now = brought_vectors(self.session, list(ids.values()), FOREVER)
        refused, values = list(found.refused), []
        for row in found.rows:
            document_id, vector = ids.get(str(row.key)), row.vector or b""
            if document_id is None:
                refused.append(BadLine(row.line, f"no document of the corpus has the key {shortened(str(row.key))}"))
                continue
            since, data = now.get(document_id, (0, b""))
            if vector == data:
                self.n_unchanged += 1
            elif since == self.version:
                refused.append(BadLine(row.line, f"the key {shortened(str(row.key))} comes again, with another vector"))
            else:
                now[document_id] = self.version, vector
                values.append(value_of(document_id, self.version, vector))
                self.n_changed += bool(vector)
                self.n_removed += not vector
        self.store(values)
        return refused

    def store(self, values: Sequence[dict[str, Any]]) -> None:
        """Insert rows; the first vector of a corpus says how long all are."""
        self.n_bytes += sum(len(each["data"]) for each in values)
        if values:
            self.session.connection().execute(insert(DocumentVector), values)
        if self.length is not None and self.n_changed and not self.is_length_stored:
            set_length(self.session, self.corpus_id, self.length)
            self.is_length_stored = True


def value_of(document_id: int, version: int, data: bytes) -> dict[str, Any]:
    """A vector as a row of the database."""
    return {"document_id": document_id, "made_by": BROUGHT, "version": version, "data": data}


def remove_all(database: Database, corpus_id: str) -> Put:
    """Take the vectors that documents have brought out of the versions of a corpus to come. Raises CorpusNotFound.

    Vectors that come afterwards may have another length.
    """
    store = Store(database, corpus_id)
    with database.sessions.begin() as session:
        version = store.lock(session) + 1
        mine = (Document.corpus_id == corpus_id, IS_CURRENT, has_vector(FOREVER))
        columns = (Document.id, literal(BROUGHT), literal(version), literal(b""))
        names = ("document_id", "made_by", "version", "data")
        n_removed = session.scalar(select(func.count()).where(*mine)) or 0
        session.connection().execute(insert(DocumentVector).from_select(names, select(*columns).where(*mine)))
        forget = update(Corpus).where(Corpus.id == corpus_id).values(vector_length=None)
        session.execute(forget.execution_options(synchronize_session=False))
        if n_removed:
            store.set_version(session, version)
    return Put(0, n_removed, 0, version if n_removed else version - 1, None)
