"""Uploads: a file that is here as a whole becomes rows, and rows become documents, batch by batch.

The event loop sees to it that things happen one after the other. Files are looked at and read in one thread for all
uploads, since they share one interpreter, and written in a few, so that no other request waits for a thread however
many uploads there are. Only a few uploads at a time hold a batch.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Literal, TypeVar

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

from app.core.db import AWAY, is_disk_full
from app.core.errors import (
    CorpusNotFound,
    DatabaseUnavailable,
    NothingAccepted,
    ServiceError,
    StorageFull,
    UploadAborted,
)
from app.uploads.formats.reading import Reading
from app.uploads.rows import MAX_ERRORS, BadLine, Row
from app.uploads.store import Batch, Store, Written

logger = logging.getLogger(__name__)

Result = TypeVar("Result")
OnError = Literal["skip", "abort"]

MAX_LABELS = 100_000  # whose documents are counted
AT_WORK = 4  # uploads whose rows are being read and written
READING_THREADS, WRITING_THREADS = 1, 4
PATIENCE_SECONDS, PAUSE_SECONDS = 60.0, 0.5  # how long an upload waits for a database, and how often it asks

working: RunVar[CapacityLimiter] = RunVar("working")
reading_threads: RunVar[CapacityLimiter] = RunVar("reading threads")
writing_threads: RunVar[CapacityLimiter] = RunVar("writing threads")


@dataclass
class Report:
    """What became of an upload's rows, or would become of them."""

    added: int = 0
    replaced: int = 0  # documents that changed
    unchanged: int = 0  # rows that were in the corpus before, just as they are
    labeled: int = 0
    unlabeled: int = 0
    empty: int = 0  # of the accepted rows, those without text
    vectors: int = 0  # accepted rows that brought one
    copies: int = 0  # of the added and replaced ones, those whose text was there before
    rejected: int = 0
    errors: list[BadLine] = field(default_factory=list)
    labels: Counter[str] = field(default_factory=Counter)  # of the accepted rows, the first MAX_LABELS

    @property
    def accepted(self) -> int:
        """Rows whose documents are in the corpus now."""
        return self.added + self.replaced + self.unchanged

    def add(self, written: Written, bad_lines: list[BadLine]) -> None:
        """Count a batch."""
        self.added += len(written.added)
        self.replaced += len(written.replaced)
        self.unchanged += len(written.unchanged)
        rows = [*written.added, *written.replaced, *written.unchanged]
        labels = Counter(row.label for row in rows if row.label is not None)
        n_labeled = labels.total()
        if len(self.labels) < MAX_LABELS:
            self.labels += labels
        self.labeled += n_labeled
        self.unlabeled += len(rows) - n_labeled
        self.empty += sum(not row.text for row in rows)
        self.vectors += sum(bool(row.vector) for row in rows)
        self.copies += written.n_copies
        self.refuse([*bad_lines, *written.refused])

    def refuse(self, bad_lines: list[BadLine]) -> None:
        """Count lines that cannot be used."""
        self.rejected += len(bad_lines)
        self.errors += sorted(bad_lines)[: MAX_ERRORS - len(self.errors)]

    @property
    def counts(self) -> dict[str, int]:
        """What a refusal says of the lines before it."""
        return {"accepted": self.accepted, "rejected": self.rejected}

    @property
    def faults(self) -> list[dict[str, str]]:
        """The errors as a refusal tells them."""
        return [{"where": f"line {line}", "reason": reason} for line, reason in self.errors]

    def remarks(self) -> list[str]:
        """What a reader should know besides the numbers."""
        found = []
        if self.unchanged and not self.added and not self.replaced:
            found.append("all of this was in the corpus before, just as it is: the upload has changed nothing")
        elif self.unchanged:
            rows = "1 row was" if self.unchanged == 1 else f"{self.unchanged} rows were"
            found.append(f"{rows} in the corpus before, just as they are, and change nothing")
        if self.rejected > self.accepted:
            found.append(f"most rows were refused, {self.rejected} of {self.rejected + self.accepted}: see the errors")
        return found

    @contextmanager
    def told(self) -> Iterator[None]:
        """Whatever breaks the upload off says how much of it is stored; of a corpus that is gone, nothing is."""
        try:
            yield
        except (CorpusNotFound, NothingAccepted, UploadAborted):
            raise
        except ServiceError as error:
            stored = "1 document is" if self.accepted == 1 else f"{self.accepted} documents are"
            rejected = "1 line was" if self.rejected == 1 else f"{self.rejected} lines were"
            error.detail += f"; {stored} stored of this upload and {rejected} rejected"
            error.members = {**error.members, **self.counts}
            raise

    def check(self) -> None:
        """Raise NothingAccepted, with the reasons, if not one line could be used."""
        if self.accepted:
            return
        if not self.rejected:
            raise NothingAccepted("the upload is empty: it contains no document", members=self.counts)
        reason = f"none of the {self.rejected} lines could be used"
        raise NothingAccepted(reason, self.faults, self.counts)

    def check_all(self) -> None:
        """Raise UploadAborted, with the reasons, if one line cannot be used."""
        if self.rejected:
            lines = "1 line" if self.rejected == 1 else f"{self.rejected} lines"
            reason = f"{lines} of the upload cannot be used, so nothing is stored (on_error=abort)"
            raise UploadAborted(reason, self.faults, {"accepted": 0, "rejected": self.rejected})


