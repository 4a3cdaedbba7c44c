"""Uploads: bytes to rows, batch by batch, with a reason for every line that cannot be used.

The event loop takes bytes in and sees to it that things happen one after the other. Lines are read in one thread
for all uploads, since they share one interpreter, and written in a few, so that no other request waits for a
thread however many uploads there are. Only a few uploads at a time hold more than a piece, a line and a batch that
is not full: none of these waits for its client.
"""

import asyncio
import logging
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

from app.core.db import AWAY, is_disk_full
from app.core.errors import (
    CorpusNotFound,
    DatabaseUnavailable,
    NothingAccepted,
    ServiceError,
    StorageFull,
    UploadTooLarge,
)
from app.uploads.rows import BadLine, LineReader, Row
from app.uploads.store import Batch, Store

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

MAX_ERRORS = 1_000  # told one by one; all are counted
PIECE = 2**16  # bytes that are read at once, whatever a client sends
AT_WORK = 4  # uploads whose lines are being read and written
READING_THREADS, WRITING_THREADS = 1, 4
PATIENCE_SECONDS, PAUSE_SECONDS = 60.0, 0.5  # how long an upload waits for a database, and how often it asks

working: RunVar[CapacityLimiter] = RunVar("working")
reading: RunVar[CapacityLimiter] = RunVar("reading")
writing: RunVar[CapacityLimiter] = RunVar("writing")


@dataclass
class Report:
    """What became of an upload's lines."""

    labeled: int = 0
    unlabeled: int = 0
    empty: int = 0  # of the accepted documents, those without text
    copies: int = 0  # of the accepted documents, those whose text was there before
    rejected: int = 0
    errors: list[BadLine] = field(default_factory=list)
    ignored_fields: list[str] = field(default_factory=list)

    @property
    def accepted(self) -> int:
        """Documents that are in the corpus now."""
        return self.labeled + self.unlabeled

    def add(self, rows: list[Row], bad_lines: list[BadLine], n_copies: int = 0) -> None:
        """Count a batch."""
        n_labeled = sum(row.label is not None for row in rows)
        self.labeled += n_labeled
        self.unlabeled += len(rows) - n_labeled
        self.empty += sum(not row.text for row in rows)
        self.copies += n_copies
        self.rejected += len(bad_lines)
        self.errors += sorted(bad_lines)[: MAX_ERRORS - len(self.errors)]

    @property
    def counts(self) -> dict[str, int]:
        """What a refusal says of the lines before it."""
        return {"accepted": self.accepted, "rejected": self.rejected}

    @contextmanager
    def told(self) -> Iterator[None]:
        """Whatever breaks the upload off says how much of it is stored; of a corpus that is gone, nothing is."""
        try:
            yield
        except CorpusNotFound:
            raise
        except ServiceError as error:
            stored = "1 document is" if self.accepted == 1 else f"{self.accepted} documents are"
            rejected = "1 line was" if self.rejected == 1 else f"{self.rejected} lines were"
            error.detail += f"; {stored} stored of this upload and {rejected} rejected"
            error.members = self.counts
            raise

    def check(self) -> None:
        """Raise NothingAccepted, with the reasons, if not one line could be used."""
        if self.accepted:
            return
        if not self.rejected:
            raise NothingAccepted("the upload is empty: it contains no document", members=self.counts)
        errors = [{"where": f"line {line}", "reason": reason} for line, reason in self.errors]
        raise NothingAccepted(f"none of the {self.rejected} lines could be used", errors, self.counts)


async def receive(
    chunks: AsyncIterable[bytes], reader: LineReader, store: Store, max_bytes: int, report: Report
) -> None:
    """Store the rows of an upload as documents of a corpus, in short transactions while it comes in.

    Holds one batch, one piece and one line at most. Raises MalformedRequest for a CSV file without a usable header,
    UploadTooLarge past `max_bytes` (what came before stays), CorpusNotFound, IdempotencyKeyReused for lines unlike
    those that came before under the key, DatabaseUnavailable and StorageFull.
    """
    batch, bytes_left = Batch(), max_bytes
    async for piece in pieces(chunks):
        batch = await take(reader.feed(piece[:bytes_left]), batch, store, report)
        bytes_left -= len(piece)
        if bytes_left < 0:
            await take(iter(()), batch, store, report, is_last=True)
            raise UploadTooLarge(f"the upload is larger than {max_bytes} bytes")
    await take(reader.end(), batch, store, report, is_last=True)
    report.ignored_fields = list(reader.ignored)


async def pass_by(chunks: AsyncIterable[bytes], max_bytes: int) -> None:
    """Read an upload that is not to be stored. Raises UploadTooLarge."""
    bytes_left = max_bytes
    async for chunk in chunks:
        bytes_left -= len(chunk)
        if bytes_left < 0:
            raise UploadTooLarge(f"the upload is larger than {max_bytes} bytes")


async def pieces(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The chunks, the long ones cut."""
    async for chunk in chunks:
        for start in range(0, len(chunk), PIECE):
            yield chunk[start : start + PIECE]


async def take(
    found: Iterator[Row | BadLine], batch: Batch, store: Store, report: Report, is_last: bool = False
) -> Batch:
    """Add what a reader finds to the batch, and write all that are full, or all; returns the one that is not."""
    until = monotonic() + PATIENCE_SECONDS
    async with limiter(working, AT_WORK):
        read = partial(filled, found, batch)
        *full, rest = await to_thread.run_sync(read, limiter=limiter(reading, READING_THREADS))
        for each in [*full, rest] if is_last else full:
            await write(each, store, report, until)
    return rest


def filled(found: Iterator[Row | BadLine], batch: Batch) -> list[Batch]:
    """The batch and those that follow it, with all that is found; only the last one has room left."""
    batches = [batch]
    for each in found:
        batches[-1].add(each)
        if batches[-1].is_full:
            batches.append(Batch())
    return batches


async def write(batch: Batch, store: Store, report: Report, until: float) -> None:
    """Store the batch, and report it. Raises CorpusNotFound, DatabaseUnavailable, StorageFull."""
    if batch.rows:
        written = await patiently(partial(store.write, batch), until)
        report.add(written.stored, batch.bad_lines + written.refused, written.n_copies)
    else:
        report.add([], batch.bad_lines)


async def patiently(work: Callable[[], Result], until: float | None = None) -> Result:
    """What the work in a thread returns; it is tried again for a while if the database is locked or away.

    Raises DatabaseUnavailable, or StorageFull, for which waiting is no help.
    """
    until = monotonic() + PATIENCE_SECONDS if until is None else until
    while True:
        try:
            return await to_thread.run_sync(work, limiter=limiter(writing, WRITING_THREADS))
        except AWAY as error:
            if is_disk_full(error):
                reason = "the database could not write: its disk is full; delete what is not needed, or free some space"
                raise StorageFull(reason) from error
            if monotonic() >= until:
                raise DatabaseUnavailable("the database did not answer in time") from error
            logger.warning("an upload waits for the database: %s", str(error).partition("\n")[0])
        await asyncio.sleep(PAUSE_SECONDS)


def limiter(threads: RunVar[CapacityLimiter], n_threads: int) -> CapacityLimiter:
    """The limiter of some threads, made when the event loop first asks for it."""
    try:
        return threads.get()
    except LookupError:
        made = CapacityLimiter(n_threads)
        threads.set(made)
        return made
