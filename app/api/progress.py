"""How far a job is and how long it takes, from its units."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from app import completion, presence
from app.completion import Run, UnitState
from app.corpus_sizes import sizes_of
from app.db import now
from app.forecast import Forecast, encode_share, forecast
from app.job_schemas import ChainProgress, ForecastOut, JobOut, Links, Progress
from app.leases import LIVE
from app.lifecycle import AUDITING, PREPARATIONS, TESTABLE, WITH_TOPICS
from app.limits import live_jobs
from app.models import Job, Unit
from app.pace import measured_pace
from app.schemas import Stage
from app.settings import Settings

STAGES: dict[str, Stage] = {
    "encode": "encode",
    "atoms": "atoms",
    "calibrate": "calibrate",
    "chain": "sample",
    "conclude": "conclude",
    "power": "power",
}
STEPWISE = ("atoms", "calibrate", "power")

NO_WORKER = "no worker is running: start one with `newfound worker`"


class Situation(NamedTuple):
    """What progress depends on besides a job's own rows."""

    now: float  # by the database's clock
    n_workers: int  # that live
    n_live: int  # jobs and side runs that are queued or running
    leg_seconds: float
    lease_seconds: float
    pace: float  # of the last jobs

    @property
    def workers(self) -> float:
        """The workers that a live job has for itself: all take turns."""
        return max(self.n_workers, 1) / max(self.n_live, 1)


def describe(session: Session, jobs: Sequence[Job], settings: Settings) -> list[JobOut]:
    """The jobs as HTTP reports them, in the same order."""
    around = situation(session, settings)
    stranded = without_worker(session, {job.id for job in jobs if job.status in LIVE}, around.n_workers, around.now)
    return [
        job_out(
            job,
            session.scalars(select(Unit).where(Unit.job_id == job.id).order_by(Unit.id)).all(),
            forecast(sizes_of(session, job), job.settings),
            around,
            NO_WORKER if job.id in stranded else None,
        )
        for job in jobs
    ]


def situation(session: Session, settings: Settings) -> Situation:
    """The situation as it is."""
    return Situation(
        now=session.scalar(select(now())) or 0.0,
        n_workers=presence.alive(session, settings),
        n_live=live_jobs(session),
        leg_seconds=settings.leg_seconds,
        lease_seconds=settings.lease_seconds,
        pace=measured_pace(session),
    )


def without_worker(session: Session, live: set[str], n_workers: int, at: float) -> set[str]:
    """Ids of the live jobs that nobody works on and nobody will, as things are."""
    if not live or n_workers:
        return set()
    held = select(Unit.job_id).where(Unit.job_id.in_(live), Unit.status == "running", Unit.lease_until > at)
    return live - set(session.scalars(held))


def job_out(
    job: Job, units: Sequence[Unit], expected: Forecast, around: Situation, note: str | None
) -> JobOut:  # fmt: skip
    """A job and its units as HTTP reports them."""
    address = f"/v1/jobs/{job.id}"
    return JobOut.model_validate(
        {
            **{name: getattr(job, name) for name in JobOut.model_fields.keys() - {"forecast", "progress", "links"}},
            "forecast": forecast_out(expected, job.settings["model"], around),
            "progress": progress(job, units, expected, around, note),
            "links": Links(
                self=address,
                trace=f"{address}/trace",
                categories=f"{address}/categories",
                documents=f"{address}/documents",
                audit=f"{address}/audit" if job.settings["model"] in AUDITING else None,
                topics=f"{address}/topics" if job.settings["model"] in WITH_TOPICS else None,
                power_test=f"{address}/power-test" if job.settings["model"] in TESTABLE else None,
            ),
        }
    )


def forecast_out(expected: Forecast, model: str, around: Situation) -> ForecastOut:
    """The forecast of a job of which nothing is done, as HTTP reports it."""
    kinds = ("encode", *PREPARATIONS[model], *["chain"] * expected.n_chains, "conclude")
    run = Run([UnitState(kind, 1, 0, 0, 0, 0.0) for kind in kinds], expected.works, 0.0, around.pace)
    alone = completion.seconds_left(run, max(around.n_workers, 1), around.leg_seconds)
    return ForecastOut(
        seconds=round(around.pace * expected.job_seconds, 1),
        seconds_on_workers=round(alone, 1),
        workers=max(around.n_workers, 1),
        peak_bytes=expected.peak_bytes,
    )


def progress(
    job: Job, units: Sequence[Unit], expected: Forecast, around: Situation, note: str | None
) -> Progress:  # fmt: skip
    """How far the job's units are together."""
    chains = sorted((unit for unit in units if unit.kind == "chain"), key=lambda unit: unit.chain or 0)
    furthest = max(chains, key=lambda unit: unit.n_sweeps, default=None)
    at = stage(units)
    stepwise = next((unit for unit in units if unit.kind == at and unit.kind in STEPWISE), None)
    states = [unit_state(unit, job, around) for unit in units]
    run = Run(states, expected.works, encode_share(job.settings), around.pace)
    is_live = job.status in LIVE
    return Progress(
        stage=at,
        steps_done=stepwise.n_sweeps if stepwise else None,
        steps_total=stepwise.n_steps if stepwise else None,
        sweeps_done=sum(unit.n_sweeps for unit in chains),
        sweeps_total=job.settings["sweeps"] * job.settings["chains"],
        fraction=completion.fraction(run),
        sweeps_per_second=sweeps_per_second(chains) if is_live else None,
        seconds_left=completion.seconds_left(run, around.workers, around.leg_seconds) if is_live else None,
        n_categories=furthest.n_categories if furthest else None,
        chains=[
            ChainProgress.model_validate(
                {
                    "chain": unit.chain,
                    "status": unit.status,
                    "sweeps_done": unit.n_sweeps,
                    "n_categories": unit.n_categories,
                    "sweeps_per_second": unit.sweeps_per_second,
                    "digest": unit.digest,
                }
            )
            for unit in chains
        ],
        note=note,
    )


def unit_state(unit: Unit, job: Job, around: Situation) -> UnitState:
    """What progress sees of a unit.

    A unit that has not saved anything has waited since a worker last turned to the job, at least. Each save and each
    heartbeat sets the lease again, so that the lease has the time of the last one.
    """
    is_done, is_begun = unit.status == "done", unit.n_sweeps > 0
    waited = unsaved = 0.0
    if unit.status == "running" and job.status in LIVE:
        if not is_begun and job.claimed_at is not None:
            waited = max(around.now - job.claimed_at, 0.0)
        if unit.lease_until is not None:
            unsaved = min(max(around.now - (unit.lease_until - around.lease_seconds), 0.0), around.lease_seconds)
    return UnitState(unit.kind, 1, int(is_done), int(is_done or is_begun), unit.n_sweeps, unit.seconds, waited, unsaved)


def sweeps_per_second(chains: Iterable[Unit]) -> float | None:
    """The rate of the chains that run now, together; None if none does."""
    rates = [unit.sweeps_per_second for unit in chains if unit.status == "running" and unit.sweeps_per_second]
    return sum(rates) if rates else None


def stage(units: Iterable[Unit]) -> Stage:
    """What the job is at, or was at when it ended: the first kind of units that is not all done."""
    unfinished = {unit.kind for unit in units if unit.status != "done"}
    return next((name for kind, name in STAGES.items() if kind in unfinished), "done")