async def read(work: Callable[[], Result]) -> Result:
    """What the work returns, in the one thread that reads files."""
    return await to_thread.run_sync(work, limiter=limiter(reading_threads, READING_THREADS))


async def check(reading: Reading, store: Store) -> Report:
    """What would become of an upload, without a write. Raises CorpusNotFound, DatabaseUnavailable.

    Of keys that come again within the upload the later rows are refused, unless they say the same.
    """
    report = Report()
    await through(reading, store, store.compare, report)
    pairs, n_same = await read(store.new_lines.again)
    report.added -= n_same
    report.unchanged += n_same
    if store.on_conflict == "replace":
        report.added, report.replaced = report.added - len(pairs), report.replaced + len(pairs)
        return report
    again = [BadLine(line, f"the key of line {first} comes again, with something else") for line, first in pairs]
    report.added -= len(again)
    report.refuse(again)
    report.errors.sort()
    return report


async def receive(reading: Reading, store: Store, report: Report) -> None:
    """Store the rows of an upload as documents of a corpus, in short transactions.

    Holds one batch at most. Raises CorpusNotFound, UploadTooLarge for more documents than a corpus may have,
    QuotaExceeded, DatabaseUnavailable and StorageFull; what was stored before stays.
    """
    await through(reading, store, store.write, report)


async def through(reading: Reading, store: Store, work: Callable[[Batch], Written], report: Report) -> None:
    """Take the rows through the work, batch by batch, and report what becomes of them."""
    rows = reading.rows()
    while True:
        async with limiter(working, AT_WORK):
            batch = await read(partial(next_batch, rows, store))
            if not batch.rows and not batch.bad_lines:
                return
            written = await patiently(partial(work, batch))
            report.add(written, batch.bad_lines)


def next_batch(rows: Iterator[Row | BadLine], store: Store) -> Batch:
    """The next rows, each under a key; none at the end."""
    batch = Batch()
    for found in rows:
        batch.add(found)
        if batch.is_full:
            break
    return store.named(batch)


async def patiently(work: Callable[[], Result]) -> Result:
    """What the work in a thread returns; it is tried again for a while if the database is locked or away.

    Raises DatabaseUnavailable, or StorageFull, for which waiting is no help.
    """
    until = monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return await to_thread.run_sync(work, limiter=limiter(writing_threads, WRITING_THREADS))
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
