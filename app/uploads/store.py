"""The writing side of an upload: batches of rows become documents, in short transactions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import func, insert, select, update
from sqlalchemy.orm import Session

from app.core.db import Database, insert_missing
from app.core.errors import CorpusNotFound, IdempotencyKeyReused
from app.core.idempotency import touch
from app.core.tables import Corpus, Document, TextBatch
from app.uploads.rows import BadLine, Row
from app.uploads.texts import RememberedTexts, batch_of, count_copies, digests_of

BATCH_ROWS = 1_000
BATCH_BYTES = 2**19  # of memory; a character beyond ASCII may make each of its text take four


@dataclass
class Batch:
    """Rows and bad lines that are reported together, after the rows were stored in one transaction."""

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
            self.n_bytes += size(found.text) + size(found.key or "") + size(found.label or "")
        else:
            self.bad_lines.append(found)


def size(value: str) -> int:
    """Bytes of memory that a field takes at most."""
    return len(value) if value.isascii() else 4 * len(value)


class Written(NamedTuple):
    """What became of a batch's rows."""

    version: int  # of the corpus, if any row was stored
    stored: list[Row]  # each under its key
    refused: list[BadLine]  # rows whose key is taken
    n_copies: int = 0  # of the stored ones, those whose text was there before


class Store:
    """Writes the batches of one upload; under an idempotency key, only lines that are not here yet.

    `upload_id` is the row of the key. A batch is written as a whole or not at all, and an upload that is
    sent again falls into the same batches: so documents without a key get the numbers they would have got.
    """

    def __init__(
        self,
        database: Database,
        corpus_id: str,
        upload_id: int | None = None,
        check_room: Callable[[], None] = lambda: None,
        remembered: RememberedTexts | None = None,
    ) -> None:
        """`check_room` raises StorageFull if nothing more may be written; `remembered` is for all uploads."""
        self.database = database
        self.check_room = check_room
        self.corpus_id = corpus_id
        self.upload_id = upload_id
        self.n_documents = 0  # of the corpus, up to `last_id`
        self.last_id = 0
        self.remembered = remembered or RememberedTexts()
        self.texts = self.remembered.of(corpus_id)
        self.versions: set[int] = set()  # of batches that were here already, and whose copies are counted
        self.unsure: Written | None = None  # of a batch whose transaction failed, perhaps after its commit

    def look(self) -> None:
        """Count what the corpus holds, while nobody waits for it. Raises CorpusNotFound."""
        self.check_room()
        with self.database.readers.begin() as session:
            found = session.get(Corpus, self.corpus_id)
            if found is None or found.deleted_at is not None:
                raise CorpusNotFound(f"there is no corpus {self.corpus_id}")
            self.count(session)

    def write(self, batch: Batch) -> Written:
        """Store the batch's rows in one transaction, all but those whose key is taken. Raises CorpusNotFound.

        The corpus row is locked, so what is found here stays true until the commit, whoever else uploads. If the
        transaction fails it may be tried again, also when nobody knows whether its commit came through.
        """
        if not batch.rows:
            return Written(0, [], [])
        self.check_room()
        with self.database.sessions.begin() as session:
            is_open = self.upload_id is None or touch(session, self.upload_id)
            version = self.lock(session) + 1
            here, versions = self.already_here(session, batch.rows)
            n_copies = count_copies(session, self.corpus_id, sorted(versions - self.versions)) if here else 0
            if self.unsure is None or not self.is_stored(session, self.unsure):
                self.count(session)
                self.unsure = self.insert(session, without(batch.rows, here), version)
                if self.unsure.stored:
                    if not is_open:
                        raise IdempotencyKeyReused(
                            "meanwhile an upload under this key, with another body, has been completed"
                        )
                    session.execute(update(Corpus).where(Corpus.id == self.corpus_id).values(version=version))
            written = self.unsure
        self.unsure = None
        self.versions |= versions
        return written._replace(stored=written.stored + here, n_copies=written.n_copies + n_copies)

    def lock(self, session: Session) -> int:
        """Lock the corpus; returns its version."""
        found = select(Corpus.version).where(Corpus.id == self.corpus_id, Corpus.deleted_at.is_(None))
        version = session.scalar(found.with_for_update(key_share=True))
        if version is None:
            raise CorpusNotFound(f"there is no corpus {self.corpus_id}")
        return version

    def count(self, session: Session) -> None:
        """Count the documents and know the texts that came since the last look.

        Ids ascend with the versions of a corpus.
        """
        newer = (Document.corpus_id == self.corpus_id, Document.id > self.last_id)
        n_documents, last_id = session.execute(select(func.count(), func.max(Document.id)).where(*newer)).one()
        self.n_documents += n_documents
        self.last_id = last_id or self.last_id
        self.texts = self.texts.with_newer(session, self.corpus_id)
        self.remembered.keep(self.corpus_id, self.texts)

    def is_stored(self, session: Session, written: Written) -> bool:
        """Whether what was written before a commit that failed is in the corpus after all.

        Under an idempotency key it need not be known: the lines that are here tell.
        """
        if self.upload_id is not None:
            return False
        mine = (Document.corpus_id == self.corpus_id, Document.id > self.last_id, Document.version == written.version)
        found = set(session.scalars(select(Document.key).where(*mine)))
        return bool(found) and found == {row.key for row in written.stored}

    def already_here(self, session: Session, rows: list[Row]) -> tuple[list[Row], set[int]]:
        """The rows that an earlier try of this upload has stored, and the versions they came in.

        Raises IdempotencyKeyReused.
        """
        if self.upload_id is None:
            return [], set()
        columns = select(Document.version, Document.line, Document.text, Document.label, Document.key)
        lines = Document.line.between(rows[0].line, rows[-1].line)
        stored = session.execute(columns.where(Document.upload_id == self.upload_id, lines)).all()
        by_line = {line: tuple(fields) for _, line, *fields in stored}
        here = [row for row in rows if row.line in by_line]
        for row in here:
            *_, key = first = by_line[row.line]
            if first != (row.text, row.label, row.key or key):
                raise IdempotencyKeyReused(f"line {row.line} differs from the one that was sent before under this key")
        return here, {document.version for document in stored}

    def insert(self, session: Session, rows: list[Row], version: int) -> Written:
        """Insert the rows under a new version of the corpus, each whose key is free or given by number."""
        named = Named(rows, self.n_documents)
        stored: list[Row] = []
        while named.rows:
            keys = insert_missing(session, Document, [self.values(row, version) for row in named.rows], "key")
            stored += [row for row in named.rows if row.key in keys]
            named.keep([row for row in named.rows if row.key not in keys])
        return Written(version, stored, named.refused, self.insert_texts(session, stored, version))

    def insert_texts(self, session: Session, rows: list[Row], version: int) -> int:
        """Insert what texts the rows brought; returns how many of them have a text that was there before."""
        texts = digests_of(row.text for row in rows)
        new = self.texts.new_among(texts)
        if texts.size:
            session.connection().execute(insert(TextBatch), batch_of(self.corpus_id, version, texts, new))
        return texts.size - new.size

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


