"""What a model says of one new document, as HTTP tells it."""

import json
from typing import Any, NamedTuple

import numpy as np

from app.core.certainty import Thresholds, category_probability
from app.core.vectors import from_bytes
from app.frozen.models import Categorizer
from app.uploads.rows import BadRow, Row
from app.uploads.vector_values import numbers_in
from sampler.corpus import Array
from sampler.frozen.answering import FrozenAnswer, answer, evidence, tf_idf
from sampler.text import Reading

NO_EVIDENCE = "no evidence: the model knows no word of the document"
EMPTY = "no evidence: the document has no text"


class Answered(NamedTuple):
    """A row, and what the model says of it."""

    row: Row
    answer: FrozenAnswer | None  # None without evidence
    n_unknown: int  # words that the model does not know
    n_words: int


def answered(model: Categorizer, row: Row, made: Array | None = None) -> Answered:
    """A row with its answer; `made` is the vector that the service has made of it, for one that brings none.

    Raises BadRow.
    """
    read = read_text(model, row.text, row.is_counts)
    brought = vector_of(model, row)
    vector = made if brought is None else brought
    found = answer(model.arrays, model.n_known, read.words, read.counts, read.mark, vector)
    return Answered(row, found, read.n_unknown, read.n_words)


def vector_of(model: Categorizer, row: Row) -> Array | None:
    """float64[n], the vector of a row; None if it has none, or if the model knows none. Raises BadRow."""
    if not row.vector or model.vector_length is None:
        return None
    found: Array = from_bytes(row.vector).astype(np.float64)
    if found.size != model.vector_length:
        raise BadRow(
            f"`vector` has {numbers_in(found.size)}, but the model learned from vectors of {model.vector_length}: it "
            "must come from where those came from"
        )
    return found


def read_text(model: Categorizer, text: str, is_counts: bool) -> Reading:
    """A text, or a ready bag of words as JSON, in the words of the model."""
    return model.reader.read(json.loads(text) if is_counts and text else text)


def told(model: Categorizer, found: Answered, thresholds: Thresholds, novel: float) -> dict[str, Any]:
    """The members of a `NewDocumentOut`; a document is novel from the novelty `novel` on."""
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
    return {
        **common,
        "category": first.category,
        "id": category.id,
        "name": category.name,
        "known": category.known,
        "probability": first.probability,
        "known_probability": says.known,
        "category_probability": category_probability(first.probability, says.known, category.known),
        "unsure": thresholds.is_unsure(first.probability, category.known),
        "likely": [
            {"category": k, "name": model.categories[k].name, "probability": probability}
            for k, probability in says.likely
        ],
        "novelty": says.novelty,
        "novel": says.novelty >= novel,
        "evidence": [{"word": model.reader.names[word], "weight": weight} for word, weight in says.evidence],
        "of_corpus": says.is_of_corpus,
        "reason": None,
    }


def evidence_words(
    model: Categorizer, text: str, is_counts: bool, category: int, runner_up: int | None
) -> list[tuple[str, float]]:
    """The words of a text that speak most for a category and against the runner-up, and by how much."""
    read = read_text(model, text, is_counts)
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
