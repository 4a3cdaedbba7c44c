"""A page of jobs in short: counted in SQL and read by column, so that large settings and many chains cost little."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Row, Select, Text, case, func, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import InstrumentedAttribute, Session
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from app.core.db import is_among, now
from app.core.kinds import UnitKind, n_chains
from app.core.runs import LIVE
from app.core.settings import Settings
from app.core.tables import Encoding, Job, Unit
from app.forecasts import completion
from app.forecasts.completion import Run, UnitState
from app.forecasts.forecast import encode_share, forecast
from app.forecasts.sizes import REFERENCE, Sizes, Work
from app.http.condition import notes_of
from app.http.dependencies import address
from app.http.job_facts import tags_of
from app.http.progress import first_stage
from app.schemas.jobs import JobBasics, JobSummary, SummaryLinks, SummaryProgress

COLUMNS: tuple[InstrumentedAttribute[Any], ...] = tuple(getattr(Job, name) for name in JobBasics.model_fields)
OF_SETTINGS = ("model", "sweeps", "burn_in", "chains", "seed")


class SettingsWithoutText(FunctionElement[str]):
    """A job's settings as JSON, but for `text`, which may hold thousands of stop words: taken out by the database."""

    type = Text()
    inherit_cache = True


@compiles(SettingsWithoutText, "sqlite")
def _in_sqlite(element: SettingsWithoutText, compiler: SQLCompiler, **options: Any) -> str:
    return f"json_remove({compiler.process(element.clauses, **options)}, '$.text')"


@compiles(SettingsWithoutText, "postgresql")
def _in_postgresql(element: SettingsWithoutText, compiler: SQLCompiler, **options: Any) -> str:
    return f"CAST(CAST({compiler.process(element.clauses, **options)} AS jsonb) - 'text' AS text)"


STATES = (
    select(
        Unit.job_id,
        Unit.kind,
        Unit.status,
        func.count(),
        func.sum(case((Unit.n_sweeps > 0, 1), else_=0)),
        func.sum(Unit.n_sweeps),
        func.sum(Unit.seconds),
    )
    .where(is_among(Unit.job_id, "job_ids"), Unit.kind != UnitKind.POWER)
    .group_by(Unit.job_id, Unit.kind, Unit.status, Unit.n_sweeps > 0)
)


# What a summary is made of.
SUMMARIES: Select[Any] = select(
    *COLUMNS,
    Job.claimed_at,
    Job.encoding_id,
    SettingsWithoutText(Job.settings).label("settings"),
    now().label("now"),
)


def summaries(session: Session, jobs: Sequence[Row[Any]], settings: Settings) -> list[JobSummary]:
    """The jobs in short, in the same order; `jobs` are rows of `SUMMARIES`."""
    notes = notes_of(session, {job.id for job in jobs if job.status in LIVE}, settings)
    job_ids = [job.id for job in jobs]
    states, tags = states_of(session, job_ids), tags_of(session, job_ids)
    sizes = sizes_by_encoding(session, {job.encoding_id for job in jobs if job.encoding_id is not None})
    return [
        JobSummary(
            **{column.key: getattr(job, column.key) for column in COLUMNS},
            tags=tags.get(job.id, []),
            **{name: parsed(job.settings)[name] for name in OF_SETTINGS},
            progress=progress(job, states[job.id], sizes.get(job.encoding_id, REFERENCE), notes.get(job.id)),
            links=SummaryLinks(self=address(settings, f"/v1/jobs/{job.id}")),
        )
        for job in jobs
    ]


def states_of(session: Session, job_ids: Sequence[str]) -> dict[str, list[tuple[str, UnitState]]]:
    """By job, for each kind and status of its units, saved or not, how many there are and what they have done."""
    found: dict[str, list[tuple[str, UnitState]]] = defaultdict(list)
    for job_id, kind, status, n_units, n_begun, n_saved, seconds in session.execute(STATES, {"job_ids": job_ids}):
        n_done = n_units if status == "done" else 0
        state = UnitState(kind, n_units, n_done, max(n_done, int(n_begun)), int(n_saved), float(seconds))
        found[job_id].append((status, state))
    return found


def sizes_by_encoding(session: Session, encoding_ids: set[int]) -> dict[int | None, Sizes]:
    """The sizes of encoded corpora."""
    if not encoding_ids:
        return {}
    columns = (Encoding.n_documents, Encoding.n_tokens, Encoding.n_words, Encoding.n_known)
    query = select(Encoding.id, *columns).where(Encoding.id.in_(encoding_ids))
    return {encoding_id: Sizes(*sizes) for encoding_id, *sizes in session.execute(query)}


def progress(
    job: Row[Any], states: Sequence[tuple[str, UnitState]], sizes: Sizes, note: str | None
) -> SummaryProgress:  # fmt: skip
    """How far a job is; until its corpus is encoded the sizes make no difference."""
    given = parsed(job.settings)
    n_sweeps = given["sweeps"] * n_chains(given)
    works, share = costs(sizes, job.settings, job.continues is not None)
    is_done = job.status == "succeeded"  # whatever its units do since then
    unfinished = {state.kind for status, state in states if status != "done" and not is_done}
    present = [with_waiting(state, status, job) for status, state in states]
    return SummaryProgress(
        stage=first_stage(unfinished),
        sweeps_done=min(sum(state.n_saved for _, state in states if state.kind == UnitKind.CHAIN), n_sweeps),
        sweeps_total=n_sweeps,
        fraction=1.0 if is_done else completion.fraction(Run(present, works, share)),
        note=note,
    )


@lru_cache(maxsize=2_000)
def parsed(settings: str) -> Mapping[str, Any]:
    """Settings given as JSON: whoever follows a list asks for the same ones again and again."""
    found: dict[str, Any] = json.loads(settings)
    return found


@lru_cache(maxsize=2_000)
def costs(sizes: Sizes, settings: str, goes_on: bool) -> tuple[Mapping[str, Work], float]:
    """What the kinds of units take under settings given as JSON, and the share of `encode`."""
    given = parsed(settings)
    return forecast(sizes, given, goes_on=goes_on).works, encode_share(given)


def with_waiting(state: UnitState, status: str, job: Row[Any]) -> UnitState:
    """The state with the time since a worker turned to the job, if nothing is saved of it; as `progress.unit_state`."""
    if status != "running" or state.n_begun or job.status not in LIVE or job.claimed_at is None:
        return state
    return state._replace(waited=max(job.now - job.claimed_at, 0.0))
