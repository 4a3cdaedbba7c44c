"""A file of new documents to a file or an answer, a few documents at a time."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from app.core.certainty import Thresholds
from app.core.errors import UploadTooLarge
from app.exports.cells import ENCODER
from app.exports.delimited import CsvOptions, csv_pieces
from app.exports.fields import own_names
from app.exports.objects import lines
from app.exports.tables import Column, Kind, Table, Values
from app.frozen.documents import Answered, answered, told
from app.frozen.drift import NOTHING, DayCounts, counted
from app.frozen.models import Categorizer
from app.uploads.formats.reading import Reading
from app.uploads.rows import BadLine, BadRow, Row
from embedding.model import Array, EmbeddingModel

AT_ONCE = 200  # documents
MOST_IN_JSON = 10_000  # documents of an answer that is one value
MOST_ERRORS = 1_000  # that are told one by one

# Of a table of answers, with their kinds; kept fields follow.
COLUMNS: dict[str, Kind] = {
    "key": "name",
    "text": "text",
    "category": "name",
    "known": "boolean",
    "probability": "number",
    "known_probability": "number",
    "unsure": "boolean",
    "novelty": "number",
    "novel": "boolean",
    "runner_up": "name",
    "runner_up_probability": "number",
    "unknown_words": "number",
    "evidence": "text",
    "line": "integer",
    "reason": "text",
}


@dataclass
class Asked:
    """What a client wants to know, of which rows; and what has been answered so far."""

    model: Categorizer
    reading: Reading
    thresholds: Thresholds
    novel: float  # novelty from which on a document is novel
    has_mark: bool = False  # a byte order mark before a table
    counts: DayCounts = NOTHING  # documents that were answered so far
    errors: list[BadLine] = field(default_factory=list)
    embedder: EmbeddingModel | None = None  # what made the vectors that the model learned from, if it is there
    n_ignored: int = 0  # vectors of documents, which the model knows nothing of
    n_without: int = 0  # documents without a vector, though the model has learned from vectors

    def lots(self) -> Iterator[list[Answered | BadLine]]:
        """The rows in order, a few at a time: documents with their answers, and lines that cannot be used."""
        rows = self.reading.rows()
        while some := list(islice(rows, AT_ONCE)):
            made = self.made_vectors([row for row in some if isinstance(row, Row)])
            lot = [self.answered(row, made.get(row.line)) if isinstance(row, Row) else row for row in some]
            self.counts = self.counts.plus(counted([each for each in lot if isinstance(each, Answered)]))
            yield lot

    def made_vectors(self, rows: list[Row]) -> dict[int, Array]:
        """By line, the vectors of documents that bring none, if the service can make them."""
        if self.embedder is None:
            return {}
        wanting = [row for row in rows if row.text and not row.vector and not row.is_counts]
        made = self.embedder.embed([row.text[: self.embedder.n_characters] for row in wanting])
        return {row.line: vector.astype(np.float64) for row, vector in zip(wanting, made, strict=True)}

    def answered(self, row: Row, made: Array | None) -> Answered | BadLine:
        """A row with its answer, or why it cannot be used; with the vector that was made of it, if it brings none."""
        self.n_ignored += bool(row.vector) and self.model.vector_length is None
        self.n_without += self.model.vector_length is not None and not row.vector and made is None
        try:
            return answered(self.model, row, made)
        except BadRow as error:
            return BadLine(row.line, str(error))

    @property
    def warnings(self) -> list[str]:
        """What a reader should know of the file and its answers."""
        told = list(self.reading.warnings)
        if self.n_ignored:
            vectors = "1 vector was" if self.n_ignored == 1 else f"{self.n_ignored} vectors were"
            told.append(f"{vectors} ignored: the model has learned from words alone")
        if self.n_without:
            documents = "1 document has" if self.n_without == 1 else f"{self.n_without} documents have"
            told.append(f"{documents} no vector, from which the model has learned: their words alone were looked at")
        return told

    def told(self, found: Answered) -> dict[str, Any]:
        """A document as `NewDocumentOut` has it."""
        return told(self.model, found, self.thresholds, self.novel)


def documents(asked: Asked) -> list[dict[str, Any]]:
    """All documents, as `NewDocumentOut` has them; `asked` notes the lines that cannot be used.

    Raises UploadTooLarge for more than an answer in one piece may have.
    """
    found: list[dict[str, Any]] = []
    for lot in asked.lots():
        for each in lot:
            if isinstance(each, Answered):
                found.append(asked.told(each))
            elif len(asked.errors) < MOST_ERRORS:
                asked.errors.append(each)
        if len(found) > MOST_IN_JSON:
            raise UploadTooLarge(
                f"the file has more than {MOST_IN_JSON} documents, too many for one value of JSON: ask for "
                "answer_format=ndjson or answer_format=csv, which have no limit"
            )
    return found


def ndjson(asked: Asked) -> Iterator[bytes]:
    """An object a line."""
    for lot in asked.lots():
        yield lines("".join([ENCODER.encode(line_of(asked, each)) + "\n" for each in lot]))


def line_of(asked: Asked, found: Answered | BadLine) -> dict[str, Any]:
    """A document as `NewDocumentOut` has it; of a line that cannot be used, its number and the reason."""
    if isinstance(found, BadLine):
        return {"line": found.line, "reason": f"the row cannot be used: {found.reason}"}
    return asked.told(found)


def delimited(asked: Asked) -> Iterator[bytes]:
    """A table with texts, and the columns that the file came with at its end; safe for spreadsheets."""
    fields = asked.reading.columns["fields"]
    called = own_names(COLUMNS, fields)
    columns = [Column(called[name], kind) for name, kind in COLUMNS.items()]
    columns += [Column(name, "value", is_field=True) for name in fields]

    def lots() -> Iterator[list[Values]]:
        for lot in asked.lots():
            yield [values(each, line_of(asked, each), fields) for each in lot]

    return csv_pieces(Table("answers", columns, lots), CsvOptions(has_mark=asked.has_mark))


def values(found: Answered | BadLine, line: dict[str, Any], fields: list[str]) -> Values:
    """A row of the table."""
    likely = line.get("likely") or []
    second = likely[1] if len(likely) > 1 else {}
    shown = {
        **line,
        "text": found.row.text if isinstance(found, Answered) else None,
        "category": line.get("name"),
        "runner_up": second.get("name"),
        "runner_up_probability": second.get("probability"),
        "evidence": " ".join(each["word"] for each in line.get("evidence") or []) or None,
    }
    kept = line.get("fields") or {}
    return [*(shown.get(name) for name in COLUMNS), *(kept.get(name) for name in fields)]
