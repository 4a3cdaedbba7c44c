"""What HTTP says of how texts become words: the options of a job and of a preview."""

from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema, model_validator

from app.schemas.common import MAX_INTEGER, RequestBody, integer, storable
from sampler.text import (
    AUTO,
    CHARACTER_NGRAMS,
    LANGUAGES,
    MARKUPS,
    MAX_WORD_NGRAM,
    NONE,
    STEMMED_LANGUAGES,
    STOP_WORD_LANGUAGES,
    Numbers,
    TextOptions,
    Urls,
)

TEXT = TextOptions()
MAX_LISTS = 10  # languages whose stop words are named together
SHARES = ("min_document_frequency", "max_document_frequency")  # 1.0 is all documents, 1 is one of them


def stop_word_lists(given: Any) -> str | list[str]:
    """The name, or the names of languages, if there are such lists of stop words. Raises ValueError.

    Several are a list, as in JSON: the settings of a job are read again as they are stored.
    """
    is_list = isinstance(given, list) and len(given) <= MAX_LISTS and all(isinstance(name, str) for name in given)
    if not (isinstance(given, str) or is_list):
        raise ValueError(f"this is neither a string nor a list of up to {MAX_LISTS} languages")
    found = TextOptions(stop_words=tuple(given) if is_list else given).stop_words
    return found if isinstance(found, str) else list(found)


def frequency(given: Any) -> int | float:
    """The number or share of documents, if it is one. Raises ValueError."""
    if isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= MAX_INTEGER:
        return given
    if isinstance(given, float) and 0.0 < given <= 1.0:
        return given
    raise ValueError(f"this is neither a number of documents from 1 to {MAX_INTEGER} nor a share above 0 and up to 1")


def ngram_length(given: Any) -> str | int:
    """A choice for scripts without spaces. Raises ValueError."""
    if isinstance(given, bool) or not isinstance(given, str | int) or given not in CHARACTER_NGRAMS:
        raise ValueError(f"this is not one of {', '.join(map(repr, CHARACTER_NGRAMS))}")
    return given


def one_of(names: Sequence[str]) -> AfterValidator:
    """The check that a string is one of these."""

    def check(given: str) -> str:
        if given not in names:
            raise ValueError(f"this is not one of {', '.join(names)}")
        return given

    return AfterValidator(check)


def listed(values: Sequence[Any]) -> dict[str, Any]:
    """The JSON schema of one of these values."""
    return {"enum": list(values)}


FREQUENCY = {
    "anyOf": [
        {"type": "integer", "minimum": 1, "maximum": MAX_INTEGER},
        {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    ]
}
StopWord = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(storable)]
StopWords = Annotated[
    str | list[str],
    PlainValidator(stop_word_lists),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", **listed([AUTO, NONE, *STOP_WORD_LANGUAGES])},
                {
                    "type": "array",
                    "items": {"type": "string", **listed(STOP_WORD_LANGUAGES)},
                    "maxItems": MAX_LISTS,
                },
            ]
        }
    ),
]
Frequency = Annotated[int | float, PlainValidator(frequency), WithJsonSchema(FREQUENCY)]
NGRAM_WORDS = [value for value in CHARACTER_NGRAMS if isinstance(value, str)]
NGRAM_LENGTHS = [value for value in CHARACTER_NGRAMS if not isinstance(value, str)]
NGRAMS = {"anyOf": [{"type": "string", **listed(NGRAM_WORDS)}, {"type": "integer", **listed(NGRAM_LENGTHS)}]}
CharacterNgrams = Annotated[str | int, PlainValidator(ngram_length), WithJsonSchema(NGRAMS)]
LANGUAGE_NAMES, STEMMING_NAMES = (AUTO, *LANGUAGES), (AUTO, NONE, *STEMMED_LANGUAGES)
Language = Annotated[str, one_of(LANGUAGE_NAMES), Field(json_schema_extra=listed(LANGUAGE_NAMES))]
Stemming = Annotated[str, one_of(STEMMING_NAMES), Field(json_schema_extra=listed(STEMMING_NAMES))]
Markup = Annotated[str, one_of(MARKUPS), Field(json_schema_extra=listed(MARKUPS))]


class TextIn(RequestBody):
    """How texts become words."""

    stop_words: StopWords = Field(
        default=stop_word_lists(TEXT.stop_words),
        description="Words without meaning of their own, left out: those of a language or of several, `none`, or "
        "`auto`: those of the corpus' language, unless texts would keep fewer than ten words on average.",
    )
    extra_stop_words: list[StopWord] = Field(default=list(TEXT.extra_stop_words), max_length=10_000)
    min_word_length: int = Field(
        default=TEXT.min_word_length,
        ge=1,
        le=100,
        description="Characters; Korean, and words of scripts without spaces, have no least length.",
    )
    min_document_frequency: Frequency = Field(
        default=TEXT.min_document_frequency,
        description="Documents that a word must occur in: a number (1 or more) or a share (0.01, and 1.0 for all).",
    )
    join_copies: bool = Field(
        default=TEXT.join_copies,
        description="Whether documents with the same words, or nearly, count as one text and have the same answer.",
    )
    language: Language = Field(
        default=TEXT.language, description="Of most texts, by ISO 639-1; `auto` detects it by their words."
    )
    max_word_length: int = Field(
        default=TEXT.max_word_length, ge=1, le=1_000, description="Characters; longer words are left out."
    )
    max_document_frequency: Frequency | None = Field(
        default=TEXT.max_document_frequency,
        description="Documents that a word may occur in: a number, a share, or null for no limit.",
    )
    character_ngrams: CharacterNgrams = Field(
        default=TEXT.character_ngrams,
        description="Chinese, Japanese, Thai, Lao, Khmer and Burmese have no spaces: their texts are cut into pieces "
        "of so many characters; `auto`: 2; `none` leaves runs of letters whole, for texts that are segmented already.",
    )
    word_ngrams: int = Field(
        default=TEXT.word_ngrams,
        ge=1,
        le=MAX_WORD_NGRAM,
        description="Sequences of up to so many words are words of their own, if they are frequent enough.",
    )
    markup: list[Markup] = Field(
        default=list(TEXT.markup), max_length=len(MARKUPS), description="Kinds of markup that are stripped."
    )
    urls: Urls = Field(
        default=TEXT.urls,
        description="URLs and e-mail addresses: `keep` their words, `drop` them, or `join` each to <url> or <email>.",
    )
    numbers: Numbers = Field(
        default=TEXT.numbers,
        description="`drop`: words begin with a letter; `keep`: also with a digit, such as 4g and 404; "
        "`join`: 4g is kept, and each number is <number>.",
    )
    stemming: Stemming = Field(
        default=TEXT.stemming,
        description="Words with the same stem are one: by the rules of a language, `auto`: of the corpus' language. "
        "Needs the extra `stemming`.",
    )

    @model_validator(mode="before")
    @classmethod
    def read_integers(cls, data: Any) -> Any:
        """Take floats without a fraction as integers, but for a share of 1.0."""
        if not isinstance(data, dict):
            return data
        return {
            name: value if name in SHARES and value == 1.0 else integer(value) for name, value in data.items()
        }  # fmt: skip

    @model_validator(mode="after")
    def check(self) -> Self:
        """Raise ValueError for options that do not go together."""
        self.options()
        return self

    def options(self) -> TextOptions:
        """The options as the sampler takes them."""
        return TextOptions(**self.model_dump())