class Named:
    """Rows of a batch, each under a key of its own: the one it came with, or its number in the corpus.

    It depends on nothing but the rows and how many documents there were before them, so that a batch which
    is written again gives the same keys.
    """

    def __init__(self, rows: Sequence[Row], n_documents: int) -> None:
        self.given: set[str] = set()
        self.refused: list[BadLine] = []
        self.number = n_documents
        self.gap = 0
        self.rows = list(self.named(list(self.first_of_each(rows))))

    def first_of_each(self, rows: Sequence[Row]) -> Iterator[Row]:
        """The rows but for those whose key has come before."""
        for row in rows:
            if row.key is None:
                yield row
            elif row.key in self.given:
                self.refuse(row)
            else:
                self.given.add(row.key)
                yield row

    def named(self, rows: Sequence[Row]) -> Iterator[Row]:
        """The rows, those without a key under their number; a number that came as a key is passed over."""
        for row in rows:
            self.number += 1
            if row.key is not None:
                yield row
                continue
            while f"document-{self.number}" in self.given:
                self.number += 1
            yield row._replace(key=f"document-{self.number}")

    def keep(self, rows: Sequence[Row]) -> None:
        """Keep the rows whose keys turned out to be taken: under later numbers, or refused.

        The gap to the next number doubles each time: somebody may have taken a million of them as keys.
        """
        for row in rows:
            if row.key in self.given:
                self.refuse(row)
        numbered = [row._replace(key=None) for row in rows if row.key not in self.given]
        self.number += self.gap
        self.gap = 2 * self.gap + len(numbered)
        self.rows = list(self.named(numbered))

    def refuse(self, row: Row) -> None:
        """Make a bad line of a row whose key is taken."""
        self.refused.append(BadLine(row.line, f"the key {shortened(row.key or '')} is already in the corpus"))


def without(rows: Sequence[Row], others: Sequence[Row]) -> list[Row]:
    """The rows that are not among the others, by their lines."""
    lines = {row.line for row in others}
    return [row for row in rows if row.line not in lines]


def shortened(key: str) -> str:
    """A key as it is quoted in a reason."""
    return repr(key if len(key) <= 50 else key[:49] + "…")
