"""What HTTP says of categories by group and over time, with examples."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from app.schemas.common import example

Period = Literal["none", "day", "week", "month", "year"]


class GroupCategory(TypedDict):
    """How much of a group a category has."""

    category: int
    name: str
    known: bool
    documents: int
    share: Annotated[float, Field(description="Of the documents of the group that have a category.")]


class GroupOut(BaseModel):
    """The documents with one value of the field, or of one period."""

    kind: Literal["value", "other", "missing", "unreadable"] = Field(
        description="`other`: all values but the 100 most frequent ones. `missing`: documents without the field. "
        "`unreadable`: documents whose value is not a date."
    )
    value: str | None = Field(
        description="The value as text, its first 200 characters; or the period, as 2024-03-01, 2024-W09, 2024-03 or "
        "2024. Null for groups of another kind."
    )
    documents: int
    known: int = Field(description="Of these, documents of known categories.")
    new: int = Field(description="Of these, documents of new categories.")
    without_category: int = Field(description="Of these, documents that have none, since no word was left.")
    categories: list[GroupCategory] = Field(description="Those that the group has, in index order.")


class GroupsOut(BaseModel):
    """The categories by group: the largest group first, or periods in their order; groups that are no value last."""

    model_config = example(
        by="received",
        period="month",
        documents=203,
        groups=[
            {
                "kind": "value",
                "value": "2024-03",
                "documents": 200,
                "known": 150,
                "new": 50,
                "without_category": 0,
                "categories": [
                    {"category": 0, "name": "astronomy", "known": True, "documents": 150, "share": 0.75},
                    {
                        "category": 6,
                        "name": "new 1: plasma, electron",
                        "known": False,
                        "documents": 50,
                        "share": 0.25,
                    },
                ],
            },
            {
                "kind": "missing",
                "value": None,
                "documents": 3,
                "known": 2,
                "new": 0,
                "without_category": 1,
                "categories": [{"category": 0, "name": "astronomy", "known": True, "documents": 2, "share": 1.0}],
            },
        ],
    )

    by: str
    period: Period
    documents: int = Field(description="Of all groups.")
    groups: list[GroupOut]
