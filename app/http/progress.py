"""How far a job is and how long it takes, from its units."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Double, Row, bindparam, func, select
from sqlalchemy.orm import Session

from app.core import presence
from app.core.db import now
from app.core.kinds import MODELS, SIDE_KINDS, UNIT_KINDS, SideKind, Stage, UnitKind, preparations
from app.core.leases import WAITS
from app.core.lifecycle import side_runs
from app.core.runs import LIVE
from app.core.settings import Settings
from app.core.tables import Encoding, Job, JobTag, SideRun, Unit, Webhook, Worker
from app.forecasts import completion
from app.forecasts.completion import UnitState
from app.forecasts.corpus_sizes import sizes_of
from app.forecasts.forecast import encode_share, forecast
from app.forecasts.limits import count_of_live
from app.forecasts.pace import Paces, Shown, expected_paces, shown_by_jobs
from app.forecasts.sizes import Forecast, Sizes
from app.http.condition import notes_of_unattended
from app.http.dependencies import address
from app.http.webhooks import webhook_out
from app.schemas.jobs import (
    ALWAYS,
    ChainProgress,
    ForecastOut,
    JobBasics,
    JobOut,
    Links,
    Progress,
    SideRunOut,
    TextsOut,
)
from app.schemas.webhooks import WebhookOut

# Clients ask for a job again and again, so what that reads is put together once: to do so costs more than to read it.
AROUND = select(
    now(),
    select(func.count())
    .select_from(Worker)
    .where(presence.was_seen_within(bindparam("recent", type_=Double())))
    .scalar_subquery(),
    count_of_live(),
)
OF_JOB = (
    select(
        Webhook,
        select(JobTag.tag).where(JobTag.job_id == Job.id).exists().label("has_tags"),
        *(getattr(Encoding, name) for name in (*Sizes._fields, "facts", "n_texts")),
    )
    .select_from(Job)
    .outerjoin(Encoding, Encoding.id == Job.encoding_id)
    .outerjoin(Webhook, Webhook.job_id == Job.id)
    .where(Job.id == bindparam("job_id"))
    .execution_options(populate_existing=True)
)
TAGS = select(JobTag.tag).where(JobTag.job_id == bindparam("job_id")).order_by(JobTag.number)
UNITS = select(Unit).where(Unit.job_id == bindparam("job_id")).order_by(Unit.id)


class Situation(NamedTuple):
    """What progress depends on besides a job's own rows."""

    now: float  # by the database's clock
    n_workers: int  # that live
    n_live: int  # jobs and side runs that are queued or running
    leg_seconds: float
    lease_seconds: float
    shown: Sequence[Shown]  # by the last jobs

    @property
    def workers(self) -> float:
        """The workers that a live job has for itself: all take turns."""
        return max(self.n_workers, 1) / max(self.n_live, 1)


class Rows(NamedTuple):
    """What the database has of a job besides its own row."""

    units: Sequence[Unit]
    encoding: Row[*tuple[Any, ...]] | None
    sizes: Sizes
    side_runs: Sequence[SideRun]
    tags: Sequence[str]
    webhook: WebhookOut | None


class Part(NamedTuple):
    """A run of a job with what belongs to it: the main run, or a side run."""

    status: str
    units: Sequence[Unit]
    expected: Forecast
    paces: Paces  # that it is expected to have
    first_sweep: int  # of each chain when the run began
    sweeps: int  # of each chain at its end
    note: str | None

    @property
    def is_live(self) -> bool:
        """Whether it is queued or running."""
        return self.status in LIVE


def describe(session: Session, jobs: Sequence[Job], settings: Settings) -> list[JobOut]:
    """The jobs as HTTP has them, in the same order."""
    around = situation(session, settings)
    found = [rows_of(session, job) for job in jobs]
    unattended = {job.id for job, rows in zip(jobs, found, strict=True) if is_unattended(job, rows, around)}
    notes = notes_of_unattended(session, unattended, settings)
    return [job_out(job, rows, around, notes.get(job.id), settings) for job, rows in zip(jobs, found, strict=True)]


def situation(session: Session, settings: Settings) -> Situation:
    """The situation as it is."""
    at, n_workers, n_live = session.execute(AROUND, {"recent": presence.recent_seconds(settings)}).one()
    return Situation(
        now=at,
        n_workers=n_workers,
        n_live=n_live,
        leg_seconds=settings.leg_seconds,
        lease_seconds=settings.lease_seconds,
        shown=shown_by_jobs(session),
    )


