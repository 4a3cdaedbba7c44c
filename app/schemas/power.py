"""What HTTP says of a job's power test, with examples."""

from pydantic import BaseModel, Field

from app.schemas.common import example

NOTICED = 0.5  # Jaccard index from which on a hidden category counts as found


class HiddenOut(BaseModel):
    """How a known category was found again when its labels were hidden."""

    category: int
    name: str
    found: float = Field(
        description="Jaccard index, among labeled documents, between the category and the new one most like it: "
        "1 if it was found exactly."
    )
    noticed: bool = Field(description=f"Whether `found` is at least {NOTICED}.")
    recall: float = Field(description="Share of its labeled documents in that new category.")
    probability: float = Field(description="Share of the draws in which a new category had at least half of them.")
    taken_for: str | None = Field(description="The known category that took most of them; null if none took any.")
    taken: float = Field(description="The share of them that it took.")


class PowerTestOut(BaseModel):
    """The power test of a job, by known category; while it runs, of those that it has reached."""

    model_config = example(
        categories=[
            {
                "category": 0,
                "name": "astronomy",
                "found": 0.91,
                "noticed": True,
                "recall": 0.925,
                "probability": 1.0,
                "taken_for": "optics",
                "taken": 0.05,
            }
        ]
    )

    categories: list[HiddenOut]
