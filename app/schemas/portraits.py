"""What HTTP says of a category beside its size: words, its nearest neighbor, and what a cut of the tree loses."""

from typing import Annotated

from pydantic import BaseModel, Field
from typing_extensions import TypedDict


class RankedWord(TypedDict):
    """A word of a category."""

    word: str
    share: Annotated[float, Field(description="Of the category's tokens.")]
    lift: Annotated[float, Field(description="That share, divided by the word's share of all tokens.")]


class CategoryWords(TypedDict):
    """The words of a category, up to ten each."""

    by_probability: Annotated[list[RankedWord], Field(description="The most frequent ones in it, first.")]
    by_lift: Annotated[
        list[RankedWord],
        Field(
            description="Those that are most more frequent in it than in the corpus, first; only words that 5 % of its "
            "documents contain, and at least two."
        ),
    ]


class TellingWord(TypedDict):
    """A word that speaks for one of two categories."""

    word: str
    share: Annotated[float, Field(description="Of the tokens of the category that it speaks for.")]
    other_share: Annotated[float, Field(description="Of the tokens of the other one.")]


class Nearest(TypedDict):
    """The category whose words are most like those of this one."""

    category: int
    name: str
    distance: Annotated[
        float,
        Field(
            description="Hellinger distance of their distributions of words, a tenth of either the corpus': from 0, "
            "the same words as often, to nearly 1, no word in common."
        ),
    ]
    words: Annotated[
        list[TellingWord], Field(description="Up to five that speak for this category and against the nearest.")
    ]
    its_words: Annotated[
        list[TellingWord], Field(description="Up to five that speak for the nearest and against this category.")
    ]


class MapPlace(TypedDict):
    """Where a category stands on the map of categories."""

    x: float
    y: float


class Loss(BaseModel):
    """How far a division of the new categories' documents contradicts the draws, over pairs of documents."""

    categories: int = Field(description="New categories of the division.")
    joined_pairs: int = Field(description="Pairs of documents that it puts into one category.")
    joined_apart: float | None = Field(
        description="Share of these that draws keep apart, on average; null if there are none."
    )
    parted_pairs: int = Field(description="Pairs of documents that it puts into two categories.")
    parted_together: float | None = Field(
        description="Share of these that draws join, on average; null if there are none."
    )


class Cut(BaseModel):
    """Another number of new categories than the answer has, from the tree over them."""

    loss: Loss = Field(description="What the draws say of this cut.")
    answer: Loss = Field(description="The same of the answer itself, which is a cut of the tree, too.")
    least: int = Field(description="The smallest number of new categories of a cut.")
    most: int = Field(description="The largest one: the leaves of the tree.")


LOSS = {"joined_pairs": 81_000, "joined_apart": 0.11, "parted_pairs": 244_000, "parted_together": 0.013}
CUT = {
    "loss": {"categories": 3, **LOSS},
    "answer": {"categories": 4, **LOSS, "joined_apart": 0.08, "parted_together": 0.016},
    "least": 1,
    "most": 22,
}
WORDS = {
    "by_probability": [{"word": "plasma", "share": 0.021, "lift": 9.1}],
    "by_lift": [{"word": "tokamak", "share": 0.004, "lift": 10.2}],
}
NEAREST = {
    "category": 0,
    "name": "astronomy",
    "distance": 0.41,
    "words": [{"word": "plasma", "share": 0.021, "other_share": 0.001}],
    "its_words": [{"word": "solar", "share": 0.012, "other_share": 0.0004}],
}
