"""What HTTP says of categories from job to job, with examples."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from app.schemas.common import CORPUS_ID, JOB_ID, example

Change = Literal["kept", "grown", "split", "merged", "new", "gone"]

EARLIER_JOB_ID = "3d1f0f2a-54c8-4f0b-9c0e-8d7b6a5f4e21"
PLASMA = "new 1: plasma, electron, laser"


class CategoryRef(BaseModel):
    """A category of one of the two jobs."""

    category: int
    id: str | None
    name: str
    known: bool


class ChangeOut(BaseModel):
    """What became of categories. Documents with a label count as those that were assigned."""

    change: Change = Field(
        description="`kept`: of the documents that both jobs have, half or more of those in either category are in "
        "both (Jaccard index); `grown`: kept, with 1.25 times the documents or more. `split`: half or more of the "
        "documents of each category in `now` were of the one in `before`. `merged`: half or more of the documents of "
        "each category in `before` are of the one in `now`. `new` and `gone`: none of these."
    )
    before: list[CategoryRef] = Field(description="Largest first; none of what is `new`.")
    now: list[CategoryRef] = Field(description="Largest first; none of what is `gone`.")
    documents_before: int
    documents_now: int
    shared: int = Field(description="Documents that are in `before` and in `now`.")
    arrived: int = Field(description="Of the documents now, those that the corpus of the job before did not have.")


class PairOut(BaseModel):
    """Documents that a category of the one job and a category of the other have in common."""

    before: int | None = Field(description="Index of the category before; null: of none.")
    now: int | None = Field(description="Index of the category now; null: of none.")
    documents: int
    share_before: float = Field(description="Of the documents before that both jobs have.")
    share_now: float = Field(description="Of the documents now that both jobs have.")


CHANGE_NUMBERS = ("documents_before", "documents_now", "shared", "arrived")


def example_change(change: str, before: list[Any], now: list[Any], *numbers: int) -> dict[str, Any]:
    """An example of what became of categories."""
    return {"change": change, "before": before, "now": now, **dict(zip(CHANGE_NUMBERS, numbers, strict=True))}


def example_ref(category: int, short_id: str, name: str, *, known: bool) -> dict[str, Any]:
    """An example of a category."""
    return {"category": category, "id": short_id, "name": name, "known": known}


ASTRONOMY = example_ref(0, "c-4rv0dt", "astronomy", known=True)


BENEFIT = {"confirmed": 12, "corrected": 8, "unsure_before": 53, "unsure_now": 31}


class BenefitOut(BaseModel):
    """What the decisions about a job were worth to the one that continues it."""

    confirmed: int = Field(description="Documents that somebody said to be of the category that the answer had.")
    corrected: int = Field(description="Documents that somebody said to be of another category, or of none.")
    unsure_before: int = Field(description="Documents that both jobs have answered, with less than 50 % before.")
    unsure_now: int = Field(description="The same, now; those that somebody decided about are sure.")


class ComparisonOut(BaseModel):
    """What became of the categories of another job over the same corpus. Each category is in at least one change."""

    model_config = example(
        job=JOB_ID,
        compared_with=EARLIER_JOB_ID,
        documents_before=400,
        documents_now=450,
        shared=400,
        counts={"kept": 1, "grown": 1, "split": 0, "merged": 0, "new": 0, "gone": 0},
        benefit=BENEFIT,
        changes=[
            example_change("kept", [ASTRONOMY], [ASTRONOMY], 200, 195, 190, 5),
            example_change(
                "grown",
                [example_ref(6, "c-7q3kx9", "new 1: plasma, electron", known=False)],
                [example_ref(6, "c-7q3kx9", PLASMA, known=False)],
                *(200, 255, 200, 45),
            ),
        ],
        pairs=[
            {"before": 6, "now": 6, "documents": 200, "share_before": 1.0, "share_now": 200 / 210},
            {"before": 0, "now": 0, "documents": 190, "share_before": 0.95, "share_now": 1.0},
            {"before": 0, "now": 6, "documents": 10, "share_before": 0.05, "share_now": 10 / 210},
        ],
    )

    job: str
    compared_with: str
    documents_before: int = Field(description="All documents of the job before, also those without a category.")
    documents_now: int
    shared: int = Field(description="Documents that both jobs have, as they are or corrected.")
    counts: dict[Change, int] = Field(description="How many changes there are of each kind.")
    benefit: BenefitOut | None = Field(description="Null unless the job continues the one before.")
    changes: list[ChangeOut] = Field(description="By kind, and by falling number of documents.")
    pairs: list[PairOut] = Field(description="By falling number of documents.")


class DecisionRef(BaseModel):
    """A decision in force that is about the category."""

    number: int
    kind: str
    author: str | None
    made_at: datetime


class LineageJob(BaseModel):
    """A job whose answer has the category."""

    job: str
    job_name: str | None
    corpus_id: str
    corpus_version: int
    created_at: datetime
    continues: str | None = Field(description="The job that it continues, if that one is in the lineage.")
    category: int = Field(description="Index of the category in this job.")
    name: str
    known: bool
    documents: int = Field(description="Unlabeled documents that were assigned to it.")
    labeled: int
    stability: float | None = Field(description="How far chains agree on it; null where they are not pooled.")
    decisions: list[DecisionRef] = Field(description="About this category of this job, in their order.")


class LineagePage(BaseModel):
    """Some jobs with the category, oldest first; `next` is the cursor of the next page, null on the last one."""

    model_config = example(
        id="c-7q3kx9",
        jobs=[
            {
                "job": EARLIER_JOB_ID,
                "job_name": "first week",
                "corpus_id": CORPUS_ID,
                "corpus_version": 2,
                "created_at": "2026-11-20T09:00:00Z",
                "continues": None,
                "category": 6,
                "name": PLASMA,
                "known": False,
                "documents": 200,
                "labeled": 0,
                "stability": 0.97,
                "decisions": [{"number": 1, "kind": "name", "author": "Ada", "made_at": "2026-11-21T10:30:00Z"}],
            }
        ],
        next="WzE3OTU2NDU2MDAuMCwiM2QxZjBmMmEtNTRjOC00ZjBiLTljMGUtOGQ3YjZhNWY0ZTIxIl0",
    )

    id: str
    jobs: list[LineageJob]
    next: str | None
