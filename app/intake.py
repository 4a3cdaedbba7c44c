"""Uploads: bytes to rows, batch by batch, with a reason for every line that cannot be used."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from sqlalchemy import func, insert, select, update
from sqlalchemy.orm import Session, sessionmaker
from starlette.concurrency import run_in_threadpool

from app.csv_rows import CsvReader
from app.errors import CorpusNotFound, NothingAccepted, UploadTooLarge
from app.models import Corpus, Document
from app.rows import BadLine, NdjsonReader, Row

BATCH_ROWS = 1_000
BATCH_BYTES = 2**23
MAX_ERRORS = 1_000  # told one by one; all are counted


@dataclass
class Report:
    """What became of an upload's lines."""

    labeled: int = 0
    unlabeled: int = 0
    empty: int = 0  # of the accepted documents, those without text
    rejected: int = 0
    errors: list[BadLine] = field(default_factory=list)
    ignored_fields: list[str] = field(default_factory=list)

    @property
    def accepted(self) -> int:
        """Documents that are in the corpus now."""
        return self.labeled + self.unlabeled

    def add(self, rows: list[Row], bad_lines: list[BadLine]) -> None:
        """Count a batch."""
        n_labeled = sum(row.label is not None for row in rows)
        self.labeled += n_labeled
        self.unlabeled += len(rows) - n_labeled
        self.empty += sum(not row.text for row in rows)
        self.rejected += len(bad_lines)
        self.errors += sorted(bad_lines)[: MAX_ERRORS - len(self.errors)]


@dataclass
class Batch:
    """Rows and bad lines since the last transaction."""

    rows: list[Row] = field(default_factory=list)
    bad_lines: list[BadLine] = field(default_factory=list)
    n_bytes: int = 0

    @property
    def is_full(self) -> bool:
        """Whether it is time to write."""
        return len(self.rows) + len(self.bad_lines) >= BATCH_ROWS or self.n_bytes >= BATCH_BYTES

    def add(self, found: Row | BadLine) -> None:
        """Take what a reader found."""
        if isinstance(found, Row):
            self.rows.append(found)
            self.n_bytes += len(found.text)
        else:
            self.bad_lines.append(found)


async def receive(
    chunks: AsyncIterator[bytes],
    reader: NdjsonReader | CsvReader,
    sessions: sessionmaker[Session],
    corpus_id: str,
    max_bytes: int,
) -> Report:
    """Store the rows of an upload as documents of a corpus, in short transactions while it comes in.

    Holds one batch and one line at most. Raises MalformedRequest for a CSV file without a usable header,
    NothingAccepted if no line was usable, UploadTooLarge past `max_bytes` (what came before stays), and
    CorpusNotFound.
    """
    report, batch, store = Report(), Batch(), Store(sessions, corpus_id)
    bytes_left = max_bytes
    async for chunk in chunks:
        for found in reader.feed(chunk[:bytes_left]):
            batch.add(found)
            if batch.is_full:
                await run_in_threadpool(store.write, batch, report)
                batch = Batch()
        bytes_left -= len(chunk)
        if bytes_left < 0:
            await run_in_threadpool(store.write, batch, report)
            raise UploadTooLarge(
                f"the upload is larger than {max_bytes} bytes; {report.accepted} rows before that were accepted"
            )
    for found in reader.end():
        batch.add(found)
    await run_in_threadpool(store.write, batch, report)
    report.ignored_fields = list(reader.ignored)
    if report.rejected and not report.accepted:
        errors = [{"where": f"line {line}", "reason": reason} for line, reason in report.errors]
        raise NothingAccepted(f"none of {report.rejected} lines could be used", errors)
    return report


class Store:
    """Writes the batches of one upload."""

    def __init__(self, sessions: sessionmaker[Session], corpus_id: str) -> None:
        self.sessions = sessions
        self.corpus_id = corpus_id
        self.version = -1  # of the corpus after this upload's last batch
        self.n_documents = 0  # in the corpus at that version

    def write(self, batch: Batch, report: Report) -> None:
        """Insert the batch's documents in one transaction, and report them. Raises CorpusNotFound.

        A row whose key is taken becomes a bad line. The corpus row is locked by the new version, so
        what is looked up here stays true until the commit, whoever else uploads.
        """
        if batch.rows:
            with self.sessions.begin() as session:
                version = self.next_version(session)
                rows = self.with_keys(session, batch)
                if rows:
                    session.execute(insert(Document), [self.values(row, version) for row in rows])
            self.version, self.n_documents = version, self.n_documents + len(rows)
            batch.rows = rows
        report.add(batch.rows, batch.bad_lines)

    def next_version(self, session: Session) -> int:
        """Lock the corpus under a new version, and know how many documents it holds."""
        version = session.scalar(
            update(Corpus)
            .where(Corpus.id == self.corpus_id)
            .values(version=Corpus.version + 1)
            .returning(Corpus.version)
            .execution_options(synchronize_session=False)
        )
        if version is None:
            raise CorpusNotFound(f"there is no corpus {self.corpus_id}")
        if version != self.version + 1:  # somebody else's batch came in between, or this is the first
            count = select(func.count()).select_from(Document).where(Document.corpus_id == self.corpus_id)
            self.n_documents = session.scalar(count) or 0
        return version

    def with_keys(self, session: Session, batch: Batch) -> list[Row]:
        """The batch's rows that have a key of their own, given or by number; the others become bad lines."""
        taken = self.taken(session, [row.key for row in batch.rows if row.key is not None])
        rows: list[Row] = []
        for row in batch.rows:
            if row.key is None:
                continue
            if row.key in taken:
                batch.bad_lines.append(BadLine(row.line, f"the key {shortened(row.key)} is already in the corpus"))
            else:
                taken.add(row.key)
                rows.append(row)
        return sorted(rows + self.numbered(session, batch, taken), key=lambda row: row.line)

    def numbered(self, session: Session, batch: Batch, taken: set[str]) -> list[Row]:
        """The batch's rows without a key, each under the next number that is free as a key."""
        rows = [row for row in batch.rows if row.key is None]
        keys: list[str] = []
        number = self.n_documents + len(batch.rows) - len(rows)
        while len(keys) < len(rows):
            wanted = range(number + 1, number + 1 + len(rows) - len(keys))
            candidates = [f"document-{n}" for n in wanted]
            taken |= self.taken(session, candidates)
            keys += [key for key in candidates if key not in taken]
            number = wanted[-1]
        return [row._replace(key=key) for row, key in zip(rows, keys, strict=True)]

    def taken(self, session: Session, keys: list[str]) -> set[str]:
        """Those of the keys that are in the corpus."""
        if not keys:
            return set()
        found = select(Document.key).where(Document.corpus_id == self.corpus_id, Document.key.in_(keys))
        return set(session.scalars(found))

    def values(self, row: Row, version: int) -> dict[str, object]:
        """The row as a document of the corpus."""
        return {
            "corpus_id": self.corpus_id,
            "version": version,
            "key": row.key,
            "text": row.text,
            "label": row.label,
        }


def shortened(key: str) -> str:
    """A key as it is quoted in a reason."""
    return repr(key if len(key) <= 50 else key[:49] + "…")
