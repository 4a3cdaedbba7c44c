"""What HTTP says of jobs and their results, with examples."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from app.schemas import (
    CORPUS_ID,
    CURSOR,
    JOB_ID,
    KERNELS,
    HyperparametersOut,
    SettingsIn,
    Stage,
    Status,
    UnitStatus,
    example,
)
from sampler.state import Kernel


class SettingsOut(SettingsIn):
    """A job's settings in full, the defaults it took included."""

    kernel: Kernel = Field(default="collapsed", description=KERNELS)  # of a job from before there was a choice
    hyperparameters: HyperparametersOut


class ChainProgress(BaseModel):
    """How far a chain is."""

    chain: int
    status: UnitStatus
    sweeps_done: int
    n_categories: int | None
    sweeps_per_second: float | None
    digest: str | None = Field(
        description="SHA-256 over all states up to the last save, in hex: equal for equal runs, whatever befell them."
    )


class Progress(BaseModel):
    """How far a job is; sweeps are counted over all chains."""

    stage: Stage
    sweeps_done: int
    sweeps_total: int
    fraction: float
    sweeps_per_second: float | None = Field(description="Of the chains that run now, together.")
    seconds_left: float | None = Field(description="At this rate; null while nothing runs.")
    n_categories: int | None = Field(description="Of the chain that is furthest.")
    chains: list[ChainProgress]
    note: str | None = Field(description="Why a live job does not get on, where that is known.")


class Links(BaseModel):
    """Where the job's parts are."""

    self: str
    trace: str
    categories: str
    documents: str


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
        **SettingsIn(sweeps=400, seed=7).model_dump(),
        "hyperparameters": HyperparametersOut().model_dump(),
    },
    "progress": {
        "stage": "sample",
        "sweeps_done": 300,
        "sweeps_total": 800,
        "fraction": 0.375,
        "sweeps_per_second": 20.0,
        "seconds_left": 25.0,
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
    "links": {
        "self": f"/v1/jobs/{JOB_ID}",
        "trace": f"/v1/jobs/{JOB_ID}/trace",
        "categories": f"/v1/jobs/{JOB_ID}/categories",
        "documents": f"/v1/jobs/{JOB_ID}/documents",
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
    progress: Progress
    links: Links


class JobPage(BaseModel):
    """Some jobs, newest first; `next` is the cursor of the page after, null on the last one."""

    model_config = example(jobs=[JOB], next=CURSOR)

    jobs: list[JobOut]
    next: str | None


DRAW: dict[str, Any] = {
    "chain": 0,
    "sweep": 1,
    "n_categories": 11,
    "n_new": 5,
    "n_new_with_documents": 4,
    "n_tables": 6120,
    "alpha": 0.52,
    "gamma": 0.0011,
    "log_joint": -1204556.3,
}


class DrawOut(BaseModel):
    """What one sweep of a chain left."""

    model_config = example(**DRAW)

    chain: int
    sweep: int
    n_categories: int
    n_new: int = Field(description="Categories that no label names.")
    n_new_with_documents: int = Field(description="Of these, those that some document is given to.")
    n_tables: int
    alpha: float
    gamma: float
    log_joint: float


class TracePage(BaseModel):
    """Some draws, by chain and sweep; `next` is the cursor of the page after, null on the last one.

    While the job runs, a trace that has come to its end goes on later: ask again by `chain` and `after`.
    """

    model_config = example(draws=[DRAW], next=CURSOR)

    draws: list[DrawOut]
    next: str | None


class TopWord(BaseModel):
    """A word and the documents of the category that hold it."""

    word: str
    documents: int


class CategoryOut(BaseModel):
    """A category of the answer."""

    category: int
    name: str
    known: bool
    documents: int = Field(description="Unlabeled documents that were given to it.")
    labeled: int
    share: float
    top_words: list[TopWord]


class Frequency(BaseModel):
    """How often a number occurred among the kept draws of all chains."""

    n_new: int
    frequency: float
    draws: int


class PosteriorOut(BaseModel):
    """The posterior of a number of new categories, over the kept draws of all chains."""

    mode: int
    mean: float
    interval_90: tuple[int, int] = Field(description="From the 5 % to the 95 % quantile.")
    frequencies: list[Frequency]


POSTERIOR: dict[str, Any] = {
    "mode": 4,
    "mean": 4.25,
    "interval_90": [4, 5],
    "frequencies": [{"n_new": 4, "frequency": 0.75, "draws": 300}, {"n_new": 5, "frequency": 0.25, "draws": 100}],
}


class CategoriesOut(BaseModel):
    """The categories that a job found, and how sure it is of their number."""

    model_config = example(
        best_chain=0,
        categories=[
            {
                "category": 0,
                "name": "astronomy",
                "known": True,
                "documents": 118,
                "labeled": 80,
                "share": 0.099,
                "top_words": [{"word": "galaxy", "documents": 61}],
            },
            {
                "category": 6,
                "name": "new-1",
                "known": False,
                "documents": 203,
                "labeled": 0,
                "share": 0.1015,
                "top_words": [{"word": "plasma", "documents": 177}],
            },
        ],
        n_new=POSTERIOR,
        n_new_with_documents=POSTERIOR,
    )

    best_chain: int = Field(description="The chain that the categories and documents are of.")
    categories: list[CategoryOut]
    n_new: PosteriorOut
    n_new_with_documents: PosteriorOut


class RunnerUp(BaseModel):
    """The second choice."""

    category: int
    name: str
    probability: float


class DocumentOut(BaseModel):
    """The answer to one unlabeled document; without a category it tells the reason."""

    key: str
    category: int | None
    name: str | None
    known: bool | None
    probability: float | None
    runner_up: RunnerUp | None
    reason: str | None


class DocumentPage(BaseModel):
    """Some documents, in the order they came; `next` is the cursor of the page after, null on the last one."""

    model_config = example(
        documents=[
            {
                "key": "paper-812",
                "category": 6,
                "name": "new-1",
                "known": False,
                "probability": 0.93,
                "runner_up": {"category": 2, "name": "optics", "probability": 0.05},
                "reason": None,
            },
            {
                "key": "paper-813",
                "category": None,
                "name": None,
                "known": None,
                "probability": None,
                "runner_up": None,
                "reason": "no word is left after the text options",
            },
        ],
        next=CURSOR,
    )

    documents: list[DocumentOut]
    next: str | None
