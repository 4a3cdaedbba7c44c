"""What HTTP says of frozen models, of the new documents that they answer, and of drift."""

from datetime import date, datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from app.schemas.common import JOB_ID, MODEL_ID, Owner, example
from app.schemas.results import EvidenceWord, LikelyCategory
from app.schemas.uploads import FileChoices, LineError, TextColumns


class NewDocumentChoices(FileChoices):
    """How a file of new documents is to be read and answered."""

    text: TextColumns = Field(default=[])
    unsure_known: float = Field(
        default=0.5, ge=0, le=1, description="An answer with a known category is unsure below this probability."
    )
    unsure_new: float = Field(
        default=0.5, ge=0, le=1, description="An answer with a new category is unsure below this probability."
    )
    novel: float = Field(default=0.95, ge=0, le=1, description="A document is novel from this novelty on.")
    answer_format: Literal["json", "ndjson", "csv"] = Field(
        default="json",
        description="Of the answer. `json` is for up to 10,000 documents; with the others there is no limit, and a row "
        "that cannot be used has a line of its own, with the reason.",
    )
    bom: bool = Field(default=False, description="Of CSV: a byte order mark, by which Excel knows UTF-8.")


NEW_DOCUMENT: dict[str, Any] = {
    "key": "mail-7",
    "line": 1,
    "category": 6,
    "id": "c-7kq2mx",
    "name": "new 1: plasma, tokamak, density",
    "known": False,
    "probability": 0.91,
    "known_probability": 0.05,
    "category_probability": 0.96,
    "unsure": False,
    "likely": [
        {"category": 6, "name": "new 1: plasma, tokamak, density", "probability": 0.91},
        {"category": 2, "name": "optics", "probability": 0.04},
    ],
    "novelty": 0.31,
    "novel": False,
    "unknown_words": 0.1,
    "evidence": [{"word": "plasma", "weight": 1.8}],
    "of_corpus": False,
    "reason": None,
    "fields": {"received": "2026-11-29"},
}


class NewDocumentOut(BaseModel):
    """What a model says of a new document."""

    key: str | None
    line: int = Field(description="Where its row begins in the file: line, row of a sheet, number of the item.")
    category: int | None = Field(description="Null without evidence, like all that follows from it.")
    id: str | None = Field(description="Short id of the category.")
    name: str | None
    known: bool | None
    probability: float | None
    known_probability: float | None = Field(description="Of being of a known category, whichever.")
    category_probability: float | None = Field(description="Of this category, if it is known or new as this one is.")
    unsure: bool
    likely: list[LikelyCategory] = Field(description="The category, the runner-up, and others of 1 % or more.")
    novelty: float | None = Field(
        description="The share of documents of known categories that some category claims more strongly than this one: "
        "of these themselves one in twenty has .95 or more."
    )
    novel: bool | None = Field(description="It is like none of the categories, known or new.")
    unknown_words: float | None = Field(description="Share of its words that the model does not know.")
    evidence: list[EvidenceWord]
    of_corpus: bool = Field(description="The job had a document with this text; the answer is the one that it gave.")
    reason: str | None = Field(description="Why there is no category.")
    fields: dict[str, Any]


class NewDocumentsOut(BaseModel):
    """What a model says of new documents, in the order of the file."""

    model_config = example(
        model=MODEL_ID, documents=[NEW_DOCUMENT], novel=0, expected_novel=0.06, errors=[], warnings=[]
    )

    model: str = Field(description="Id of the model.")
    documents: list[NewDocumentOut]
    novel: int = Field(description="How many of them are novel.")
    expected_novel: float = Field(
        description="The share of novel ones among the job's own unlabeled documents, at the default threshold."
    )
    errors: list[LineError] = Field(description="Rows that could not be used.")
    warnings: list[str]


class ModelCategory(BaseModel):
    """A category of a model."""

    name: str
    known: bool
    id: str | None


MODEL: dict[str, Any] = {
    "id": MODEL_ID,
    "name": None,
    "job": JOB_ID,
    "imported": False,
    "bytes": 1_234_567,
    "sha256": "9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
    "owner": "local",
    "created_at": "2026-11-29T12:00:00.5Z",
    "categories": [
        {"name": "optics", "known": True, "id": "c-4q0m9z"},
        {"name": "new 1: plasma, tokamak, density", "known": False, "id": "c-7kq2mx"},
    ],
}


class ModelOut(BaseModel):
    """A frozen model: what answers new documents."""

    model_config = example(**MODEL)

    id: str
    name: str | None
    job: str | None = Field(description="The job that it is of, here or, for an imported one, where it comes from.")
    imported: bool
    bytes: int
    sha256: str
    owner: Owner
    created_at: datetime
    categories: list[ModelCategory]


class ModelPage(BaseModel):
    """Some models, newest first; `next` is the cursor of the next page, null on the last one."""

    model_config = example(models=[MODEL], next=None)

    models: list[ModelOut]
    next: str | None


class DriftDay(BaseModel):
    """A day on which documents were categorized."""

    day: date = Field(description="By UTC.")
    documents: int
    novel: int
    without_evidence: int
    share: float = Field(description="Of novel ones among those that have evidence.")
    level: float = Field(description="The share above which there is an alarm.")
    alarm: bool


DAY: dict[str, Any] = {
    "day": "2026-11-29",
    "documents": 412,
    "novel": 61,
    "without_evidence": 3,
    "share": 0.149,
    "level": 0.098,
    "alarm": True,
}


class DriftOut(BaseModel):
    """How many new documents were novel, by day."""

    model_config = example(model=MODEL_ID, expected=0.06, days=[DAY])

    model: str
    expected: float = Field(
        description="The share of novel ones among the job's own unlabeled documents. A day whose share is more than "
        "three standard deviations above it is an alarm."
    )
    days: list[DriftDay]
