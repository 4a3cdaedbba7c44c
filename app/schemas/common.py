"""What HTTP says: the bodies of requests and responses, with examples."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from app.core.tables import MAX_NAME

CORPUS_ID = "5f0c2c1e-6d0f-4c53-9f43-0d8c1c6ad3a7"
JOB_ID = "b9a1d7c2-1f6e-4a38-8f0b-6f2f4f1f7e15"
MODEL_ID = "0c5a4d6e-93a7-5f0e-8a55-6d0c2d1b7f21"
COMPARISON_ID = "7d1e0f6a-52c3-4b8e-9a64-1f3b5d7c9e02"

MAX_INTEGER = 2**31 - 1  # of an INTEGER column

Status = Literal["queued", "running", "paused", "succeeded", "failed", "cancelled"]
UnitStatus = Literal["waiting", "ready", "running", "done"]


def storable(text: str) -> str:
    """The text, if a database can hold it: PostgreSQL knows no NUL. Raises ValueError."""
    if "\0" in text:
        raise ValueError("the text contains a NUL character")
    return text


Storable = Annotated[str, AfterValidator(storable)]
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(storable)]


def example(**fields: Any) -> ConfigDict:
    """The configuration of a response body with an example."""
    return ConfigDict(from_attributes=True, json_schema_extra={"examples": [fields]})


def request_example(**fields: Any) -> ConfigDict:
    """The configuration of a request body with an example."""
    return ConfigDict(json_schema_extra={"examples": [fields]})


class RequestBody(BaseModel):
    """A body of a request, or an object in one: what it does not name is refused, and so is any other type.

    187.0 is an integer all the same, as JSON Schema has it. Beyond 2^53 a float may not be the number that was sent.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def read_integers(cls, data: Any) -> Any:
        """Take floats without a fraction as integers; fields that are floats take integers, too."""
        return {name: integer(value) for name, value in data.items()} if isinstance(data, dict) else data


def integer(value: Any) -> Any:
    """A float that stands for an integer as that integer, anything else as it is."""
    is_integer = isinstance(value, float) and value.is_integer() and abs(value) <= 2**53
    return int(value) if is_integer else value


class Problem(BaseModel):
    """Why a request was refused (RFC 9457)."""

    class Fault(BaseModel):
        """A part of the request that is at fault."""

        where: str
        reason: str

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str | None = Field(default=None, description="The `X-Request-ID` of the answer.")
    errors: list[Fault] = []
    accepted: int | None = Field(default=None, description="Of an upload that broke off: documents that are stored.")
    rejected: int | None = Field(default=None, description="Of an upload that broke off: lines that were rejected.")
    columns: list[str] | None = Field(
        default=None, description="Of a file whose columns are unclear: their names, at most 1,000."
    )
    sheets: list[str] | None = Field(default=None, description="Of a workbook that has no sheet of that name.")
    would_use: int | None = Field(default=None, description="Of a quota: how much the owner would use.")
    allowed: int | None = Field(default=None, description="Of a quota: how much that may be.")
    suggested: dict[str, Any] | None = Field(
        default=None, description="What was probably meant: parameters of the upload, such as `label` or `charset`."
    )


class CorpusIn(RequestBody):
    """A corpus to be created, or its new name."""

    model_config = request_example(name="arXiv abstracts")

    name: Name


CORPUS: dict[str, Any] = {
    "id": CORPUS_ID,
    "name": "arXiv abstracts",
    "version": 3,
    "owner": "local",
    "created_at": "2026-11-27T23:30:45.120000Z",
}


Owner = Annotated[str, Field(description="To whom it belongs; `local` where no API keys are asked for.")]


class CorpusOut(BaseModel):
    """A corpus; its version grows with each batch of documents."""

    model_config = example(**CORPUS)

    id: str
    name: str
    version: int
    owner: Owner
    created_at: datetime


KNOWN_CATEGORIES = ("astronomy", "geometry", "optics", "robotics", "topology", "zoology")
COUNTS: dict[str, Any] = {
    "documents": 2000,
    "labeled": 480,
    "unlabeled": 1520,
    "empty": 1,
    "copies": 37,
    "distinct_texts": 1962,
    "vectors": {"documents": 2000, "length": 384},
}


class VectorCount(BaseModel):
    """The vectors that the documents of a corpus have brought."""

    documents: int = Field(description="That have one.")
    length: int | None = Field(description="Numbers of each; null until there is one.")


class CorpusCounts(CorpusOut):
    """A corpus with its counts as they are now."""

    model_config = example(**CORPUS, **COUNTS)

    documents: int
    labeled: int
    unlabeled: int
    empty: int = Field(description="Documents without text, labeled or not.")
    copies: int = Field(description="Documents whose text an earlier document has, but for white space.")
    distinct_texts: int
    vectors: VectorCount


# When the last corpus was created, and its id.
CORPORA_CURSOR = "WzE3OTU4MjIyNDUuMTIsIjVmMGMyYzFlLTZkMGYtNGM1My05ZjQzLTBkOGMxYzZhZDNhNyJd"


class CorpusPage(BaseModel):
    """Some corpora, newest first; `next` is the cursor of the next page, null on the last one."""

    model_config = example(corpora=[{**CORPUS, **COUNTS}], next=CORPORA_CURSOR)

    corpora: list[CorpusCounts]
    next: str | None


class LabelCount(BaseModel):
    """A known category of a corpus, and how many documents bear it as their label."""

    name: str
    documents: int


class CorpusDetail(CorpusCounts):
    """A corpus with its counts and known categories as they are now."""

    model_config = example(
        **CORPUS,
        **COUNTS,
        categories=[{"name": name, "documents": 80} for name in KNOWN_CATEGORIES],
        warnings=[],
    )

    categories: list[LabelCount]
    warnings: list[str] = Field(description="What is probably wrong with the labels, and what to do.")


class HealthOut(BaseModel):
    """The health of the service."""

    model_config = example(status="ok", version="0.1.0", schema="0019", workers=2, embedding_model=None, faults={})

    status: Literal["ok", "degraded"]
    version: str
    schema_: str = Field(serialization_alias="schema", description="Revision of the database schema.")
    workers: int = Field(description="Workers seen recently.")
    embedding_model: str | None = Field(
        description="Digest of the embedding model that makes vectors for jobs; null if the operator has named none."
    )
    faults: dict[str, str] = Field(
        description="What is wrong, by `schema`, `broker`, `workers`, `disk` and `embedding_model`."
    )