def rows_of(session: Session, job: Job) -> Rows:
    """What the database has of a job."""
    about = session.execute(OF_JOB, {"job_id": job.id}).one()
    is_encoded = about.n_words is not None
    return Rows(
        units=session.scalars(UNITS, {"job_id": job.id}).all(),
        encoding=about if is_encoded else None,
        sizes=Sizes(*(getattr(about, name) for name in Sizes._fields)) if is_encoded else sizes_of(session, job),
        # Only a job that has succeeded can be extended or tested, and then it stays so.
        side_runs=side_runs(session, job.id) if job.status == "succeeded" else [],
        tags=session.scalars(TAGS, {"job_id": job.id}).all() if about.has_tags else [],
        webhook=webhook_out(about.Webhook),
    )


def is_unattended(job: Job, rows: Rows, around: Situation) -> bool:
    """Whether nobody works on a job, although it or a side run of it is live."""
    is_held = any(
        unit.status == "running" and unit.lease_until is not None and unit.lease_until > around.now
        for unit in rows.units
    )
    return not is_held and (job.status in LIVE or any(run.status in LIVE for run in rows.side_runs))


def job_out(job: Job, rows: Rows, around: Situation, note: str | None, settings: Settings) -> JobOut:
    """A job with its side runs as HTTP has it."""
    units, sizes = rows.units, rows.sizes
    expected = forecast(sizes, job.settings, goes_on=job.continues is not None)
    base = address(settings, f"/v1/jobs/{job.id}")
    paces = expected_paces(around.shown, job.settings["model"], expected.job_seconds)
    sides = {run.kind: side_run_out(run, job, units, sizes, around, note) for run in rows.side_runs}
    of_main = [unit for unit in units if unit.kind != UnitKind.POWER]
    part = Part(job.status, of_main, expected, paces, 0, job.settings["sweeps"], note_of(of_main, job.status, note))
    facts = MODELS[job.settings["model"]]
    return JobOut.model_validate(
        {
            **{name: getattr(job, name) for name in JobBasics.model_fields},
            "tags": rows.tags,
            "settings": job.settings,
            "texts": texts_out(rows.encoding),
            "warnings": job.warnings or [],
            "forecast": forecast_out(expected, paces, job.settings, around),
            "progress": progress(job, part, around),
            "extension": sides.get(SideKind.EXTENSION),
            "power_test": sides.get(SideKind.POWER_TEST),
            "webhook": rows.webhook,
            "links": Links(
                self=base,
                **{name: f"{base}/{name}" for name in ALWAYS},
                topics=f"{base}/topics" if facts.has_topics else None,
                power_test=f"{base}/power-test" if facts.has_power_test else None,
            ),
        }
    )


def texts_out(encoding: Row[*tuple[Any, ...]] | None) -> TextsOut | None:
    """What became of a job's texts; None until they are encoded, or if some were erased since."""
    if encoding is None:
        return None
    # Of an encoding from before this was noted, nothing is known.
    nothing: dict[str, Any] = {"language": None, "stop_words": [], "stemming": None}
    return TextsOut(
        **(encoding.facts or nothing),
        vocabulary=encoding.n_words,
        tokens=encoding.n_tokens,
        distinct_texts=encoding.n_texts,
    )


def side_run_out(
    run: SideRun, job: Job, units: Sequence[Unit], sizes: Sizes, around: Situation, note: str | None
) -> SideRunOut:  # fmt: skip
    """A side run as HTTP has it; one that has succeeded has no units of its own any more, if it was an extension."""
    before, after = job.settings["sweeps"], run.sweeps or 0
    n_more = max(after - before, 1)
    expected = forecast(sizes, {**job.settings, "sweeps": n_more} if run.kind == SideKind.EXTENSION else job.settings)
    mine = [unit for unit in units if unit.kind in SIDE_KINDS[run.kind]]
    paces = expected_paces(around.shown, job.settings["model"], expected.job_seconds)
    part = Part(run.status, mine, expected, paces, min(before, after), after, note_of(mine, run.status, note))
    told = {name: getattr(run, name) for name in SideRunOut.model_fields.keys() - {"progress"}}
    return SideRunOut.model_validate({**told, "progress": progress(job, part, around)})


def note_of(units: Iterable[Unit], status: str, note: str | None) -> str | None:
    """Why a run is not progressing: what its legs wait for, or else why nobody works on it."""
    if status not in LIVE:
        return None
    waits = (unit.error for unit in units if unit.status == "running" and (unit.error or "").startswith(WAITS))
    return (next(waits, None) or note or "").removeprefix(WAITS) or None


