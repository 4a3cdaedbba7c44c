"""Uploads: bytes to rows, batch by batch, with a reason for every line that cannot be used."""

from collections.abc import AsyncIterable
from dataclasses import dataclass, field

from sqlalchemy import func, insert, select, update
from sqlalchemy.orm import Session, sessionmaker
from starlette.concurrency import run_in_threadpool

from app.errors import CorpusNotFound, IdempotencyKeyReused, NothingAccepted, UploadTooLarge
from app.idempotency import touch
from app.models import Corpus, Document
from app.rows import BadLine, LineReader, Row

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


async def receive(chunks: AsyncIterable[bytes], reader: LineReader, store: "Store", max_bytes: int) -> Report:
    """Store the rows of an upload as documents of a corpus, in short transactions while it comes in.

    Holds one batch and one line at most. Raises MalformedRequest for a CSV file without a usable header,
    NothingAccepted if no line was usable, UploadTooLarge past `max_bytes` (what came before stays),
    CorpusNotFound, and IdempotencyKeyReused for lines unlike those that came before under the key.
    """
    report, batch = Report(), Batch()
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


async def pass_by(chunks: AsyncIterable[bytes], max_bytes: int) -> None:
    """Read an upload that is not to be stored. Raises UploadTooLarge."""
    bytes_left = max_bytes
    async for chunk in chunks:
        bytes_left -= len(chunk)
        if bytes_left < 0:
            raise UploadTooLarge(f"the upload is larger than {max_bytes} bytes")


class Store:
    """Writes the batches of one upload; under an idempotency key, only lines that are not here yet.

    `upload_id` is the row of the key. A batch is written as a whole or not at all, and an upload that is
    sent again falls into the same batches: so documents without a key get the numbers they would have got.
    """

    def __init__(self, sessions: sessionmaker[Session], corpus_id: str, upload_id: int | None = None) -> None:
        self.sessions = sessions
        self.corpus_id = corpus_id
        self.upload_id = upload_id
        self.version = -1  # of the corpus after this upload's last batch
        self.n_documents = 0  # in the corpus at that version

    def write(self, batch: Batch, report: Report) -> None:
        """Insert the batch's documents in one transaction, and report them. Raises CorpusNotFound.

        A row whose key is taken becomes a bad line. The corpus row is locked by the new version, so
        what is looked up here stays true until the commit, whoever else uploads.
        """
        here: list[Row] = []
        if batch.rows:
            with self.sessions.begin() as session:
                is_open = self.upload_id is None or touch(session, self.upload_id)
                here = self.already_here(session, batch)
                lines = {row.line for row in here}
                batch.rows = [row for row in batch.rows if row.line not in lines]
                if batch.rows:
                    self.insert(session, batch, is_open)
        report.add(here + batch.rows, batch.bad_lines)

    def already_here(self, session: Session, batch: Batch) -> list[Row]:
        """The batch's rows that an earlier try of this upload has stored. Raises IdempotencyKeyReused."""
        if self.upload_id is None:
            return []
        lines = Document.line.between(batch.rows[0].line, batch.rows[-1].line)
        stored = session.scalars(select(Document).where(Document.upload_id == self.upload_id, lines))
        by_line = {document.line: document for document in stored}
        here = [row for row in batch.rows if row.line in by_line]
        for row in here:
            first = by_line[row.line]
            if (first.text, first.label, first.key) != (row.text, row.label, row.key or first.key):
                raise IdempotencyKeyReused(f"line {row.line} is not the one that came before under the key")
        return here

    def insert(self, session: Session, batch: Batch, is_open: bool) -> None:
        """Insert the batch's rows under a new version of the corpus; an upload that has ended takes no more."""
        version = self.next_version(session)
        batch.rows = self.with_keys(session, batch)
        if batch.rows:
            if not is_open:
                raise IdempotencyKeyReused("an upload under this key, with another body, has ended meanwhile")
            session.execute(insert(Document), [self.values(row, version) for row in batch.rows])
        self.version, self.n_documents = version, self.n_documents + len(batch.rows)

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
            "upload_id": self.upload_id,
            "line": None if self.upload_id is None else row.line,
        }


def shortened(key: str) -> str:
    """A key as it is quoted in a reason."""
    return repr(key if len(key) <= 50 else key[:49] + "…")
