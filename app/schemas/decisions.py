"""What HTTP says of decisions about the answer of a job, with examples."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, model_validator

from app.core.tables import MAX_KEY
from app.schemas.common import Name, RequestBody, example, request_example, storable
from app.schemas.job_facts import Note

MAX_AT_ONCE = 100  # decisions of a request
MAX_KEYS = 1_000  # documents that a decision names
MAX_PARTS = 50

Key = Annotated[str, Field(min_length=1, max_length=MAX_KEY), AfterValidator(storable)]
Keys = Annotated[list[Key], Field(min_length=1, max_length=MAX_KEYS, description="Keys of documents.")]
Reference = Annotated[
    str,
    Field(min_length=1, max_length=200, description="A category, by its id or its name."),
    AfterValidator(storable),
]


class DecisionBody(RequestBody):
    """What all decisions have."""

    note: Note | None = Field(default=None, description="Why.")


class NameIn(DecisionBody):
    """A category has another name."""

    kind: Literal["name"]
    category: Reference
    name: Name


class MergeIn(DecisionBody):
    """Several categories are one."""

    kind: Literal["merge"]
    categories: Annotated[list[Reference], Field(min_length=2, max_length=MAX_PARTS)]
    into: Reference | None = Field(
        default=None, description="The one that stays. By default a known one, or else the first."
    )
    name: Name | None = None


class SplitIn(DecisionBody):
    """A category is several: either some documents are a category of their own, or the draws say which parts it has."""

    kind: Literal["split"]
    category: Reference
    documents: Keys | None = None
    into: Annotated[int, Field(ge=2, le=MAX_PARTS)] | None = Field(
        default=None, description="Of a new category: into so many parts, by the tree over the new categories."
    )
    name: Name | None = Field(default=None, description="Of the category that the documents are.")

    @model_validator(mode="after")
    def check(self) -> "SplitIn":
        """Raise ValueError unless it says how."""
        if (self.documents is None) == (self.into is None):
            raise ValueError("give either `documents` or `into`")
        if self.into is not None and self.name is not None:
            raise ValueError("`name` goes with `documents`; name the parts afterwards")
        return self


class PromoteIn(DecisionBody):
    """A new category is a known one from now on; a job that continues this one learns from some of its documents."""

    kind: Literal["promote"]
    category: Reference
    name: Name | None = None


class DissolveIn(DecisionBody):
    """There is no such category: its documents are of their next likely one."""

    kind: Literal["dissolve"]
    category: Reference


class PinIn(DecisionBody):
    """Documents are of a category, or of one that nobody has found."""

    kind: Literal["pin"]
    documents: Keys
    category: Reference | None = None
    new_category: Name | None = Field(default=None, description="The name of a category that the answer has not.")

    @model_validator(mode="after")
    def check(self) -> "PinIn":
        """Raise ValueError unless it says of what."""
        if (self.category is None) == (self.new_category is None):
            raise ValueError("give either `category` or `new_category`")
        return self


class NoneIn(DecisionBody):
    """Documents are of no category: they are set aside, and teach a job that continues this one nothing."""

    kind: Literal["none"]
    documents: Keys


class AcceptIn(DecisionBody):
    """Labeled documents are of the category that the audit suggests."""

    kind: Literal["accept"]
    documents: Keys


class UndoIn(DecisionBody):
    """Another decision does not count any more."""

    kind: Literal["undo"]
    decision: int = Field(ge=1, le=2**31 - 1, description="Its number.")


DecisionIn = Annotated[
    NameIn | MergeIn | SplitIn | PromoteIn | DissolveIn | PinIn | NoneIn | AcceptIn | UndoIn,
    Field(discriminator="kind"),
]


class DecisionsIn(RequestBody):
    """Decisions that are made together: all of them, or none."""

    model_config = request_example(
        decisions=[
            {"kind": "name", "category": "c-7q3kx9", "name": "plasma physics"},
            {"kind": "pin", "documents": ["paper-813"], "category": "optics"},
        ],
        author="Ada",
    ) | {"extra": "forbid", "strict": True}

    decisions: list[DecisionIn] = Field(min_length=1, max_length=MAX_AT_ONCE)
    author: Name | None = Field(default=None, description="Who decided.")


DECISION: dict[str, Any] = {
    "number": 2,
    "kind": "pin",
    "category": "c-4rv0dt",
    "categories": None,
    "name": None,
    "into": None,
    "new": [],
    "decision": None,
    "documents": ["paper-813"],
    "n_documents": 1,
    "author": "Ada",
    "note": None,
    "made_at": "2026-11-29T10:31:02.250000Z",
    "in_force": True,
    "applies": True,
    "reason": None,
}


class DecisionOut(BaseModel):
    """A decision as it was made, and whether it counts."""

    model_config = example(**DECISION)

    number: int = Field(description="From 1, in the order in which they were made.")
    kind: Literal["name", "merge", "split", "promote", "dissolve", "pin", "none", "accept", "undo"]
    category: str | None = Field(description="Id of the category that it is about.")
    categories: list[str] | None = Field(description="Of `merge`: ids of the categories that are one.")
    name: str | None
    into: str | int | None = Field(description="Of `merge`, the id of the one that stays; of `split`, into how many.")
    new: list[str] = Field(description="Ids of the categories that it made.")
    decision: int | None = Field(description="Of `undo`: the number of the decision that it took back.")
    documents: list[str] = Field(description="Keys of the documents that it is about, up to 100 of them.")
    n_documents: int
    author: str | None
    note: str | None
    made_at: datetime
    in_force: bool = Field(description="No later decision has undone it.")
    applies: bool | None = Field(
        description="It changes the present answer. Null while there is no answer yet, and of `undo`."
    )
    reason: str | None = Field(description="Why it does not apply, though it is in force.")


class DecisionsMade(BaseModel):
    """The decisions that a request made."""

    model_config = example(decisions=[DECISION], last=2)

    decisions: list[DecisionOut]
    last: int = Field(description="Number of the last decision about the job.")


class DecisionPage(BaseModel):
    """Some decisions, the first one first; `next` is the cursor of the next page, null on the last one."""

    model_config = example(decisions=[DECISION], next="Mg")

    decisions: list[DecisionOut]
    next: str | None
