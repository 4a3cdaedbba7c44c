"""The model of jobs and units that a machine of random events is held against.

It is of plain objects and knows neither SQL nor clocks.
"""

from dataclasses import dataclass, field

MAX_JOBS, MAX_ATTEMPTS = 2, 3
FOLLOWING = {
    "encode": ("atoms", "chain"),
    "atoms": ("calibrate",),
    "calibrate": ("chain",),
    "chain": ("conclude",),
    "conclude": (),
    "power": (),
}
LAST = {"conclude", "power"}
LIVE = {"queued", "running"}

# All that may happen to the status of a run, a job's main one or a side run: by which function, from what, to what.
# Under a run that was resumed a leg from before may still work: so a queued run can also end at once.
ALLOWED = {
    ("claim", "queued", "running"),
    ("finish", "running", "succeeded"),
    ("finish", "queued", "succeeded"),
    ("fail", "running", "failed"),
    ("fail", "queued", "failed"),
    ("reap", "running", "failed"),
    ("reap", "queued", "failed"),
    ("cancel", "queued", "cancelled"),
    ("cancel", "running", "cancelled"),
    ("cancel", "paused", "cancelled"),
    ("pause", "queued", "paused"),
    ("pause", "running", "paused"),
    ("resume", "paused", "queued"),
    ("resume", "cancelled", "queued"),
    ("resume", "failed", "queued"),
    ("extend", None, "queued"),
    ("extend", "succeeded", "queued"),
    ("power_test", None, "queued"),
    ("power_test", "paused", "queued"),
    ("power_test", "failed", "queued"),
    ("power_test", "cancelled", "queued"),
}
STOPS = ("cancel", "pause", "resume")  # of owners, for the job or a side run
VERBS = (*STOPS, "extend", "power_test")
FROM = {verb: {old for by, old, _ in ALLOWED if by == verb} for verb in VERBS}
TO = {"cancel": "cancelled", "pause": "paused", "resume": "queued"}
SIDES = (None, "extension", "power")
RARE = {
    ("finish", "queued", "succeeded"),
    ("fail", "queued", "failed"),
    ("reap", "queued", "failed"),
    ("cancel", "queued", "cancelled"),
    *((by, old, new) for by, old, new in ALLOWED if by == "power_test"),
}  # a run of examples may miss them


@dataclass
class ModelUnit:
    """A unit as it ought to be."""

    kind: str
    status: str
    side: str | None = None
    token: str | None = None
    late: bool = False  # its lease, or the time for its message, has run out
    attempts: int = 0
    n_sweeps: int = 0


@dataclass
class ModelJob:
    """A job as it ought to be."""

    status: str
    units: dict[int, ModelUnit]
    sides: dict[str, str] = field(default_factory=dict)  # status of each side run

    def of(self, side: str | None) -> str | None:
        """The status of a run; None for a side run that there is not."""
        return self.status if side is None else self.sides.get(side)

    def set(self, side: str | None, status: str) -> None:
        if side is None:
            self.status = status
        else:
            self.sides[side] = status

    def has(self, kind: str) -> bool:
        return any(unit.kind == kind for unit in self.units.values())


@dataclass
class Leg:
    """A leg as a worker sees it; the worker may be stopped, and wake up when others have gone on."""

    unit_id: int
    token: str
    n_sweeps: int
    believes: bool = True  # that it holds its unit, by its own clock


@dataclass
class World:
    """The model: all jobs and all legs there ever were."""

    jobs: dict[str, ModelJob] = field(default_factory=dict)
    legs: list[Leg] = field(default_factory=list)

    def units(self) -> list[int]:
        return [unit_id for job in self.jobs.values() for unit_id in job.units]

    def find(self, unit_id: int) -> tuple[ModelJob, ModelUnit]:
        return next((job, job.units[unit_id]) for job in self.jobs.values() if unit_id in job.units)

    def holds(self, leg: Leg) -> bool:
        _, unit = self.find(leg.unit_id)
        return unit.status == "running" and unit.token == leg.token
