"""What HTTP says of sources by category, with examples."""

from pydantic import BaseModel, Field

from app.schemas.common import example


class SourceCount(BaseModel):
    """Documents of one source: of the job, or of one of its categories."""

    source: str | None = Field(description="The value of the field as text. Null: documents without the field.")
    documents: int
    labeled: int
    answered: int = Field(description="Documents without a label.")
    share: float = Field(description="Of the documents of all sources, or of the category.")


class CategorySources(BaseModel):
    """How much of a category comes from each source."""

    category: int
    name: str
    known: bool
    documents: int
    labeled: int
    answered: int
    sources: list[SourceCount] = Field(description="Those that the category has, the largest first.")
    largest_share: float = Field(description="Of the source that most of its documents are from.")
    one_source: bool = Field(
        description="A new category of which nearly all is from one source that has a smaller part of all documents: "
        "it may be about that source, and not about what its documents say."
    )


class SourcesOut(BaseModel):
    """The sources by category."""

    model_config = example(
        field="source",
        used=False,
        documents=400,
        without_category=0,
        sources=[
            {"source": "mail", "documents": 220, "labeled": 80, "answered": 140, "share": 0.55},
            {"source": "forum", "documents": 180, "labeled": 70, "answered": 110, "share": 0.45},
        ],
        categories=[
            {
                "category": 6,
                "name": "new 1: posted, quote",
                "known": False,
                "documents": 60,
                "labeled": 0,
                "answered": 60,
                "sources": [
                    {"source": "forum", "documents": 57, "labeled": 0, "answered": 57, "share": 0.95},
                    {"source": "mail", "documents": 3, "labeled": 0, "answered": 3, "share": 0.05},
                ],
                "largest_share": 0.95,
                "one_source": True,
            }
        ],
    )

    field: str
    used: bool = Field(description="Whether the job took it into account, as its `source_field`.")
    documents: int
    without_category: int = Field(description="Of these, documents that have none, since no word was left.")
    sources: list[SourceCount] = Field(description="The largest first; documents without the field last.")
    categories: list[CategorySources] = Field(description="All that have a document, in index order.")
