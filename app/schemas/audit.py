"""What HTTP says of doubtful labels, with examples."""

from pydantic import BaseModel, Field

from app.schemas.common import example


class SuggestionOut(BaseModel):
    """The category that a labeled document more likely belongs to."""

    category: int
    name: str
    probability: float


class AuditedOut(BaseModel):
    """A labeled document whose label is doubtful, given what the other labels teach."""

    key: str
    label: str
    probability: float = Field(description="Of the label; below 0.5.")
    suggestion: SuggestionOut | None


class AuditPage(BaseModel):
    """Some doubtful labels, the most doubtful first; `next` is the cursor of the next page, null on the last one."""

    model_config = example(
        documents=[
            {
                "key": "paper-17",
                "label": "optics",
                "probability": 0.08,
                "suggestion": {"category": 0, "name": "astronomy", "probability": 0.89},
            }
        ],
        next="WzAuMDgsMTdd",
    )

    documents: list[AuditedOut]
    next: str | None
