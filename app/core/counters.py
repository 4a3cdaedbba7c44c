"""What workers count for `/metrics`: they serve no HTTP, and come and go, so their counts are rows.

A process counts in memory, and its reaper adds that to the rows of all workers every `reap_seconds`. So counters never
go back when a worker is replaced, and every API shows the same ones. A worker that is killed takes along what it has
counted since.
"""

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.db import Database, upsert
from app.core.tables import Count

# Upper bounds of what is observed; a value above the last one is in the bucket +Inf.
BUCKETS: Mapping[str, tuple[float, ...]] = {
    "checkpoint_bytes": tuple(4.0**power * 1024 for power in range(1, 11)),  # 4 KiB to 1 GiB
    "checkpoint_save_seconds": (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
}
INFINITE, SUM = "+Inf", "sum"


class Key(NamedTuple):
    """What is counted, of which kind of unit, and which part of it: how a leg ended, a bucket, the sum of a histogram.

    Words of ours alone, so that there are few rows.
    """

    name: str
    kind: str = ""
    part: str = ""


class Counters:
    """What one process has counted and not yet put into the database."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.counts: Counter[Key] = Counter()

    def add(self, name: str, amount: float = 1.0, kind: str = "", part: str = "") -> None:
        """Count something."""
        with self.lock:
            self.counts[Key(name, kind, part)] += amount  # type: ignore[assignment]

    def observe(self, name: str, value: float) -> None:
        """Count a value in its bucket, and add it to the sum."""
        bounds = BUCKETS[name]
        place = bisect_left(bounds, value)
        self.add(name, part=str(bounds[place]) if place < len(bounds) else INFINITE)
        self.add(name, value, part=SUM)

    def flush(self, database: Database) -> None:
        """Add what was counted to the rows, in one short transaction; what fails is kept for the next time."""
        with self.lock:
            counts, self.counts = self.counts, Counter()
        if not counts:
            return
        try:
            with database.sessions.begin() as session:
                add_counts(session, counts)
        except BaseException:
            with self.lock:
                self.counts.update(counts)
            raise


def add_counts(session: Session, counts: Mapping[Key, float]) -> None:
    """Add counts to the rows, in one order, so that no two workers wait for each other."""
    for key, amount in sorted(counts.items()):
        insert = upsert(session, Count).values(**key._asdict(), value=float(amount))
        session.execute(
            insert.on_conflict_do_update(
                index_elements=[Count.name, Count.kind, Count.part], set_={"value": Count.value + insert.excluded.value}
            )
        )


def read_counts(session: Session) -> dict[Key, float]:
    """What all workers have counted."""
    rows = session.execute(select(Count.name, Count.kind, Count.part, Count.value))
    return {Key(name, kind, part): value for name, kind, part, value in rows}


counters = Counters()  # of this process
