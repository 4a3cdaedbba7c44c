"""The writing side of an upload: batches of rows become documents, in short transactions."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.orm import Session

from app.core.db import Database, insert_missing
from app.core.errors import CorpusNotFound, UploadTooLarge
from app.core.lifecycle import find_corpus
from app.core.quotas import NOTHING, UNLIMITED, StorageQuota, bytes_of, grow
from app.core.quotas import size as size_of
from app.core.tables import FOREVER, IS_CURRENT, Corpus, Document, TextBatch
from app.uploads.corpus_counts import count_documents
from app.uploads.current import CURRENT, Current, difference, is_repeated
from app.uploads.keys import DerivedKeys, FirstLines
from app.uploads.row_vectors import RowVectors, with_vectors
from app.uploads.rows import MAX_ERRORS, BadLine, Row, shortened
from app.uploads.texts import RememberedTexts, batch_of, digests_of, forget_texts, note_again

BATCH_ROWS = 4_000
BATCH_BYTES = 2**22  # of memory; a character beyond ASCII may make each of its text take four

OnConflict = Literal["refuse", "replace"]


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
            self.n_bytes += size(found.text) + size(found.key or "") + len(found.vector or b"")
        else:
            self.bad_lines.append(found)


def size(value: str) -> int:
    """Bytes of memory that a value takes at most."""
    return len(value) if value.isascii() else 4 * len(value)


@dataclass
class Written:
    """What became of a batch's rows, or would become of them."""

    version: int = 0  # of the corpus, if any row was stored
    added: list[Row] = field(default_factory=list)  # each under its key
    replaced: list[Row] = field(default_factory=list)  # in the place of others
    unchanged: list[Row] = field(default_factory=list)  # that were there before, just as they are
    refused: list[BadLine] = field(default_factory=list)  # rows whose key is taken
    n_copies: int = 0  # of the stored ones, those whose text was there before

    @property
    def stored(self) -> list[Row]:
        """The rows that changed the corpus."""
        return self.added + self.replaced


