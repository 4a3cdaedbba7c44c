"""What HTTP says of jobs and their progress, with examples."""

import hashlib
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from app.core.kinds import Model, Stage
from app.schemas.common import CORPUS_ID, JOB_ID, Owner, Status, UnitStatus, example
from app.schemas.job_settings import HyperparametersOut, ModelName, SettingsIn, SettingsOut
from app.schemas.webhooks import WebhookOut

FRACTION = "Share of the work that is done, from 0 to 1; each stage is weighted by the time it is expected to take."
NOTE = "Why a live job is not progressing, where that is known."


class ChainProgress(BaseModel):
    """The progress of a chain."""

    chain: int
    status: UnitStatus
    sweeps_done: int
    n_categories: int | None
    sweeps_per_second: float | None
    digest: str | None = Field(
        description="SHA-256 over all states up to the last save, in hex: equal for equal runs, interrupted or not."
    )


class Progress(BaseModel):
    """The progress of a job; sweeps are counted over all chains."""

    stage: Stage
    steps_done: int | None = Field(
        description="In the stages `atoms`, `calibrate` and `power`; otherwise null, as is the total."
    )
    steps_total: int | None
    sweeps_done: int
    sweeps_total: int
    fraction: float = Field(description=FRACTION)
    sweeps_per_second: float | None = Field(description="Of all chains that are running now, together.")
    seconds_left: float | None = Field(
        description="Until the job ends: what remains of its forecast, at the speed that the job has shown so far, "
        "with its share of the live workers. Null unless the job is queued or running."
    )
    n_categories: int | None = Field(description="Of the chain that is furthest ahead.")
    chains: list[ChainProgress]
    note: str | None = Field(description=NOTE)


class ForecastOut(BaseModel):
    """The time and memory a job is expected to take, from its settings and its corpus; right within a factor of two.

    Until the corpus is encoded, its size is estimated from a sample.
    """

    seconds: float = Field(description="Of work, if one worker does all of it.")
    seconds_on_workers: float = Field(description="If the job has all `workers` to itself.")
    workers: int = Field(description="Workers that are alive now, at least 1.")
    peak_bytes: int = Field(description="The most memory that a worker needs for it.")


class TextsOut(BaseModel):
    """The texts of a job once they are words."""

    language: str | None = Field(description="Of most words, by ISO 639-1; null if they do not show it.")
    stop_words: list[str] = Field(description="Languages whose stop words were left out.")
    stemming: str | None = Field(description="The language whose stems were taken.")
    vocabulary: int = Field(description="Words that are left.")
    tokens: int = Field(description="Occurrences of them.")
    distinct_texts: int = Field(description="Texts that are left when copies are joined.")


class SideRunOut(BaseModel):
    """An extension or a power test of a job that has succeeded; its outcome does not change the job."""

    status: Status
    error: str | None
    sweeps: int | None = Field(description="Of an extension: sweeps of each chain at its end.")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    progress: Progress


class Links(BaseModel):
    """Addresses of the job and its results."""

    self: str
    trace: str
    categories: str
    documents: str
    audit: str
    labels: str
    groups: str
    sources: str
    score: str
    tree: str
    categorize: str
    model: str
    drift: str
    topics: str | None = Field(description="Null if the job's model has no topics.")
    power_test: str | None = Field(description="Null if the job's model has no power test.")


