"""What HTTP says of the documents of a corpus, and of their corrections."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field, model_validator

from app.core.tables import MAX_KEY, MAX_NAME
from app.schemas.common import RequestBody, example, request_example, storable

MAX_CHANGES = 1_000  # documents a request; more come as an upload with on_conflict=replace

Key = Annotated[str, Field(min_length=1, max_length=MAX_KEY), AfterValidator(storable)]

DOCUMENT: dict[str, Any] = {
    "key": "paper-1",
    "text": "Galaxies at high redshift",
    "label": "astronomy",
    "fields": {"year": 2024},
    "is_counts": False,
    "erased": False,
    "has_vector": False,
    "version": 3,
}


class CorpusDocument(BaseModel):
    """A document of a corpus."""

    model_config = example(**DOCUMENT)

    key: str
    text: str
    label: str | None
    fields: dict[str, Any] = Field(description="All other columns that it came with.")
    is_counts: bool = Field(description="The text is JSON: words, and how often each occurs.")
    erased: bool = Field(description="Its text and fields were erased.")
    has_vector: bool = Field(description="It has brought one.")
    version: int = Field(description="Of the corpus, since which the document is as it is.")


class CorpusDocumentPage(BaseModel):
    """Some documents of a corpus; a page of long texts is shorter than `limit`."""

    model_config = example(documents=[DOCUMENT], next="WzQyXQ")

    documents: list[CorpusDocument]
    next: str | None


class DocumentChange(RequestBody):
    """What is to be another in a document; what is not named stays."""

    model_config = request_example(label="cosmology")

    text: Annotated[str, AfterValidator(storable)] = ""
    label: Annotated[str, Field(max_length=MAX_NAME), AfterValidator(storable)] | None = Field(
        default=None, description="Null takes the label away."
    )
    fields: dict[str, Any] | None = Field(default=None, description="All fields: those that are not named go.")
    vector: list[Annotated[float, Field(allow_inf_nan=False)]] | None = Field(
        default=None,
        description="As long as those of the corpus; null takes it away. A document whose text changes loses its "
        "vector, unless another one is given.",
    )

    @model_validator(mode="after")
    def check_given(self) -> "DocumentChange":
        """Something has to change, and a text cannot be null."""
        if not self.model_fields_set & {"text", "label", "fields", "vector"}:
            raise ValueError("name what is to change: text, label, fields or vector")
        return self


class NamedChange(DocumentChange):
    """What is to be another in the document with a key."""

    model_config = request_example(key="paper-1", label="cosmology")

    key: Key


class DocumentChanges(RequestBody):
    """Changes of many documents: all of them are made, or none."""

    model_config = request_example(
        changes=[{"key": "paper-1", "label": "cosmology"}, {"key": "paper-2", "label": None}]
    )

    changes: list[NamedChange] = Field(min_length=1, max_length=MAX_CHANGES)


class ChangesOut(BaseModel):
    """What became of changes."""

    model_config = example(changed=2, unchanged=0, version=4)

    changed: int
    unchanged: int = Field(description="Documents that were so before.")
    version: int = Field(description="Of the corpus now. Jobs keep the version that they were submitted over.")


class DeletionOut(BaseModel):
    """What became of a deletion."""

    model_config = example(deleted=2, erased=True, version=5)

    deleted: int
    erased: bool = Field(description="The texts are gone from all versions and from encoded corpora, too.")
    version: int = Field(description="Of the corpus now. Jobs keep the version that they were submitted over.")