class Store:
    """Writes the batches of one upload: each as a whole or not at all, and again if nobody knows whether it was."""

    def __init__(
        self,
        database: Database,
        corpus_id: str,
        on_conflict: OnConflict = "refuse",
        max_documents: int = FOREVER,
        check_room: Callable[[], None] = lambda: None,
        remembered: RememberedTexts | None = None,
        quota: StorageQuota = UNLIMITED,
    ) -> None:
        """`check_room` raises StorageFull if nothing more may be written; `remembered` is for all uploads."""
        self.database = database
        self.corpus_id = corpus_id
        self.on_conflict = on_conflict
        self.max_documents = max_documents
        self.check_room = check_room
        self.quota = quota
        self.grown = NOTHING  # what the corpus stores more, in this transaction
        self.keys = DerivedKeys()
        self.first_lines = FirstLines()
        self.new_lines = FirstLines()  # of keys that are not in the corpus, where rows are only compared
        self.remembered = remembered or RememberedTexts()
        self.texts = self.remembered.of(corpus_id)
        self.vectors = RowVectors()
        self.has_taken_texts_out = False
        self.n_refused = 0  # rows, for a key that is taken
        self.versions: list[int] = []  # of the corpus, that this upload made
        self.unsure: Written | None = None  # of a batch whose transaction failed, perhaps after its commit

    def anew(self) -> "Store":
        """A store of the same corpus to which the upload's rows come from the first one on again."""
        again = Store(
            self.database,
            self.corpus_id,
            self.on_conflict,
            self.max_documents,
            self.check_room,
            self.remembered,
            self.quota,
        )
        again.vectors = self.vectors
        return again

    def look(self) -> None:
        """See that the corpus is there, and know its texts, while nobody waits for it. Raises CorpusNotFound.

        Where some are known, the first batch asks for those that have come since: they are few.
        """
        self.check_room()
        with self.database.readers.begin() as session:
            self.vectors.length = find_corpus(session, self.corpus_id).vector_length
            if self.texts.first is None:
                self.texts = self.texts.with_newer(session, self.corpus_id)

    def named(self, batch: Batch) -> Batch:
        """The batch with a key for each row. Its turn comes once, in the order of the file."""
        rows, refused, _ = self.vectors.fitting(batch.rows)
        batch.bad_lines += refused
        batch.rows = self.keys.named(rows)
        self.first_lines.note(batch.rows)
        return batch

    def compare(self, batch: Batch) -> Written:
        """What would become of the batch, named before, if it were alone in its upload; nothing is written."""
        with self.database.readers.begin() as session:
            found = self.current(session, batch.rows)
        self.new_lines.note([row for row in batch.rows if row.key not in found])
        written = Written()
        for row in batch.rows:
            self.sort_in(row, found.get(str(row.key)), written)
        self.n_refused += len(written.refused)
        return written

    def write(self, batch: Batch) -> Written:
        """Store the batch, named before, in one transaction.

        Raises CorpusNotFound, StorageFull, UploadTooLarge, QuotaExceeded.

        The corpus row is locked, so what is found here stays true until the commit, whoever else uploads. If the
        transaction fails it may be tried again, also when nobody knows whether its commit came through.
        """
        if not batch.rows:
            return Written()
        self.check_room()
        with self.database.sessions.begin() as session:
            version = self.lock(session) + 1
            if self.unsure is None or not self.is_stored(session, self.unsure):
                self.know_texts(session, version - 1)
                self.unsure = self.put(session, batch.rows, version)
                if self.unsure.stored:
                    self.check_number(session, self.set_version(session, version))
            written = self.unsure
        self.unsure = None
        self.n_refused += len(written.refused)
        if written.stored:
            self.versions.append(written.version)
        return written

    def lock(self, session: Session) -> int:
        """Lock the corpus, first in a transaction; returns its version."""
        self.grown = NOTHING
        found = select(Corpus.version).where(Corpus.id == self.corpus_id, Corpus.deleted_at.is_(None))
        version = session.scalar(found.with_for_update(key_share=True))
        if version is None:
            raise CorpusNotFound(f"there is no corpus {self.corpus_id}")
        return version

    def set_version(self, session: Session, version: int) -> int:
        """Give the corpus, which is locked, a new version, last in a transaction, and note what it stores more or less.

        Returns the documents that it stores then, those of earlier versions included. Raises QuotaExceeded.
        """
        by, self.grown = self.grown, NOTHING
        return grow(session, self.corpus_id, by, self.quota, version)

    def settle(self, session: Session) -> None:
        """Note what the corpus stores more, or less, by this transaction. Raises QuotaExceeded."""
        by, self.grown = self.grown, NOTHING
        if by != NOTHING:
            grow(session, self.corpus_id, by, self.quota)

    def check_number(self, session: Session, stored: int) -> None:
        """Raise UploadTooLarge if the corpus has too many documents; they are counted only if it may have."""
        if stored > self.max_documents < count_documents(session, self.corpus_id):
            raise UploadTooLarge(
                f"the corpus would have more than {self.max_documents} documents (NEWFOUND_MAX_DOCUMENTS)"
            )

    def know_texts(self, session: Session, version: int) -> None:
        """Know the texts that the corpus has; once this upload has taken some out, nobody notes them for a while."""
        if not self.has_taken_texts_out:
            self.texts = self.texts.with_newer(session, self.corpus_id)
            if self.texts.first is None:
                note_again(session, self.corpus_id, version)
                self.texts = self.texts.with_newer(session, self.corpus_id)
            self.remembered.keep(self.corpus_id, self.texts)

    def is_stored(self, session: Session, written: Written) -> bool:
        """Whether what was written before a commit that failed is in the corpus after all."""
        keys = [row.key for row in written.stored]
        mine = (Document.corpus_id == self.corpus_id, IS_CURRENT, Document.version == written.version)
        found = session.scalar(select(func.count()).where(*mine, Document.key.in_(keys))) if keys else 0
        return bool(keys) and found == len(keys)

    def put(self, session: Session, rows: Sequence[Row], version: int) -> Written:
        """Insert the rows under a new version of the corpus, or see that they are there."""
        written, texts = Written(version), []
        rows, refused, _ = self.vectors.checked(session, self.corpus_id, rows)
        written.refused += refused
        rows, repeated = (rows, []) if self.on_conflict == "refuse" else without_repeated(rows)
        written.unchanged += repeated
        for turn in turns(rows, self.on_conflict):
            keys = self.insert(session, turn, version)
            added = [row for row in turn if row.key in keys]
            self.grown = self.grown.plus(0, self.vectors.put(session, self.corpus_id, version, added))
            written.added += added
            texts += [row.text for row in added]
            if left := [row for row in turn if row.key not in keys]:
                found = self.current(session, left)
                before = len(written.replaced)
                for row in left:
                    self.sort_in(row, found[str(row.key)], written)
                if replacing := written.replaced[before:]:
                    texts += self.replace(session, replacing, found, version)
        written.n_copies = self.note_texts(session, texts, version)
        return written

    def sort_in(self, row: Row, current: Current | None, written: Written) -> None:
        """Put a row with what becomes of it."""
        if current is None:
            written.added.append(row)
        elif is_repeated(current, row):
            written.unchanged.append(row)
        elif self.on_conflict == "replace":
            written.replaced.append(row)
        else:
            reason = self.conflict(row, current) if self.n_refused < MAX_ERRORS else ""
            written.refused.append(BadLine(row.line, reason))

    def conflict(self, row: Row, current: Current) -> str:
        """Why a row cannot be stored beside the document that has its key."""
        first = self.first_lines.of(str(row.key))
        if first is not None and first != row.line:
            where = f"the key {shortened(str(row.key))} of line {first} comes again"
        else:
            where = f"the key {shortened(str(row.key))} is already in the corpus"
        return f"{where}, with {difference(row, current)}; on_conflict=replace puts the later row in its place"

    def current(self, session: Session, rows: Sequence[Row]) -> dict[str, Current]:
        """The documents of the corpus that have the keys of some rows, by key."""
        mine = (Document.corpus_id == self.corpus_id, IS_CURRENT, Document.key.in_([row.key for row in rows]))
        found = {row.key: Current(*row) for row in session.execute(select(*CURRENT).where(*mine))}
        return found if all(row.vector is None for row in rows) else with_vectors(session, found)

    def insert(self, session: Session, rows: Sequence[Row], version: int) -> set[str]:
        """Insert those rows whose key is free; returns their keys."""
        values = [self.values(row, version) for row in rows]
        keys: set[str] = insert_missing(session, Document, values, "key")
        stored = [each for each in values if each["key"] in keys]
        n_bytes = sum(size_of(each["text"]) + size_of(each["fields"]) for each in stored)
        self.grown = self.grown.plus(len(stored), n_bytes)
        return keys

    def replace(self, session: Session, rows: list[Row], found: dict[str, Current], version: int) -> list[str]:
        """Put rows in the place of the documents that have their keys; returns the texts that are new by that."""
        old = [found[str(row.key)] for row in rows]
        kept = self.vectors.kept(session, rows, old)
        own = [each.id for each in old if each.version == version]
        if own:
            self.grown = self.grown.plus(-len(own), -bytes_of(session, Document.id.in_(own)))
            session.execute(delete(Document).where(Document.id.in_(own)))
        replaced = Document.id.in_([each.id for each in old if each.version < version])
        session.execute(
            update(Document).where(replaced).values(until=version).execution_options(synchronize_session=False)
        )
        self.insert(session, rows, version)
        self.grown = self.grown.plus(0, self.vectors.put(session, self.corpus_id, version, rows, kept))
        changed = [row.text for row, each in zip(rows, old, strict=True) if row.text != each.text]
        self.has_taken_texts_out = self.has_taken_texts_out or bool(changed)
        return changed

    def note_texts(self, session: Session, texts: Sequence[str], version: int) -> int:
        """Note what texts the rows brought; returns how many of them were there before."""
        digests = digests_of(texts)
        new = self.texts.new_among(digests)
        if self.has_taken_texts_out:
            forget_texts(session, self.corpus_id)
            self.texts = self.texts.plus(new)
        elif digests.size:
            session.connection().execute(insert(TextBatch), batch_of(self.corpus_id, version, digests, new))
        return digests.size - new.size

    def values(self, row: Row, version: int) -> dict[str, Any]:
        """The row as a document of the corpus."""
        return {
            "corpus_id": self.corpus_id,
            "version": version,
            "key": row.key,
            "text": row.text,
            "is_counts": row.is_counts,
            "label": row.label,
            "fields": None if row.fields is None else json.dumps(row.fields, ensure_ascii=False),
        }

    def take_back(self) -> None:
        """Take out what this upload has added, for all versions to come."""
        mine = Document.corpus_id == self.corpus_id
        with self.database.sessions.begin() as session:
            version = self.lock(session) + 1
            taken = update(Document).where(mine, IS_CURRENT, Document.version.in_(self.versions))
            session.execute(taken.values(until=version).execution_options(synchronize_session=False))
            forget_texts(session, self.corpus_id)
            self.set_version(session, version)


def turns(rows: Sequence[Row], on_conflict: OnConflict) -> Iterator[list[Row]]:
    """The rows, in portions: a key that comes again has its turn after the first.

    Where conflicts are refused nothing can become of any of those but of the first, so all others have their turn
    together. Otherwise each turn has a key once.
    """
    left = list(rows)
    while left:
        first: dict[str | None, Row] = {}
        again = [row for row in left if first.setdefault(row.key, row) is not row]
        yield list(first.values())
        if on_conflict == "refuse" and again:
            yield again
            return
        left = again


def without_repeated(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The rows without those that say what the last one before them with their key has said; and these."""
    last: dict[str | None, Row] = {}
    kept, repeated = [], []
    for row in rows:
        before = last.get(row.key)
        if before is not None and is_repeated(before, row):
            repeated.append(row)
        else:
            kept.append(row)
            last[row.key] = row
    return kept, repeated
