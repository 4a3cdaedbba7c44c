"""The vectors that the rows of an upload bring, and those that documents keep when they are corrected.

A document whose text stays keeps its vector, unless another one comes along; one whose text changes loses it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from app.core.document_vectors import AT_ONCE, brought_vectors
from app.core.kinds import BROUGHT
from app.core.tables import FOREVER, IS_CURRENT, Corpus, Document, DocumentVector
from app.core.vectors import NUMBER_BYTES
from app.uploads.current import Current
from app.uploads.rows import BadLine, Row
from app.uploads.vector_values import wrong_length

Kept = Mapping[str, Mapping[str, bytes]]  # by key and by who made them: vectors
NOTHING: Kept = {}


class Fitting(NamedTuple):
    """Rows whose vectors are of one length, and that length, if it is known; and the others."""

    rows: Sequence[Row]
    refused: list[BadLine]
    length: int | None


def fitting(rows: Sequence[Row], length: int | None) -> Fitting:
    """The rows whose vectors are as long as those of the corpus, or else as the first one."""
    if all(row.vector is None for row in rows):
        return Fitting(rows, [], length)
    found, refused = [], []
    for row in rows:
        own = len(row.vector or b"") // NUMBER_BYTES
        length = length or own or None
        if own and own != length:
            refused.append(BadLine(row.line, wrong_length(own, length or own)))
        else:
            found.append(row)
    return Fitting(found, refused, length)


class RowVectors:
    """What one upload knows of vectors."""

    def __init__(self) -> None:
        self.length: int | None = None  # of those of the corpus, or of the first one that came
        self.is_length_stored = False

    def fitting(self, rows: Sequence[Row]) -> Fitting:
        """The rows that can be stored, as they are read."""
        found = fitting(rows, self.length)
        self.length = found.length
        return found

    def checked(self, session: Session, corpus_id: str, rows: Sequence[Row]) -> Fitting:
        """The rows that can be stored in the corpus, which is locked: somebody else may have brought vectors."""
        if all(row.vector is None for row in rows):
            return Fitting(rows, [], self.length)
        length = session.scalar(select(Corpus.vector_length).where(Corpus.id == corpus_id))
        self.is_length_stored = length is not None
        return fitting(rows, length)

    def kept(self, session: Session, rows: Sequence[Row], old: Sequence[Current]) -> Kept:
        """The vectors that documents keep when these rows take their place."""
        pairs = zip(rows, old, strict=True)
        keys = {each.id: each.key for row, each in pairs if (row.text, row.is_counts) == (each.text, each.is_counts)}
        columns = (DocumentVector.document_id, DocumentVector.made_by, DocumentVector.data)
        found: dict[str, dict[str, bytes]] = {}
        ids = list(keys)
        for first in range(0, len(ids), AT_ONCE):
            mine = DocumentVector.document_id.in_(ids[first : first + AT_ONCE])
            for document_id, made_by, data in session.execute(
                select(*columns).where(mine).order_by(DocumentVector.version)
            ):
                found.setdefault(keys[document_id], {})[made_by] = data  # the last one stays
        return found

    def put(self, session: Session, corpus_id: str, version: int, rows: Sequence[Row], kept: Kept = NOTHING) -> int:
        """Store the vectors of rows that are documents now, and those that they keep; the bytes of those brought."""
        vectors: dict[str, dict[str, bytes]] = {}
        for row in rows:
            own = dict(kept.get(str(row.key), {}))
            if row.vector is not None:
                own[BROUGHT] = row.vector
            if any(own.values()):
                vectors[str(row.key)] = {made_by: data for made_by, data in own.items() if data}
        if not vectors:
            return 0
        mine = (Document.corpus_id == corpus_id, IS_CURRENT, Document.key.in_(list(vectors)))
        values: list[dict[str, Any]] = [
            {"document_id": document_id, "made_by": made_by, "version": version_of(made_by, version), "data": data}
            for document_id, key in session.execute(select(Document.id, Document.key).where(*mine))
            for made_by, data in vectors[key].items()
        ]
        session.connection().execute(insert(DocumentVector), values)
        brought = next((own[BROUGHT] for own in vectors.values() if BROUGHT in own), b"")
        if brought and not self.is_length_stored:
            set_length(session, corpus_id, len(brought) // NUMBER_BYTES)
            self.is_length_stored = True
        return sum(len(each["data"]) for each in values if each["made_by"] == BROUGHT)


def set_length(session: Session, corpus_id: str, length: int) -> None:
    """Let the first vector that a corpus has say how long all are."""
    first = update(Corpus).where(Corpus.id == corpus_id, Corpus.vector_length.is_(None))
    session.execute(first.values(vector_length=length).execution_options(synchronize_session=False))


def version_of(made_by: str, version: int) -> int:
    """The version of the corpus since which a document has a vector: what is made of its text is of every version."""
    return version if made_by == BROUGHT else 0


def with_vectors(session: Session, found: Mapping[str, Current]) -> dict[str, Current]:
    """Documents by key, each with the vector that it has brought."""
    vectors = brought_vectors(session, [each.id for each in found.values()], FOREVER)
    return {key: each._replace(vector=vectors.get(each.id, (0, b""))[1]) for key, each in found.items()}
