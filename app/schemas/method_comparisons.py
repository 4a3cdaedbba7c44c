"""What HTTP says of comparisons of methods over splits of a corpus with gold labels, with examples."""

from collections import Counter
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, Field, model_validator

from app.core.kinds import TRUE_NUMBER, Model
from app.schemas.common import (
    COMPARISON_ID,
    CORPUS_ID,
    JOB_ID,
    Name,
    Owner,
    RequestBody,
    Status,
    example,
    request_example,
)
from app.schemas.job_settings import ModelName, NumberOfCategories, Numbers, SettingsIn

MAX_METHODS, MAX_SPLITS, MAX_KNOWN = 20, 50, 5_000
DEFAULT_SPLITS, DEFAULT_SHARE = 10, 0.4  # the paper's


class MethodIn(SettingsIn):
    """A method: the settings of a job, and what it is called."""

    other_number: ClassVar[str | None] = TRUE_NUMBER

    name: Name | None = Field(default=None, description="Default: the model, numbered if it comes more than once.")
    n_categories: NumberOfCategories | Numbers | Literal["true"] | None = Field(  # type: ignore[assignment] # wider
        default=None,
        description='For the models that are told the number of categories; `"true"` tells them the number of '
        "different labels that the corpus has.",
    )

    def settings(self, n_true: int) -> dict[str, Any]:
        """The settings of its jobs, where there are so many categories in truth."""
        found = self.model_dump(exclude={"name", "vectors"}, exclude_none=True)
        return found | ({"n_categories": n_true} if self.n_categories == TRUE_NUMBER else {})


class MethodComparisonIn(RequestBody):
    """Methods to be compared over random splits of one corpus, whose labels are taken as gold."""

    model_config = request_example(
        corpus_id=CORPUS_ID,
        name="Which method suits our tickets",
        methods=[
            {"model": Model.CALIBRATED},
            {"name": "the paper's model", "model": Model.LBPL_NTM, "sweeps": 400},
            {"model": Model.SSKM, "n_categories": TRUE_NUMBER},
        ],
        splits=10,
        seed=0,
        known=["astronomy", "optics"],
        labeled_share=0.4,
    )

    corpus_id: str
    name: Name | None = None
    methods: list[MethodIn] = Field(min_length=1, max_length=MAX_METHODS)
    splits: int = Field(
        default=DEFAULT_SPLITS, ge=1, le=MAX_SPLITS, description="Random choices of the labels that methods see."
    )
    seed: int = Field(
        default=0,
        ge=0,
        lt=2**63,
        description="Of the first split; the next ones have the numbers that follow. The seeds of jobs follow those of "
        "their methods in the same way.",
    )
    known: list[Name] | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_KNOWN,
        description="The categories of which methods see labels. Default: half of the categories, rounded down, those "
        "with the most documents.",
    )
    labeled_share: Annotated[float, Field(gt=0.0, lt=1.0, allow_inf_nan=None)] = Field(
        default=DEFAULT_SHARE,
        description="Share of the documents of each known category whose label methods see, at least one document.",
    )

    @model_validator(mode="after")
    def name_methods(self) -> Self:
        """Give methods without a name that of their model; refuse a name that comes twice."""
        given = [method.name for method in self.methods if method.name is not None]
        if twice := [name for name, n in Counter(given).items() if n > 1]:
            raise ValueError(f"two methods are called {twice[0]!r}: their rows could not be told apart")
        taken = set(given)
        for method in self.methods:
            if method.name is None:
                method.name = free_name(str(method.model), taken)
                taken.add(method.name)
        return self


def free_name(name: str, taken: set[str]) -> str:
    """The name, with the first number that makes it another one if it is taken."""
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name} {number}"
    return found


class Estimate(BaseModel):
    """A mean over the splits whose job has succeeded."""

    mean: float | None
    standard_error: float | None = Field(
        description="Of the mean: the standard deviation, with n - 1, over the root of n. Null below two."
    )
    n: int = Field(description="Splits that it is over: those whose job has succeeded, and in which it is defined.")


class SplitCell(BaseModel):
    """One method on one split. Scores are null until its job has succeeded, and where they are not defined."""

    split: int = Field(description="From 0.")
    job: str | None = Field(description="Id of the job; null if it was deleted.")
    status: Status | None
    nmi: float | None
    ari: float | None
    mean_f1: float | None
    categories: int | None
    seconds: float | None
    documents: int | None = Field(
        description="That are scored: they have a gold label, which was hidden, and a category."
    )
    without_answer: int | None = Field(description="Documents whose label was hidden and that have no category.")


