"""A page of jobs in short: counted in SQL and read by column, so that large settings and many chains cost little."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Row, Select, case, cast, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app import completion
from app.api.progress import NO_WORKER, STAGES, Situation, situation, without_worker
from app.completion import Run, UnitState
from app.forecast import REFERENCE, Sizes, encode_share, forecast
from app.job_schemas import JobSummary, SummaryLinks, SummaryProgress
from app.leases import LIVE
from app.models import Encoding, Job, Unit
from app.settings import Settings

COLUMNS: tuple[InstrumentedAttribute[Any], ...] = (
    Job.id,
    Job.corpus_id,
    Job.corpus_version,
    Job.status,
    Job.error,
    Job.created_at,
    Job.started_at,
    Job.finished_at,
)
TEXTS = ("model", "kernel")
NUMBERS = ("sweeps", "burn_in", "chains", "seed")
CONSTANTS = ("calibrated", "hyperparameters")  # one of them is null


def summary_query() -> Select[Any]:
    """What a summary is made of; of the settings all but `text`, which may be long."""
    of_settings: list[ColumnElement[Any]] = [
        *(Job.settings[name].as_string().label(name) for name in TEXTS),
        *(cast(Job.settings[name].as_string(), BigInteger).label(name) for name in NUMBERS),
        *(Job.settings[name].label(name) for name in CONSTANTS),
    ]
    return select(*COLUMNS, Job.claimed_at, Job.encoding_id, *of_settings)


def summaries(session: Session, jobs: Sequence[Row[Any]], settings: Settings) -> list[JobSummary]:
    """The jobs in short, in the same order; `jobs` are rows of `summary_query`."""
    around = situation(session, settings)
    stranded = without_worker(session, {job.id for job in jobs if job.status in LIVE}, around)
    states = states_of(session, [job.id for job in jobs])
    sizes = sizes_by_encoding(session, {job.encoding_id for job in jobs if job.encoding_id is not None})
    return [
        JobSummary(
            **{column.key: getattr(job, column.key) for column in COLUMNS},
            model=job.model,
            **{name: getattr(job, name) for name in NUMBERS},
            progress=progress(job, states[job.id], sizes.get(job.encoding_id, REFERENCE), around, job.id in stranded),
            links=SummaryLinks(self=f"/v1/jobs/{job.id}"),
        )
        for job in jobs
    ]


def states_of(session: Session, job_ids: Sequence[str]) -> dict[str, list[tuple[str, UnitState]]]:
    """By job, for each kind and status of its units, saved or not, how many there are and what they have done."""
    query = (
        select(
            Unit.job_id,
            Unit.kind,
            Unit.status,
            func.count(),
            func.sum(case((Unit.n_sweeps > 0, 1), else_=0)),
            func.sum(Unit.n_sweeps),
            func.sum(Unit.seconds),
        )
        .where(Unit.job_id.in_(job_ids))
        .group_by(Unit.job_id, Unit.kind, Unit.status, Unit.n_sweeps > 0)
    )
    found: dict[str, list[tuple[str, UnitState]]] = defaultdict(list)
    for job_id, kind, status, n_units, n_begun, n_saved, seconds in session.execute(query):
        n_done = n_units if status == "done" else 0
        state = UnitState(kind, n_units, n_done, max(n_done, int(n_begun)), int(n_saved), float(seconds))
        found[job_id].append((status, state))
    return found


def sizes_by_encoding(session: Session, encoding_ids: set[int]) -> dict[int | None, Sizes]:
    """The sizes of encoded corpora."""
    columns = (Encoding.n_documents, Encoding.n_tokens, Encoding.n_words, Encoding.n_known)
    query = select(Encoding.id, *columns).where(Encoding.id.in_(encoding_ids))
    return {encoding_id: Sizes(*sizes) for encoding_id, *sizes in session.execute(query)}


def progress(
    job: Row[Any], states: Sequence[tuple[str, UnitState]], sizes: Sizes, around: Situation, is_stranded: bool
) -> SummaryProgress:  # fmt: skip
    """How far a job is; until its corpus is encoded the sizes make no difference."""
    given = settings_of(job)
    unfinished = {state.kind for status, state in states if status != "done"}
    present = [waiting(state, status, job, around.now) for status, state in states]
    return SummaryProgress(
        stage=next((name for kind, name in STAGES.items() if kind in unfinished), "done"),
        sweeps_done=sum(state.n_saved for _, state in states if state.kind == "chain"),
        sweeps_total=job.sweeps * job.chains,
        fraction=completion.fraction(Run(present, forecast(sizes, given).works, encode_share(given))),
        note=NO_WORKER if is_stranded else None,
    )


def settings_of(job: Row[Any]) -> Mapping[str, Any]:
    """The settings that a forecast depends on."""
    return {name: getattr(job, name) for name in (*TEXTS, *NUMBERS, *CONSTANTS)}


def waiting(state: UnitState, status: str, job: Row[Any], now: float) -> UnitState:
    """The state with the time since a worker turned to the job, if nothing is saved of it; as `progress.unit_state`."""
    if status != "running" or state.n_begun or job.status not in LIVE or job.claimed_at is None:
        return state
    return state._replace(waited=max(now - job.claimed_at, 0.0))
