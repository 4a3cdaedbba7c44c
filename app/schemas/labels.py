"""What HTTP says of how good labels are, and of suggestions that are applied, with examples."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, model_validator

from app.core.tables import MAX_KEY, MAX_NAME
from app.schemas.audit import SuggestionOut
from app.schemas.common import RequestBody, example, request_example, storable

MAX_APPLIED = 10_000  # documents a request

Key = Annotated[str, Field(min_length=1, max_length=MAX_KEY), AfterValidator(storable)]
LabelName = Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(storable)]


class LabelOut(BaseModel):
    """A labeled document, and how good its label is."""

    key: str
    label: str
    quality: float = Field(
        description="The probability of the label, from 0 to 1, by what the other labels teach; or, where copies of "
        "the document bear other labels, its share of them."
    )
    doubtful: bool = Field(description="Whether the audit lists it.")
    reason: Literal["words", "copies"] | None = Field(description="Of the doubt, as in the audit.")
    suggestion: SuggestionOut | None = Field(description="The likeliest other category, if the label is doubtful.")


class LabelPage(BaseModel):
    """Some labels, the worst first; `next` is the cursor of the next page, null on the last one."""

    model_config = example(
        labels=[
            {
                "key": "paper-17",
                "label": "optics",
                "quality": 0.08,
                "doubtful": True,
                "reason": "words",
                "suggestion": {"category": 0, "name": "astronomy", "probability": 0.89},
            },
            {
                "key": "paper-18",
                "label": "optics",
                "quality": 0.97,
                "doubtful": False,
                "reason": None,
                "suggestion": None,
            },
        ],
        next="WzAuOTcsMThd",
    )

    labels: list[LabelOut]
    next: str | None


class PairOut(BaseModel):
    """Doubtful labels with one suggestion."""

    label: str
    suggested: str
    known: bool = Field(description="Of the suggested category. A new one is no label, and cannot be applied.")
    documents: int
    mean_quality: float = Field(description="Of the labels.")
    mean_probability: float = Field(description="Of the suggestions.")


class PairsOut(BaseModel):
    """How many doubtful labels there are of each pair of label and suggestion, the most frequent first."""

    model_config = example(
        labeled=480,
        scored=479,
        doubtful=9,
        pairs=[
            {
                "label": "optics",
                "suggested": "astronomy",
                "known": True,
                "documents": 7,
                "mean_quality": 0.11,
                "mean_probability": 0.85,
            },
            {
                "label": "zoology",
                "suggested": "new 1: plasma, electron, laser",
                "known": False,
                "documents": 2,
                "mean_quality": 0.2,
                "mean_probability": 0.7,
            },
        ],
    )

    labeled: int = Field(description="Documents whose label the job knew.")
    scored: int = Field(
        description="Those with a quality. Documents without a word have none; in a job of `lbpl-ntm`, and in one from "
        "before it was stored, only doubtful labels have."
    )
    doubtful: int
    pairs: list[PairOut]


class PairIn(RequestBody):
    """Doubtful labels with one suggestion."""

    model_config = request_example(label="optics", suggested="astronomy")

    label: LabelName
    suggested: LabelName


class LabelsIn(RequestBody):
    """Which suggestions are to be applied: those for some documents, or those of some pairs."""

    model_config = request_example(pairs=[{"label": "optics", "suggested": "astronomy"}], min_probability=0.8)

    keys: list[Key] = Field(default=[], max_length=MAX_APPLIED, description="Keys of documents with a doubtful label.")
    pairs: list[PairIn] = Field(default=[], max_length=1_000, description="All doubtful labels of these pairs.")
    min_probability: float = Field(default=0.0, ge=0.0, le=1.0, description="Only suggestions that are as probable.")

    @model_validator(mode="after")
    def check_chosen(self) -> "LabelsIn":
        """It has to be one of the two."""
        if bool(self.keys) == bool(self.pairs):
            raise ValueError("name either keys of documents or pairs of label and suggestion")
        return self


class AppliedOut(BaseModel):
    """A label that was changed."""

    key: str
    label: str = Field(description="As it was.")
    suggested: str = Field(description="As it is now.")


class LeftOut(BaseModel):
    """A document that was left as it is."""

    key: str
    reason: Literal["changed", "deleted", "no-suggestion", "less-probable", "new-category"] = Field(
        description="`changed`: its label is no longer the one that the job knew. `deleted`: it is gone. "
        "`no-suggestion`: the job has none for this key. `less-probable`: than `min_probability`. `new-category`: a "
        "new category is no label."
    )
    label: str | None = Field(description="As it is now, if it has changed.")


class LabelsApplied(BaseModel):
    """What became of suggestions. To undo it, PATCH the documents of the corpus with the `label` that each had."""

    model_config = example(
        applied=[{"key": "paper-17", "label": "optics", "suggested": "astronomy"}],
        left=[{"key": "paper-40", "reason": "changed", "label": "astronomy"}],
        remaining=0,
        version=4,
    )

    applied: list[AppliedOut]
    left: list[LeftOut]
    remaining: int = Field(description="Suggestions of the pairs beyond the 10,000 of a request: send it again.")
    version: int = Field(description="Of the corpus now. Jobs keep the version that they were submitted over.")
