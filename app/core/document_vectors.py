"""Vectors of documents in the database: which a version of a corpus has, and which of them a job uses."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Exists, and_, func, select
from sqlalchemy.orm import Session, aliased

from app.core.embedding_models import embedding_digest
from app.core.kinds import BROUGHT, MODELS
from app.core.settings import Settings
from app.core.tables import FOREVER, IS_CURRENT, Corpus, Document, DocumentVector, is_part_of

AT_ONCE = 1_000  # documents that a statement names


def is_vector_of(version: Any, made_by: str = BROUGHT) -> ColumnElement[bool]:
    """The condition, in SQL, that a row is what a version of the corpus has of its document: a vector, or none."""
    later = aliased(DocumentVector)
    is_later = (later.document_id == DocumentVector.document_id) & (later.made_by == made_by)
    is_later &= (later.version > DocumentVector.version) & (later.version <= version)
    is_last = ~select(later.version).where(is_later).exists()
    return and_(DocumentVector.made_by == made_by, DocumentVector.version <= version, is_last)


def has_vector(version: Any) -> Exists:
    """The condition, in SQL, that a document has brought a vector that a version of the corpus has."""
    mine = (DocumentVector.document_id == Document.id, is_vector_of(version), func.length(DocumentVector.data) > 0)
    return select(DocumentVector.version).where(*mine).exists()


def brought_vectors(session: Session, document_ids: Sequence[int], version: int) -> dict[int, tuple[int, bytes]]:
    """By document, the vector that a version of the corpus has of it, and since which version; b"" is none any more."""
    columns = (DocumentVector.document_id, DocumentVector.version, DocumentVector.data)
    found: dict[int, tuple[int, bytes]] = {}
    for first in range(0, len(document_ids), AT_ONCE):
        mine = DocumentVector.document_id.in_(document_ids[first : first + AT_ONCE])
        rows = session.execute(select(*columns).where(mine, is_vector_of(version)))
        found |= {document_id: (since, data) for document_id, since, data in rows}
    return found


def count_brought(session: Session, corpus_ids: Sequence[str]) -> dict[str, int]:
    """By corpus, how many of its documents have brought a vector, as they are now."""
    having = select(Corpus.id).where(Corpus.id.in_(corpus_ids), Corpus.vector_length.is_not(None))
    mine = (Document.corpus_id.in_(having), IS_CURRENT, has_vector(FOREVER))
    counted = select(Document.corpus_id, func.count()).where(*mine).group_by(Document.corpus_id)
    return {str(corpus_id): n for corpus_id, n in session.execute(counted)}


def usable_vectors(session: Session, corpus_id: str, version: int, settings: Settings) -> dict[str, str]:
    """The settings by which a job over a version of a corpus uses vectors, if there are any.

    Those that documents have brought go before those that the service could make.
    """
    mine = (Document.corpus_id == corpus_id, is_part_of(version), has_vector(version))
    length = session.scalar(select(Corpus.vector_length).where(Corpus.id == corpus_id))
    if length is not None and session.scalar(select(Document.id).where(*mine).limit(1)) is not None:
        return {"vectors": "brought"}
    digest = embedding_digest(settings)
    return {} if digest is None else {"vectors": "made", "embedding_model": digest}


def with_vectors(
    session: Session, corpus_id: str, version: int, chosen: Mapping[str, Any], wanted: str | None, settings: Settings
) -> dict[str, Any]:
    """The settings of a job, with the vectors that it uses: none if that is wanted, or if its model uses none."""
    if wanted == "none" or "vectors" not in MODELS[chosen["model"]].own_settings:
        return dict(chosen)
    return {**chosen, **usable_vectors(session, corpus_id, version, settings)}
