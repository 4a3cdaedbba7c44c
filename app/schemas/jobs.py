"""What HTTP says of jobs and their progress, with examples."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from app.core.kinds import Model, Stage
from app.schemas.common import CORPUS_ID, CURSOR, JOB_ID, Status, UnitStatus, example
from app.schemas.job_settings import HyperparametersOut, ModelName, SettingsIn, SettingsOut

FRACTION = "Share of the work that is done, from 0 to 1; every stage counts by the time that it is expected to take."
NOTE = "Why a live job is not progressing, where that is known."


class ChainProgress(BaseModel):
    """How far a chain is."""

    chain: int
    status: UnitStatus
    sweeps_done: int
    n_categories: int | None
    sweeps_per_second: float | None
    digest: str | None = Field(
        description="SHA-256 over all states up to the last save, in hex: equal for equal runs, interrupted or not."
    )


class Progress(BaseModel):
    """How far a job is; sweeps are counted over all chains."""

    stage: Stage
    steps_done: int | None = Field(
        description="Of the stages `atoms`, `calibrate` and `power`; else null, as is the total."
    )
    steps_total: int | None
    sweeps_done: int
    sweeps_total: int
    fraction: float = Field(description=FRACTION)
    sweeps_per_second: float | None = Field(description="Of the chains that run now, together.")
    seconds_left: float | None = Field(
        description="Until the job ends: what its forecast leaves to do, at the speed that the job has shown so far, "
        "with its share of the live workers. Null unless the job is queued or running."
    )
    n_categories: int | None = Field(description="Of the chain that is furthest.")
    chains: list[ChainProgress]
    note: str | None = Field(description=NOTE)


class ForecastOut(BaseModel):
    """What a job is expected to take, from its settings and the size of its corpus; right within a factor of two.

    Until the corpus is encoded, its size is estimated from a sample.
    """

    seconds: float = Field(description="Of work, one worker doing all of it.")
    seconds_on_workers: float = Field(description="With `workers` to itself.")
    workers: int = Field(description="Those that live now, at least 1.")
    peak_bytes: int = Field(description="Most memory that a worker needs for it.")


class SideRunOut(BaseModel):
    """An extension or a power test of a job that has succeeded; what becomes of it does not change the job."""

    status: Status
    error: str | None
    sweeps: int | None = Field(description="Of an extension: of each chain at its end.")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    progress: Progress


class Links(BaseModel):
    """Where the job's parts are."""

    self: str
    trace: str
    categories: str
    documents: str
    audit: str | None = Field(description="Null for a job whose model audits no labels.")
    topics: str | None = Field(description="Null for a job whose model reports no topics.")
    power_test: str | None = Field(description="Null for a job whose model has no power test.")


DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
JOB: dict[str, Any] = {
    "id": JOB_ID,
    "corpus_id": CORPUS_ID,
    "corpus_version": 3,
    "status": "running",
    "error": None,
    "created_at": "2026-11-27T23:31:02.480000Z",
    "started_at": "2026-11-27T23:31:02.910000Z",
    "finished_at": None,
    "settings": {
        **SettingsIn(model=Model.LBPL_NTM, sweeps=400, seed=7).model_dump(),
        "hyperparameters": HyperparametersOut().model_dump(),
    },
    "forecast": {"seconds": 78.5, "seconds_on_workers": 41.2, "workers": 2, "peak_bytes": 412000000},
    "progress": {
        "stage": "sample",
        "steps_done": None,
        "steps_total": None,
        "sweeps_done": 300,
        "sweeps_total": 800,
        "fraction": 0.41,
        "sweeps_per_second": 20.0,
        "seconds_left": 25.6,
        "n_categories": 11,
        "chains": [
            {
                "chain": chain,
                "status": "running",
                "sweeps_done": sweeps,
                "n_categories": 11 - chain,
                "sweeps_per_second": rate,
                "digest": DIGEST,
            }
            for chain, sweeps, rate in ((0, 160, 10.5), (1, 140, 9.5))
        ],
        "note": None,
    },
    "extension": None,
    "power_test": None,
    "links": {
        "self": f"/v1/jobs/{JOB_ID}",
        "trace": f"/v1/jobs/{JOB_ID}/trace",
        "categories": f"/v1/jobs/{JOB_ID}/categories",
        "documents": f"/v1/jobs/{JOB_ID}/documents",
        "audit": None,
        "topics": None,
        "power_test": None,
    },
}


class JobOut(BaseModel):
    """A job: what it does, how far it is, where its results are."""

    model_config = example(**JOB)

    id: str
    corpus_id: str
    corpus_version: int
    status: Status
    error: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    settings: SettingsOut
    forecast: ForecastOut
    progress: Progress
    extension: SideRunOut | None = Field(description="The last one, if the job was ever extended.")
    power_test: SideRunOut | None = Field(description="Null if nobody has asked for one.")
    links: Links


class SummaryProgress(BaseModel):
    """How far a job is, in short; sweeps are counted over all chains."""

    stage: Stage
    sweeps_done: int
    sweeps_total: int
    fraction: float = Field(description=FRACTION)
    note: str | None = Field(description=NOTE)


class SummaryLinks(BaseModel):
    """Where the whole job is."""

    self: str


SUMMARY: dict[str, Any] = {
    **{name: JOB[name] for name in ("id", "corpus_id", "corpus_version", "status", "error")},
    **{name: JOB[name] for name in ("created_at", "started_at", "finished_at")},
    **{name: JOB["settings"][name] for name in ("model", "sweeps", "burn_in", "chains", "seed")},
    "progress": {name: JOB["progress"][name] for name in SummaryProgress.model_fields},
    "links": {"self": JOB["links"]["self"]},
}


class JobSummary(BaseModel):
    """A job in a list: what it does and how far it is, without its settings in full and without its chains."""

    id: str
    corpus_id: str
    corpus_version: int
    status: Status
    error: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    model: ModelName
    sweeps: int = Field(description="Of each chain.")
    burn_in: int
    chains: int
    seed: int
    progress: SummaryProgress
    links: SummaryLinks


class JobPage(BaseModel):
    """Some jobs, newest first; `next` is the cursor of the page after, null on the last one."""

    model_config = example(jobs=[SUMMARY], next=CURSOR)

    jobs: list[JobSummary]
    next: str | None
