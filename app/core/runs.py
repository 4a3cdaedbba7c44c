"""Runs, which have a status: a job's main run and its side runs. Only lifecycle.py, leases.py and ends.py change it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Delete, Update, and_, or_, select, update
from sqlalchemy.orm import Session

from app.core.kinds import SideKind
from app.core.tables import Job, SideRun, Unit

LIVE = ("queued", "running")
UNFINISHED = (*LIVE, "paused")


class Run(NamedTuple):
    """What a unit works for, and what has a status: a job's main run, or one of its side runs."""

    job_id: str
    side: str | None = None  # the kind of the side run; None for the main run

    @property
    def table(self) -> type[Job | SideRun]:
        """Where its status is."""
        return Job if self.side is None else SideRun

    @property
    def is_mine(self) -> ColumnElement[bool]:
        """The condition of its row there."""
        if self.side is None:
            return Job.id == self.job_id
        return and_(SideRun.job_id == self.job_id, SideRun.kind == self.side)

    def update(self, among: Sequence[str]) -> Update:
        """An UPDATE that meets the run only while its status is one of these."""
        return update(self.table).where(self.is_mine, self.table.status.in_(among))

    def __str__(self) -> str:
        """As messages name it."""
        names: dict[str | None, str] = {
            None: "job",
            SideKind.EXTENSION: "the extension of job",
            SideKind.POWER_TEST: "the power test of job",
        }
        return f"{names[self.side]} {self.job_id}"


def run_of(unit: Unit) -> Run:
    """The run that a unit works for."""
    return Run(unit.job_id, unit.side)


def is_live() -> ColumnElement[bool]:
    """The condition that the run of a unit is queued or running."""
    main = select(Job.id).where(Job.id == Unit.job_id, Job.status.in_(LIVE)).correlate(Unit)
    side = select(SideRun.job_id).where(
        SideRun.job_id == Unit.job_id, SideRun.kind == Unit.side, SideRun.status.in_(LIVE)
    )
    return or_(and_(Unit.side.is_(None), main.exists()), side.correlate(Unit).exists())


def goes_on(session: Session, unit_id: int) -> bool:
    """Whether the unit's run is queued or running."""
    return session.scalar(select(Unit.id).where(Unit.id == unit_id, is_live())) is not None


def change(session: Session, statement: Update | Delete) -> int:
    """How many rows the statement met. Objects of the session are not touched."""
    result: Any = session.execute(statement, execution_options={"synchronize_session": False})
    return int(result.rowcount)
