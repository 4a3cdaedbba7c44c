"""What HTTP says of the documents that a person should be asked about, with an example."""

from typing import Literal

from pydantic import BaseModel, Field

from app.schemas.common import example
from app.schemas.results import RunnerUp


class TriageItem(BaseModel):
    """A document that a person should be asked about, and what the decision would settle."""

    key: str
    text: str = Field(description="The first 500 characters.")
    shortened: bool = Field(description="Whether the text has more.")
    label: str | None = Field(description="Null unless the question is about the label.")
    category: int = Field(description="The one that is answered, or that the label names.")
    name: str
    known: bool
    probability: float | None = Field(description="Of that category; null if the job's method has no probabilities.")
    runner_up: RunnerUp | None = Field(description="The second choice, or the category that the audit suggests.")
    why: Literal["unsure", "edge", "label", "representative"] = Field(
        description="`representative`: it stands for a new category. `edge`: it is at the edge of its category. "
        "`unsure`: it is among the least probable documents of its category. `label`: its label is doubtful."
    )
    settles: str = Field(description="What a decision would settle.")
    documents: int = Field(
        description="For how many documents the decision speaks: those of the new category; the unsure ones between "
        "the same two categories; the doubtful labels with the same suggestion."
    )


class TriageCounts(BaseModel):
    """How many documents of each kind the whole answer has, decided or not."""

    unsure: int = Field(description="Those with a probability below one half.")
    edge: int
    label: int
    representative: int


class TriageOut(BaseModel):
    """The documents that a person should be asked about, the most useful first."""

    model_config = example(
        documents=[
            {
                "key": "paper-812",
                "text": "Tokamak plasmas ...",
                "shortened": True,
                "label": None,
                "category": 6,
                "name": "new 1: plasma, electron, laser",
                "known": False,
                "probability": 0.93,
                "runner_up": {"category": 2, "name": "optics", "probability": 0.04},
                "why": "representative",
                "settles": 'whether "new 1: plasma, electron, laser" is a category of its own: it stands for 203 '
                "documents",
                "documents": 203,
            },
            {
                "key": "paper-17",
                "text": "We image a close binary ...",
                "shortened": True,
                "label": "optics",
                "category": 2,
                "name": "optics",
                "known": True,
                "probability": 0.08,
                "runner_up": {"category": 0, "name": "astronomy", "probability": 0.89},
                "why": "label",
                "settles": "the label optics, which looks like astronomy: 12 labels look the same way",
                "documents": 12,
            },
        ],
        found={"unsure": 141, "edge": 50, "label": 23, "representative": 20},
    )

    documents: list[TriageItem]
    found: TriageCounts