def forecast_out(expected: Forecast, paces: Paces, settings: Mapping[str, Any], around: Situation) -> ForecastOut:
    """The forecast of a job of which nothing is done, as HTTP reports it."""
    chains = [UnitKind.CHAIN] * expected.n_chains
    kinds = (UnitKind.ENCODE, *preparations(settings), *chains, UnitKind.CONCLUDE)
    run = completion.Run([UnitState(kind, 1, 0, 0, 0, 0.0) for kind in kinds], expected.works, 0.0, paces)
    alone = completion.seconds_left(run, max(around.n_workers, 1), around.leg_seconds)
    return ForecastOut(
        seconds=round(completion.seconds_of_work(run), 1),
        seconds_on_workers=round(alone, 1),
        workers=max(around.n_workers, 1),
        peak_bytes=expected.peak_bytes,
    )


def progress(job: Job, part: Part, around: Situation) -> Progress:
    """How far the units of a run are together. One that has succeeded is done, whatever its units do since then."""
    is_done = part.status == "succeeded"
    chains = sorted((unit for unit in part.units if unit.kind == UnitKind.CHAIN), key=lambda unit: unit.chain or 0)
    furthest = max(chains, key=lambda unit: unit.n_sweeps, default=None)
    at = "done" if is_done else stage(part.units)
    stepwise = next((unit for unit in part.units if is_stepwise_at(unit, at)), None)
    states = [unit_state(unit, job, part, around) for unit in part.units]
    run = completion.Run(states, part.expected.works, encode_share(job.settings), part.paces)
    return Progress(
        stage=at,
        steps_done=stepwise.n_sweeps if stepwise else None,
        steps_total=stepwise.n_steps if stepwise else None,
        sweeps_done=sum(min(unit.n_sweeps, part.sweeps) for unit in chains),
        sweeps_total=part.sweeps * len(chains),
        fraction=1.0 if is_done else completion.fraction(run),
        sweeps_per_second=sweeps_per_second(chains) if part.is_live else None,
        seconds_left=completion.seconds_left(run, around.workers, around.leg_seconds) if part.is_live else None,
        n_categories=furthest.n_categories if furthest else None,
        chains=[
            ChainProgress.model_validate(
                {
                    "chain": unit.chain,
                    "status": "done" if is_done else unit.status,
                    "sweeps_done": min(unit.n_sweeps, part.sweeps),
                    "n_categories": unit.n_categories,
                    "sweeps_per_second": unit.sweeps_per_second if part.is_live else None,
                    "digest": unit.digest,
                }
            )
            for unit in chains
        ],
        note=part.note,
    )


def unit_state(unit: Unit, job: Job, part: Part, around: Situation) -> UnitState:
    """What progress sees of a unit: of an extended chain, the sweeps since then and their share of its seconds.

    A unit that has not saved anything has waited since a worker last turned to the job, at least. Each save and each
    heartbeat sets the lease anew, so that the lease has the time of the last one.
    """
    n_saved = max(unit.n_sweeps - part.first_sweep, 0) if unit.kind == UnitKind.CHAIN else unit.n_sweeps
    seconds = unit.seconds * n_saved / unit.n_sweeps if unit.n_sweeps else unit.seconds
    is_done, is_begun = unit.status == "done", n_saved > 0
    waited = unsaved = 0.0
    if unit.status == "running" and part.is_live:
        if not is_begun and job.claimed_at is not None:
            waited = max(around.now - job.claimed_at, 0.0)
        if unit.lease_until is not None:
            unsaved = min(max(around.now - (unit.lease_until - around.lease_seconds), 0.0), around.lease_seconds)
    rate = unit.sweeps_per_second if unit.status == "running" and is_begun else None
    return UnitState(unit.kind, 1, int(is_done), int(is_done or is_begun), n_saved, seconds, waited, unsaved, rate)


def sweeps_per_second(chains: Iterable[Unit]) -> float | None:
    """The rate of the chains that run now, together; None if none does."""
    rates = [unit.sweeps_per_second for unit in chains if unit.status == "running" and unit.sweeps_per_second]
    return sum(rates) if rates else None


def stage(units: Iterable[Unit]) -> Stage:
    """What the job is at, or was at when it ended: the first kind of units that is not all done."""
    unfinished = {unit.kind for unit in units if unit.status != "done"}
    return first_stage(unfinished)


def is_stepwise_at(unit: Unit, stage: Stage) -> bool:
    """Whether the unit works at this stage, and its parts are steps."""
    facts = UNIT_KINDS[unit.kind]
    return facts.is_stepwise and facts.stage == stage


def first_stage(unfinished: Container[str]) -> Stage:
    """The stage of the first kind of units that is not all done."""
    return next((facts.stage for kind, facts in UNIT_KINDS.items() if kind in unfinished), "done")
