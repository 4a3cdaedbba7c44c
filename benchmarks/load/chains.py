"""How fast the chains of a job are, compared with those of another job that makes the same sweeps."""

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from app.core.db import Database
from app.core.tables import Checkpoint, Unit
from benchmarks.load.client import make_room

LOOK_SECONDS = 0.5  # less than there is between two saves
DEGREE = 2  # of the curve of times by sweeps: the cost of a sweep changes evenly


class Save(NamedTuple):
    """A chain as it was saved."""

    at: float  # seconds since 1970, by the database's clock
    n_sweeps: int


Saves = dict[int, list[Save]]  # by chain


class Watch:
    """Within this context the saves of a job's chains are noted."""

    def __init__(self, database: Database, job_id: str) -> None:
        self.database, self.job_id = database, job_id
        self.saves: Saves = {}
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.watch, name="watch")

    def __enter__(self) -> "Watch":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        self.thread.join()

    def watch(self) -> None:
        """Look again and again."""
        make_room()
        while not self.is_over.wait(LOOK_SECONDS):
            with suppress(SQLAlchemyError):  # nothing is to be seen while the database is away
                self.look()

    def look(self) -> None:
        """Note what has been saved since the last look."""
        saved = (
            select(func.coalesce(Unit.chain, 0), Checkpoint.created_at, Checkpoint.n_sweeps)
            .join(Checkpoint, Checkpoint.unit_id == Unit.id)
            .where(Unit.job_id == self.job_id, Unit.kind == "chain")
        )
        with self.database.readers.begin() as session:
            for chain, at, n_sweeps in session.execute(saved.order_by(Checkpoint.id)):
                known = self.saves.setdefault(chain, [])
                if not known or known[-1].n_sweeps < n_sweeps:
                    known.append(Save(at, n_sweeps))


def relative_speed(saves: Saves, alone: Saves, began: float, ended: float) -> float:
    """How fast chains were in a stretch of time, as a share of how fast the same sweeps were done alone.

    Sweeps cost more or less as a chain goes on, so that a rate says little by itself; the same seed makes the same
    ones. How long they took alone is taken from a curve through all of its saves: what held up the machine for a moment
    then is not to count. NaN if a chain was not at work for the whole time.
    """
    if not saves or saves.keys() != alone.keys():
        return float("nan")
    took = 0.0
    for chain, mine in saves.items():
        if not mine[0].at <= began < ended <= mine[-1].at:
            return float("nan")
        first, last = np.interp([began, ended], *columns(mine))
        times, sweeps = columns(alone[chain])
        curve = np.polyfit(sweeps, times, min(DEGREE, len(sweeps) - 1))
        took += float(np.polyval(curve, last) - np.polyval(curve, first))
    return took / ((ended - began) * len(saves))


def columns(saves: Sequence[Save]) -> tuple[list[float], list[float]]:
    """The times of saves, and the sweeps."""
    return [save.at for save in saves], [float(save.n_sweeps) for save in saves]


def sweeps_per_second(saves: Saves) -> float:
    """Sweeps a second of all chains together, each from its first save to its last one."""
    ends = [(mine[0], mine[-1]) for mine in saves.values() if len(mine) > 1]
    return sum((last.n_sweeps - first.n_sweeps) / (last.at - first.at) for first, last in ends)
