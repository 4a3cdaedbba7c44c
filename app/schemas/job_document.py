"""What HTTP says of a single document of a job, word by word."""

from pydantic import BaseModel, Field

from app.schemas.common import example
from app.schemas.results import DOCUMENT, DocumentOut


class SpokenWordOut(BaseModel):
    """A word of a document that the job's model knows."""

    word: str = Field(description="As the model calls it: in its most frequent form.")
    category: int = Field(description="The one of `likely` that it speaks for most.")
    weight: float = Field(description="By how much more it speaks for it than for any other of `likely`, in nats.")


class JobDocumentOut(DocumentOut):
    """A document of a job, labeled or not, with what its words say."""

    model_config = example(
        **DOCUMENT,
        label=None,
        words=[{"word": "plasmas", "category": 6, "weight": 2.2}, {"word": "density", "category": 2, "weight": 0.1}],
        spans=[(8, 15, 0), (25, 32, 1)],
    )

    label: str | None = Field(description="That the job saw; null for a document that it answered.")
    words: list[SpokenWordOut] | None = Field(
        description="Up to 300, the strongest first. The categories compared are those of `likely`; of a document that "
        "somebody decided about, those that the job found likely; of a labeled one, that of its label. A single one is "
        "compared with the mean of all. Empty without a category, without a text, and for a ready bag of words; null "
        "if the job has no model."
    )
    spans: list[tuple[int, int, int]] | None = Field(
        description="Where they stand in `text`, up to 2,000: the first character, the one after the last, and the "
        "place in `words`. In ascending order; pieces of a script without spaces overlap. Null where `words` is."
    )
