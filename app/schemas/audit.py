"""What HTTP says of doubtful labels, with examples."""

from typing import Literal

from pydantic import BaseModel, Field

from app.schemas.common import example


class SuggestionOut(BaseModel):
    """The category that a labeled document more likely belongs to."""

    category: int
    name: str
    probability: float


class AuditedOut(BaseModel):
    """A labeled document whose label is doubtful."""

    key: str
    label: str
    reason: Literal["words", "copies"] = Field(
        description="`words`: by what the other labels teach, it is unlikely. `copies`: documents with the same text, "
        "or nearly the same, bear another label."
    )
    probability: float = Field(
        description="Of the label: by what the other labels teach, below 0.5; or its share of the copies' labels."
    )
    suggestion: SuggestionOut | None


class AuditPage(BaseModel):
    """Some doubtful labels, the most doubtful first; `next` is the cursor of the next page, null on the last one."""

    model_config = example(
        documents=[
            {
                "key": "paper-17",
                "label": "optics",
                "reason": "words",
                "probability": 0.08,
                "suggestion": {"category": 0, "name": "astronomy", "probability": 0.89},
            }
        ],
        next="WzAuMDgsMTdd",
    )

    documents: list[AuditedOut]
    next: str | None
