"""What HTTP says of the descriptions of categories, with examples."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field

from app.core.descriptions import MAX_DESCRIPTIONS, MAX_TEXT
from app.core.tables import MAX_NAME
from app.core.vectors import LONGEST, SHORTEST
from app.schemas.common import RequestBody, example, request_example, storable

REFUNDS, DELIVERY = (
    {"name": "refunds", "text": "Customers who want their money back."},
    {"name": "delivery", "text": "Where is my parcel, and when does it come?"},
)


def stripped(name: str) -> str:
    """The name without blanks at its ends, as labels are. Raises ValueError if nothing is left."""
    if not name.strip():
        raise ValueError("the name is blank")
    return storable(name.strip())


class DescriptionIn(RequestBody):
    """What a category is about."""

    model_config = request_example(**REFUNDS)

    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(stripped)] = Field(
        description="Of the category. A new category that fits is called so; if documents bear it as their label, the "
        "category is known, and its description helps to judge the others."
    )
    text: Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(storable)] = Field(
        default="", description="A sentence or a few words, in the language of the documents. The name counts as well."
    )
    vector: list[Annotated[float, Field(allow_inf_nan=False)]] | None = Field(
        default=None,
        min_length=SHORTEST,
        max_length=LONGEST,
        description="Made by the same model as those that the documents of the corpus bring, and as long.",
    )


class DescriptionsIn(RequestBody):
    """The descriptions of a corpus, all of them."""

    model_config = request_example(descriptions=[REFUNDS, DELIVERY])

    descriptions: list[DescriptionIn] = Field(max_length=MAX_DESCRIPTIONS)


class DescriptionsStored(BaseModel):
    """What became of the descriptions."""

    model_config = example(added=2, changed=0, removed=1, unchanged=3, version=5)

    added: int
    changed: int = Field(description="Names whose text or vector was another one.")
    removed: int = Field(description="Names that were there before, and were not among those sent.")
    unchanged: int
    version: int = Field(description="Of the corpus now. Jobs keep the version that they were submitted over.")


DESCRIPTION: dict[str, Any] = {**REFUNDS, "has_vector": False, "version": 4}


class DescriptionOut(BaseModel):
    """A description of a category."""

    model_config = example(**DESCRIPTION)

    name: str
    text: str
    has_vector: bool
    version: int = Field(description="Of the corpus, since which the description is as it is.")


class DescriptionsOut(BaseModel):
    """The descriptions of a corpus, in the order of their names."""

    model_config = example(descriptions=[DESCRIPTION], version=4)

    descriptions: list[DescriptionOut]
    version: int = Field(description="Of the corpus now.")
