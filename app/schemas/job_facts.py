"""What a person says of a job: a name, tags and a note, by which it is found and remembered."""

from typing import Annotated

from pydantic import AfterValidator, Field, field_validator

from app.core.tables import MAX_TAG
from app.schemas.common import Name, RequestBody, request_example, storable
from sampler.text.normal_forms import caseless_form

MAX_TAGS = 50  # of a job
MAX_NOTE = 10_000  # characters

Tag = Annotated[str, Field(min_length=1, max_length=MAX_TAG), AfterValidator(storable)]
Note = Annotated[str, Field(max_length=MAX_NOTE), AfterValidator(storable)]


def folded(text: str) -> str:
    """The text without what makes no difference to a search: upper and lower case, width, composed letters."""
    return caseless_form(text)


class JobFacts(RequestBody):
    """What a person says of a job; it makes no difference to what the job does."""

    name: Name | None = Field(default=None, description="Jobs are found by a part of it.")
    tags: list[Tag] = Field(default=[], max_length=MAX_TAGS, description="Jobs are found by each of them.")
    note: Note | None = None

    @field_validator("tags")
    @classmethod
    def drop_repeated(cls, tags: list[str]) -> list[str]:
        """Keep the first of those that differ only in upper and lower case."""
        kept: dict[str, str] = {}
        for tag in tags:
            kept.setdefault(folded(tag), tag)
        return list(kept.values())


class JobChange(JobFacts):
    """Changes to a job's name, tags and note: what is not given stays; null takes a name or a note away."""

    model_config = request_example(name="Tickets of autumn", tags=["tickets"], note="With the labels of November.")