class MethodRow(BaseModel):
    """A method, on average over the splits."""

    method: str
    model: ModelName
    nmi: Estimate = Field(description="Normalized mutual information, 2 I / (H + H'), as in the paper.")
    ari: Estimate = Field(description="Adjusted Rand index.")
    mean_f1: Estimate = Field(description="F1 over the known categories.")
    categories: Estimate = Field(description="Categories that scored documents were given, known and new.")
    seconds: Estimate = Field(
        description="Of work, without the encoding of the corpus, which the methods of a split share. Atoms that an "
        "earlier job has left are not counted again."
    )
    cells: list[SplitCell]


class ComparisonLinks(BaseModel):
    """Addresses of the comparison."""

    self: str
    table: str


class ComparisonBasics(BaseModel):
    """What every answer about a comparison says."""

    id: str
    corpus_id: str
    corpus_version: int
    name: str | None
    status: Status = Field(
        description="Of its jobs together: `running` from when the first one begins until the last one has ended, then "
        "`failed` or `cancelled` if any of them has; `paused` if all that have not ended are paused."
    )
    owner: Owner
    created_at: datetime
    methods: list[str]
    splits: int
    jobs: dict[Status, int] = Field(description="How many jobs have each status.")
    links: ComparisonLinks


BASICS: dict[str, Any] = {
    "id": COMPARISON_ID,
    "corpus_id": CORPUS_ID,
    "corpus_version": 3,
    "name": "Which method suits our tickets",
    "status": "succeeded",
    "owner": "local",
    "created_at": "2026-11-29T09:12:40.310000Z",
    "methods": ["calibrated"],
    "splits": 2,
    "jobs": {"succeeded": 2},
    "links": {"self": f"/v1/comparisons/{COMPARISON_ID}", "table": f"/v1/comparisons/{COMPARISON_ID}/table"},
}
CELL: dict[str, Any] = {
    "split": 0,
    "job": JOB_ID,
    "status": "succeeded",
    "nmi": 0.8,
    "ari": 0.75,
    "mean_f1": 0.9,
    "categories": 10,
    "seconds": 40.0,
    "documents": 384,
    "without_answer": 0,
}
ROW: dict[str, Any] = {
    "method": "calibrated",
    "model": "calibrated",
    "nmi": {"mean": 0.82, "standard_error": 0.02, "n": 2},
    "ari": {"mean": 0.76, "standard_error": 0.01, "n": 2},
    "mean_f1": {"mean": 0.91, "standard_error": 0.01, "n": 2},
    "categories": {"mean": 10.5, "standard_error": 0.5, "n": 2},
    "seconds": {"mean": 41.0, "standard_error": 1.0, "n": 2},
    "cells": [
        CELL,
        {
            **CELL,
            "split": 1,
            "job": "d0f3a6b1-0c6d-4c8e-8d5f-2a9b7e4c1f30",
            "nmi": 0.84,
            "ari": 0.77,
            "mean_f1": 0.92,
            "categories": 11,
            "seconds": 42.0,
        },
    ],
}


class MethodComparisonOut(ComparisonBasics):
    """A comparison of methods with its table, a row a method."""

    model_config = example(
        **BASICS, seed=0, known=["astronomy", "optics"], labeled_share=0.4, categories=6, table=[ROW]
    )

    seed: int = Field(description="Of the first split.")
    known: list[str] = Field(description="The categories of which methods see labels.")
    labeled_share: float
    categories: int = Field(description="Different labels of the corpus, known or hidden: the true number.")
    table: list[MethodRow]


COMPARISONS_CURSOR = "WzE3OTU5NDM1NjAuMzEsIjdkMWUwZjZhLTUyYzMtNGI4ZS05YTY0LTFmM2I1ZDdjOWUwMiJd"


class MethodComparisonPage(BaseModel):
    """Some comparisons, newest first; `next` is the cursor of the next page, null on the last one."""

    model_config = example(comparisons=[BASICS], next=COMPARISONS_CURSOR)

    comparisons: list[ComparisonBasics]
    next: str | None
