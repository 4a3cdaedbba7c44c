"""What HTTP says of the topics that a job's categories are made of, with examples."""

from typing import Annotated

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from app.schemas.common import example


class TopicWeight(TypedDict):
    """How much of a category a topic is."""

    topic: int
    weight: Annotated[float, Field(description="Theta: the probability that a token of the category is of this topic.")]


class TopicWord(BaseModel):
    """A word and its probability in the topic."""

    word: str
    probability: float


class CategoryOfTopic(BaseModel):
    """A category that the topic is a part of."""

    category: int
    name: str
    weight: float = Field(description="Theta, as the category has it among its `topics`.")


class TopicOut(BaseModel):
    """A topic: a distribution over words, which categories share."""

    topic: int
    share: float = Field(description="Of all tokens of the corpus.")
    top_words: list[TopicWord] = Field(description="Up to ten, the most characteristic first.")
    categories: list[CategoryOfTopic] = Field(description="Those that have it among their `topics`, heaviest first.")


class TopicsOut(BaseModel):
    """The topics of a job, largest first; those with less than a thousandth of all tokens are left out."""

    model_config = example(
        topics=[
            {
                "topic": 0,
                "share": 0.061,
                "top_words": [{"word": "plasma", "probability": 0.043}, {"word": "tokamak", "probability": 0.018}],
                "categories": [{"category": 6, "name": "new 1: plasma, electron, laser", "weight": 0.38}],
            }
        ]
    )

    topics: list[TopicOut]
