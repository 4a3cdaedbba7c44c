"""What a client says of a file of vectors, and what became of it."""

from typing import Literal

from pydantic import BaseModel, Field

from app.schemas.common import example
from app.schemas.uploads import FileChoices, Format, LineError


class VectorChoices(FileChoices):
    """How a file of keys and vectors is to be read and stored."""

    on_error: Literal["skip", "abort"] = Field(
        default="skip", description="Whether a row that cannot be used is left out, or nothing is stored at all."
    )


class VectorsOut(BaseModel):
    """What became of the rows of a file of vectors."""

    model_config = example(
        changed=1998,
        removed=0,
        unchanged=1,
        rejected=1,
        errors=[{"line": 17, "reason": "no document of the corpus has the key 'paper-16'"}],
        length=384,
        format="npz",
        version=4,
    )

    changed: int = Field(description="Documents that have another vector now, or one for the first time.")
    removed: int = Field(description="Documents that have none any more: null takes it away.")
    unchanged: int = Field(description="Rows that say what was so before.")
    rejected: int
    errors: list[LineError] = Field(description="The first 1,000, by line.")
    length: int | None = Field(description="Of each vector of the corpus; null while there is none.")
    format: Format | Literal["npz"] | None = Field(description="Of the file; null if there was none.")
    version: int = Field(description="Of the corpus now. Jobs keep the version that they were submitted over.")