# What is below the address of any job, by the names of its links.
ALWAYS = (
    "trace",
    "categories",
    "documents",
    "audit",
    "labels",
    "groups",
    "sources",
    "score",
    "tree",
    "categorize",
    "model",
    "drift",
)
DIGESTS = [hashlib.sha256(f"chain {chain}".encode()).hexdigest() for chain in range(2)]
JOB: dict[str, Any] = {
    "id": JOB_ID,
    "corpus_id": CORPUS_ID,
    "corpus_version": 3,
    "status": "running",
    "error": None,
    "name": "Tickets of autumn",
    "tags": ["tickets"],
    "note": "With the labels of November.",
    "continues": None,
    "comparison_id": None,
    "owner": "local",
    "created_at": "2026-11-27T23:31:02.480000Z",
    "started_at": "2026-11-27T23:31:02.910000Z",
    "finished_at": None,
    "expired_at": None,
    "settings": {
        **SettingsIn(model=Model.LBPL_NTM, sweeps=400, seed=7).model_dump(),
        "hyperparameters": HyperparametersOut().model_dump(),
    },
    "texts": {
        "language": "en",
        "stop_words": ["en"],
        "stemming": None,
        "vocabulary": 5170,
        "tokens": 161000,
        "distinct_texts": 1962,
    },
    "warnings": [],
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
                "digest": DIGESTS[chain],
            }
            for chain, sweeps, rate in ((0, 160, 10.5), (1, 140, 9.5))
        ],
        "note": None,
    },
    "extension": None,
    "power_test": None,
    "webhook": None,
    "links": {
        "self": f"/v1/jobs/{JOB_ID}",
        **{name: f"/v1/jobs/{JOB_ID}/{name}" for name in ALWAYS},
        "topics": None,
        "power_test": None,
    },
}


class JobBasics(BaseModel):
    """What every answer about a job says, as its row has it."""

    id: str
    corpus_id: str
    corpus_version: int
    status: Status
    error: str | None
    name: str | None
    note: str | None
    continues: str | None = Field(description="Id of the job that this one went on from.")
    comparison_id: str | None = Field(description="Id of the comparison of methods that it is part of.")
    owner: Owner
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    expired_at: datetime | None = Field(description="Since then its checkpoints are gone, and it can only be read.")


class JobOut(JobBasics):
    """A job: its settings, its progress, and where its results are."""

    model_config = example(**JOB)

    tags: list[str]
    settings: SettingsOut
    texts: TextsOut | None = Field(description="Null until the corpus is encoded.")
    warnings: list[str] = Field(description="What was probably wrong with the labels when the job was submitted.")
    forecast: ForecastOut
    progress: Progress
    extension: SideRunOut | None = Field(description="The latest one; null if the job was never extended.")
    power_test: SideRunOut | None = Field(description="Null if none was requested.")
    webhook: WebhookOut | None = Field(description="Null if the job has none.")
    links: Links


class JobDryRun(BaseModel):
    """What would become of a job: no rule refuses it, and nothing was stored or queued."""

    model_config = example(**{name: JOB[name] for name in ("forecast", "warnings", "settings")})

    forecast: ForecastOut
    warnings: list[str] = Field(description="What is probably wrong with the labels.")
    settings: SettingsOut = Field(description="All that the job would have, including defaults.")


class SummaryProgress(BaseModel):
    """The progress of a job, in short form; sweeps are counted over all chains."""

    stage: Stage
    sweeps_done: int
    sweeps_total: int
    fraction: float = Field(description=FRACTION)
    note: str | None = Field(description=NOTE)


class SummaryLinks(BaseModel):
    """Where the full job is."""

    self: str


SUMMARY: dict[str, Any] = {
    **{name: JOB[name] for name in JobBasics.model_fields},
    "tags": JOB["tags"],
    **{name: JOB["settings"][name] for name in ("model", "sweeps", "burn_in", "chains", "seed")},
    "progress": {name: JOB["progress"][name] for name in SummaryProgress.model_fields},
    "links": {"self": JOB["links"]["self"]},
}


class JobSummary(JobBasics):
    """A job in a list, without its full settings and without its chains."""

    tags: list[str]
    model: ModelName
    sweeps: int = Field(description="Of each chain.")
    burn_in: int
    chains: int
    seed: int
    progress: SummaryProgress
    links: SummaryLinks


# When the last job was created, and its id.
JOBS_CURSOR = "WzE3OTU4MjIyNjIuNDgsImI5YTFkN2MyLTFmNmUtNGEzOC04ZjBiLTZmMmY0ZjFmN2UxNSJd"


class JobPage(BaseModel):
    """Some jobs, newest first; `next` is the cursor of the next page, null on the last one."""

    model_config = example(jobs=[SUMMARY], next=JOBS_CURSOR)

    jobs: list[JobSummary]
    next: str | None
