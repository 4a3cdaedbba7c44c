"""How far a job is, told from its units."""

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from app import presence
from app.api.common import address
from app.db import now
from app.job_schemas import ChainProgress, JobOut, Links, Progress
from app.leases import LIVE
from app.lifecycle import AUDITING, TESTABLE, WITH_TOPICS
from app.models import Job, Unit
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
# Of the fraction that is done, each kind's share among those that the job has: what its work takes, roughly.
SHARES = {"atoms": 0.2, "calibrate": 0.4, "chain": 0.4, "power": 1.0}

NO_WORKER = "no worker is running: start one with `newfound worker`"


def describe(session: Session, jobs: Sequence[Job], settings: Settings) -> list[JobOut]:
    """The jobs as HTTP tells of them, in the same order."""
    units: dict[str, list[Unit]] = defaultdict(list)
    for unit in session.scalars(select(Unit).where(Unit.job_id.in_([job.id for job in jobs])).order_by(Unit.id)):
        units[unit.job_id].append(unit)
    stranded = without_worker(session, jobs, settings)
    notes = dict.fromkeys(stranded, NO_WORKER)
    return [job_out(job, units[job.id], notes.get(job.id), address(settings, f"/v1/jobs/{job.id}")) for job in jobs]


def without_worker(session: Session, jobs: Sequence[Job], settings: Settings) -> set[str]:
    """Ids of the live jobs that nobody works on and nobody will, as things are."""
    live = {job.id for job in jobs if job.status in LIVE}
    if not live or presence.alive(session, settings):
        return set()
    held = select(Unit.job_id).where(Unit.job_id.in_(live), Unit.status == "running", Unit.lease_until > now())
    return live - set(session.scalars(held))


def job_out(job: Job, units: list[Unit], note: str | None, address: str) -> JobOut:
    """A job and its units as HTTP tells of them."""
    return JobOut.model_validate(
        {
            **{name: getattr(job, name) for name in JobOut.model_fields.keys() - {"progress", "links"}},
            "progress": progress(job, units, note),
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


def progress(job: Job, units: list[Unit], note: str | None) -> Progress:
    """How far the job's units are together."""
    chains = sorted((unit for unit in units if unit.kind == "chain"), key=lambda unit: unit.chain or 0)
    done = sum(unit.n_sweeps for unit in chains)
    total = job.settings["sweeps"] * job.settings["chains"]
    rate = sweeps_per_second(job, chains)
    furthest = max(chains, key=lambda unit: unit.n_sweeps, default=None)
    at = stage(units)
    stepwise = next((unit for unit in units if unit.kind == at and unit.kind in STEPWISE), None)
    return Progress(
        stage=at,
        steps_done=stepwise.n_sweeps if stepwise else None,
        steps_total=stepwise.n_steps if stepwise else None,
        sweeps_done=done,
        sweeps_total=total,
        fraction=fraction(units, done / total),
        sweeps_per_second=rate,
        seconds_left=(total - done) / rate if rate else None,
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


def fraction(units: list[Unit], of_sweeps: float) -> float:
    """How much of the job is done; `of_sweeps` says so of its chains."""
    done = {"chain": of_sweeps}
    for unit in units:
        if unit.kind in STEPWISE:
            done[unit.kind] = 1.0 if unit.status == "done" else unit.n_sweeps / (unit.n_steps or 1)
    return sum(SHARES[kind] * part for kind, part in done.items()) / sum(SHARES[kind] for kind in done)


def sweeps_per_second(job: Job, chains: list[Unit]) -> float | None:
    """The rate of the chains that run now, together; None if none does."""
    if job.status not in LIVE:
        return None
    rates = [unit.sweeps_per_second for unit in chains if unit.status == "running" and unit.sweeps_per_second]
    return sum(rates) if rates else None


def stage(units: list[Unit]) -> Stage:
    """What the job is at, or was at when it ended: the first kind of units that is not all done."""
    for kind, name in STAGES.items():
        if any(unit.kind == kind and unit.status != "done" for unit in units):
            return name
    return "done"
