"""What a model says of one new document, as HTTP tells it."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from app.frozen.models import Categorizer
from app.uploads.rows import BadLine, Row
from sampler.frozen.answering import FrozenAnswer, answer, evidence, tf_idf

NO_EVIDENCE = "no evidence: the model knows no word of the document"
EMPTY = "no evidence: the document has no text"


class Thresholds(NamedTuple):
    """From which probability on an answer is not unsure, and from which novelty on a document is novel."""

    unsure_known: float
    unsure_new: float
    novel: float


class Answered(NamedTuple):
    """A row, and what the model says of it."""

    row: Row
    answer: FrozenAnswer | None  # None without evidence
    n_unknown: int  # words that the model does not know
    n_words: int


def answered(model: Categorizer, row: Row) -> Answered:
    """A row with its answer."""
    read = model.reader.read(json.loads(row.text) if row.is_counts and row.text else row.text)
    found = answer(model.arrays, model.n_known, read.words, read.counts, read.mark)
    return Answered(row, found, read.n_unknown, read.n_words)


def all_answered(model: Categorizer, rows: list[Row | BadLine]) -> Iterator[Answered]:
    """The rows that can be used, each with its answer."""
    return (answered(model, row) for row in rows if isinstance(row, Row))


def told(model: Categorizer, found: Answered, thresholds: Thresholds) -> dict[str, Any]:
    """The members of a `NewDocumentOut`."""
    row, says = found.row, found.answer
    common = {
        "key": row.key,
        "line": row.line,
        "fields": row.fields or {},
        "unknown_words": found.n_unknown / found.n_words if found.n_words else None,
    }
    if says is None:
        return {**common, **WITHOUT, "reason": NO_EVIDENCE if row.text else EMPTY}
    first = says.likely[0]
    category = model.categories[first.category]
    of_side = says.known if category.known else 1.0 - says.known
    threshold = thresholds.unsure_known if category.known else thresholds.unsure_new
    return {
        **common,
        "category": first.category,
        "id": category.id,
        "name": category.name,
        "known": category.known,
        "probability": first.probability,
        "known_probability": says.known,
        "category_probability": 1.0 if of_side <= first.probability else first.probability / of_side,
        "unsure": first.probability < threshold,
        "likely": [
            {"category": k, "name": model.categories[k].name, "probability": probability}
            for k, probability in says.likely
        ],
        "novelty": says.novelty,
        "novel": says.novelty >= thresholds.novel,
        "evidence": [{"word": model.reader.names[word], "weight": weight} for word, weight in says.evidence],
        "of_corpus": says.is_of_corpus,
        "reason": None,
    }


def evidence_words(
    model: Categorizer, text: str, is_counts: bool, category: int, runner_up: int | None
) -> list[tuple[str, float]]:
    """The words of a text that speak most for a category and against the runner-up, and by how much."""
    read = model.reader.read(json.loads(text) if is_counts and text else text)
    if read.words.size == 0:
        return []
    values = tf_idf(model.arrays, read.words, read.counts)
    found = evidence(model.arrays, read.words, values, category, runner_up)
    return [(model.reader.names[word], weight) for word, weight in found]


# Of a document without evidence: it is unsure, and nobody knows whether it is novel.
WITHOUT: dict[str, Any] = {
    "category": None,
    "id": None,
    "name": None,
    "known": None,
    "probability": None,
    "known_probability": None,
    "category_probability": None,
    "unsure": True,
    "likely": [],
    "novelty": None,
    "novel": None,
    "evidence": [],
    "of_corpus": False,
}
