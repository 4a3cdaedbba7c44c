"""What HTTP says of a single category, with its documents, and of the tree over the new ones."""

from typing import Any

from pydantic import BaseModel, Field

from app.schemas.common import example
from app.schemas.results import NEW_CATEGORY, CategoryOut, RunnerUp, TopWord


class PortraitDocument(BaseModel):
    """A document that stands for a category, or at its edge."""

    key: str
    text: str = Field(description="Its first 500 characters. Empty if it has been erased.")
    shortened: bool = Field(description="The text is longer.")
    label: str | None
    probability: float | None = Field(description="Of being of this category; null if it bears a label.")
    runner_up: RunnerUp | None
    erased: bool = Field(description="The text of the document has been erased since.")


DOCUMENT: dict[str, Any] = {
    "key": "paper-812",
    "text": "Tokamak plasmas near the density limit",
    "shortened": False,
    "label": None,
    "probability": 0.93,
    "runner_up": {"category": 0, "name": "astronomy", "probability": 0.05},
    "erased": False,
}


class SimilarWord(BaseModel):
    """A word, and its share of a similarity or of a difference."""

    word: str
    share: float


class SimilarityOut(BaseModel):
    """What CLUTO reports of a category; similarities are cosines of tf-idf rows, averaged over pairs of documents."""

    internal: float = Field(description="Of two documents of the category.")
    internal_deviation: float = Field(description="Over its documents.")
    external: float | None = Field(description="Of one of its documents and one of the others; null if it has all.")
    external_deviation: float | None
    descriptive: list[SimilarWord] = Field(description="The words with the largest shares of the internal similarity.")
    discriminating: list[SimilarWord] = Field(description="Those with the largest shares of what sets it apart.")


class CategoryDetail(CategoryOut):
    """A category with documents that show what it is; null for jobs from before they were chosen."""

    model_config = example(**NEW_CATEGORY, representative=[DOCUMENT], edge=[], similarity=None)

    representative: list[PortraitDocument] | None = Field(
        description="Up to five whose words are best predicted by the category's other documents, neither short nor "
        "very long, the most typical first; no two are nearly the same."
    )
    edge: list[PortraitDocument] | None = Field(
        description="Up to five unlabeled ones whose runner-up is nearly as probable, the closest call first."
    )
    similarity: SimilarityOut | None = Field(description="For cluto only.")


class PortraitsOut(BaseModel):
    """Categories with documents that show what they are, in the order in which they were named."""

    model_config = example(categories=[{**NEW_CATEGORY, "representative": [DOCUMENT], "edge": [], "similarity": None}])

    categories: list[CategoryDetail]


class TreeNodeOut(BaseModel):
    """A node of the tree: a leaf, or what two others make together."""

    node: int
    parent: int | None = Field(description="Null for the root, the last one.")
    category: int | None = Field(
        description="The new category that the node is, or is part of; null if it joins several."
    )
    documents: int
    together: float | None = Field(
        description="Of two documents, one of each of its two parts, the share of draws that join them, on average; of "
        "a leaf, of any two of its documents, null if it has only one."
    )
    top_words: list[TopWord]


class TreeOut(BaseModel):
    """The tree over the new categories: leaves first, then the others in the order in which they are joined.

    With L leaves, the cut into n categories has joined all nodes below 2 L - n. Empty if there is no new category, and
    for jobs from before there was a tree.
    """

    model_config = example(
        leaves=2,
        categories=1,
        nodes=[
            {
                "node": node,
                "parent": None if node == 2 else 2,
                "category": 6,
                "documents": (120, 83, 203)[node],
                "together": (0.97, 0.9, 0.81)[node],
                "top_words": [{"word": "plasma", "documents": (110, 67, 177)[node]}],
            }
            for node in range(3)
        ],
    )

    leaves: int
    categories: int = Field(description="New categories of the answer.")
    nodes: list[TreeNodeOut]
