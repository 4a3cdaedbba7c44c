"""What a client says of a file that it uploads, and what became of it."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.schemas.common import example

MAX_COLUMN_NAME = 200
MAX_JSON = 300  # columns whose cells are JSON
MAX_CHOSEN = 100  # text columns, and values that mean no label

Format = Literal["ndjson", "json", "csv", "tsv", "text", "zip", "xlsx", "parquet", "svmlight"]
ColumnName = Annotated[str, Field(max_length=MAX_COLUMN_NAME)]
TextColumns = Annotated[
    list[ColumnName],
    Field(max_length=MAX_CHOSEN, description="The column of the text, `text` by default; several are joined."),
]


class FileChoices(BaseModel):
    """How a file is to be read; whatever is not said is found out, or refused with what was found."""

    model_config = ConfigDict(extra="forbid")

    format: Format | None = Field(default=None, description="By default from the content type, the name, the content.")
    charset: str | None = Field(
        default=None,
        max_length=50,
        description="Of a text file, such as windows-1252; by default UTF-8, or its mark's.",
    )
    delimiter: str | None = Field(
        default=None, max_length=10, description="Between columns: one character, or tab; found out by default."
    )
    header: bool | None = Field(
        default=None, description="Whether the first record names the columns; found out by default. Without names, "
        "columns are called 1, 2, 3 and so on."
    )  # fmt: skip
    sheet: str | None = Field(default=None, max_length=200, description="Of a spreadsheet; by default its first one.")
    label: ColumnName | None = Field(
        default=None, description="The column of the label, `label` by default; empty: there is none."
    )
    key: ColumnName | None = Field(
        default=None, description="The column of the key, `key` by default; empty: there is none."
    )
    vector: ColumnName | None = Field(
        default=None, description="The column of the vector, a list of numbers, in a table as JSON; `vector` by "
        "default, if nothing else is in it. Empty: there is none."
    )  # fmt: skip
    unlabeled: list[Annotated[str, Field(max_length=MAX_COLUMN_NAME)]] = Field(
        default=[], max_length=MAX_CHOSEN, description="Values of the label's column that mean: no label."
    )
    counts: ColumnName | None = Field(
        default=None, description="The column of ready bags of words; in a table its cells are JSON."
    )
    fields: ColumnName | None = Field(
        default=None, description="A column of objects, in a table as JSON, whose members are columns of their own."
    )
    json_column: list[ColumnName] = Field(
        default=[],
        max_length=MAX_JSON,
        description="Columns whose cells are read as JSON where they are JSON; of text, label and key only strings.",
    )
    safe: bool | None = Field(
        default=None, description="Whether a CSV has an apostrophe before what spreadsheets take for formulas, "
        "as our exports have it: it is taken off."
    )  # fmt: skip


class UploadChoices(FileChoices):
    """How a file of documents is to be read and stored."""

    text: TextColumns = Field(default=[])
    on_error: Literal["skip", "abort"] = Field(
        default="skip", description="Whether a row that cannot be used is left out, or nothing is stored at all."
    )
    on_conflict: Literal["refuse", "replace"] = Field(
        default="refuse", description="Whether a row whose key is taken, and that says something else, is refused, or "
        "takes the place of the document that is there."
    )  # fmt: skip
    validate_only: bool = Field(default=False, description="Say what would become of the upload, and store nothing.")


class LineError(BaseModel):
    """A line that could not be used."""

    model_config = ConfigDict(from_attributes=True)

    line: int = Field(
        description="Where the row begins: the line of a text file, the row of a sheet, else the number of the item."
    )
    reason: str


class ColumnsOut(BaseModel):
    """The columns of a file by what they were taken for."""

    text: list[str] = Field(description="Joined, with blank lines between them, if there are several.")
    label: str | None
    key: str | None
    vector: str | None = None
    fields: list[str] = Field(description="All others, which are kept as fields of the documents.")


class UploadOut(BaseModel):
    """What became of an upload's rows, or would become of them."""

    model_config = example(
        accepted=1520,
        added=1498,
        replaced=0,
        unchanged=22,
        labeled=0,
        unlabeled=1520,
        empty=1,
        vectors=0,
        copies=37,
        rejected=1,
        errors=[
            {
                "line": 17,
                "reason": "the key 'paper-16' is already in the corpus, with another text; on_conflict=replace "
                "puts the later row in its place",
            }
        ],
        validated_only=False,
        format="csv",
        charset="utf-8",
        delimiter=";",
        columns={"text": ["Title", "Abstract"], "label": "label", "key": "key", "vector": None, "fields": ["year"]},
        warnings=["22 rows were in the corpus before, just as they are: they change nothing"],
    )

    accepted: int = Field(description="Rows whose documents are in the corpus now: added, replaced or unchanged.")
    added: int
    replaced: int = Field(description="Documents in whose place a row with their key was put, by on_conflict=replace.")
    unchanged: int = Field(description="Rows that were in the corpus before, just as they are.")
    labeled: int = Field(description="Accepted rows with a label.")
    unlabeled: int
    empty: int = Field(description="Accepted rows without text, labeled or not.")
    vectors: int = Field(description="Accepted rows that brought a vector.")
    copies: int = Field(
        description="Of the rows that were added or replaced, those whose text was there before, in the corpus or the "
        "upload."
    )
    rejected: int
    errors: list[LineError] = Field(description="The first 1,000, by line.")
    validated_only: bool = Field(description="Nothing was stored, since `validate_only` was asked for.")
    format: Format
    charset: str | None = Field(description="Null for a format that has none.")
    delimiter: str | None = Field(description="Between the columns; null for a format that has none.")
    columns: ColumnsOut
    warnings: list[str] = Field(description="Whole sentences: what may be wrong, and what to do.")
