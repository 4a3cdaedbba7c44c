"""What HTTP says of a preview: how texts become words."""

from typing import Any

from pydantic import BaseModel, Field

from app.schemas.common import RequestBody, example, request_example
from app.schemas.text import TextIn

SHOWN_CHARACTERS, MAX_SHOWN = 200, 100


class PreviewIn(RequestBody):
    """Text options to be tried."""

    model_config = request_example(text={"stop_words": "auto", "markup": ["html"], "urls": "drop"}, documents=20)

    text: TextIn = TextIn()
    documents: int = Field(default=20, ge=1, le=MAX_SHOWN, description="Documents that are shown.")


class PreviewDocument(BaseModel):
    """A document of the sample, and the words that are kept of it."""

    key: str
    label: str | None
    text: str = Field(description=f"The first {SHOWN_CHARACTERS} characters, as uploaded.")
    n_tokens: int = Field(description="Words that are kept, of the first 16,384 characters.")
    tokens: list[str] = Field(description="The first 200 of them, in order.")


class PreviewWord(BaseModel):
    """A word, and how often it occurs in the sample."""

    word: str
    count: int


class PreviewDroppedWord(PreviewWord):
    """A word that is not kept."""

    reason: str = Field(description="stop word, too short, too long, in too few documents, or in too many documents")


class PreviewScript(BaseModel):
    """A script, and its share of the words."""

    script: str
    share: float


class PreviewLanguage(BaseModel):
    """A language by ISO 639-1, null if it is not recognized, and its share of the documents."""

    language: str | None
    share: float


class PreviewLengths(BaseModel):
    """Words that are kept of a document."""

    least: int
    lower_quartile: int
    median: int
    upper_quartile: int
    greatest: int


EXAMPLE: dict[str, Any] = {
    "corpus_documents": 2000,
    "sampled_documents": 286,
    "documents": [
        {
            "key": "paper-1",
            "label": "astronomy",
            "text": "<p>Galaxies at high redshift</p>",
            "n_tokens": 3,
            "tokens": ["galaxies", "high", "redshift"],
        }
    ],
    "vocabulary": 5210,
    "tokens_per_document": {"least": 8, "lower_quartile": 41, "median": 58, "upper_quartile": 83, "greatest": 190},
    "empty": 0,
    "scripts": [{"script": "Latin", "share": 1.0}],
    "languages": [{"language": "en", "share": 0.98}, {"language": None, "share": 0.02}],
    "language": "en",
    "stop_words": ["en"],
    "stemming": None,
    "top_words": [{"word": "model", "count": 310}],
    "dropped_words": [{"word": "the", "count": 2904, "reason": "stop word"}],
    "copies": 37,
    "distinct_texts": 1962,
    "warnings": ['12 % of the sampled documents look like HTML: set text.markup to ["html"].'],
}


class PreviewOut(BaseModel):
    """What text options make of a sample of a corpus."""

    model_config = example(**EXAMPLE)

    corpus_documents: int
    sampled_documents: int = Field(description="Documents whose words were counted, from all over the corpus.")
    documents: list[PreviewDocument]
    vocabulary: int = Field(description="Words of the vocabulary, estimated if not all documents were sampled.")
    tokens_per_document: PreviewLengths
    empty: int = Field(description="Sampled documents that keep no word.")
    scripts: list[PreviewScript]
    languages: list[PreviewLanguage]
    language: str | None = Field(description="Of most texts; null if their words do not show it.")
    stop_words: list[str] = Field(description="Languages whose stop words are left out.")
    stemming: str | None = Field(description="Language of the stemmer, if any.")
    top_words: list[PreviewWord] = Field(description="The most frequent words that are kept.")
    dropped_words: list[PreviewDroppedWord] = Field(description="The most frequent words that are not kept.")
    copies: int = Field(description="Documents of the corpus whose text an earlier one has.")
    distinct_texts: int = Field(description="Of the corpus.")
    warnings: list[str] = Field(description="What to know about the texts, and what to do.")
