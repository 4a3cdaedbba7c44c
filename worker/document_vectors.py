"""Rows of documents' vectors: which document a text has its vector from, and the vectors themselves, some at a time.

A text has the vector of its first document, in the order of keys, that has one. Where vectors are made, each document
can have one that has a text: so it is that of the first such document, whatever other jobs have made before.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sqlalchemy import Function, Integer, Select, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.core.db import upsert
from app.core.kinds import BROUGHT, vectors_made_by
from app.core.tables import Document, DocumentVector, Job, is_part_of
from app.core.vectors import NUMBER_BYTES, from_bytes
from sampler.archive import CheckpointError
from sampler.corpus import Array
from worker.store import BATCH, Stored

AT_ONCE = 4_096  # rows that are asked for by their ids
N_BYTES = func.length(DocumentVector.data, type_=Integer)


def made_by(job: Job) -> str:
    """By whom the vectors of a job are made, as rows have it. It is one that uses vectors."""
    found = vectors_made_by(job.settings)
    if found is None:
        raise ValueError(f"job {job.id} uses no vectors")
    return found


def sources(session: Session, job: Job, stored: Stored) -> Array:
    """int64[T]: the ids of the documents that texts have their vectors from; 0 for a text without a vector."""
    has_vector = np.isin(stored.document_ids, ids_with_vectors(session, job))
    places = np.flatnonzero(has_vector)  # in the order of keys
    texts, first = np.unique(stored.texts.text_of[places], return_index=True)
    found = np.zeros(stored.corpus.n_documents, np.int64)
    found[texts] = stored.document_ids[places[first]]
    return found


def ids_with_vectors(session: Session, job: Job) -> Array:
    """int64: the documents of the job's corpus version that bring a vector, or that one can be made for."""
    if made_by(job) == BROUGHT:
        last = dict(iter(session.execute(brought_by(job).execution_options(yield_per=BATCH))))
        return np.array([document_id for document_id, n_bytes in last.items() if n_bytes > 0], np.int64)
    texts = select(Document.id).where(Document.corpus_id == job.corpus_id, is_part_of(job.corpus_version))
    texts = texts.where(~Document.is_counts, Document.text != "").execution_options(yield_per=BATCH)
    return np.fromiter(session.scalars(texts), np.int64)


def brought_by(job: Job) -> Select[int, int]:
    """Ids of documents, and how many bytes the vectors have that they brought, of each the latest last."""
    return (
        select(DocumentVector.document_id, N_BYTES)
        .join(Document, Document.id == DocumentVector.document_id)
        .where(Document.corpus_id == job.corpus_id, is_part_of(job.corpus_version))
        .where(DocumentVector.made_by == BROUGHT, DocumentVector.version <= job.corpus_version)
        .order_by(DocumentVector.document_id, DocumentVector.version)
    )


def sizes(session: Session, job: Job, document_ids: Array) -> Array:
    """int64: how many bytes the vectors of some documents have, as the job's version of the corpus has them."""
    found = np.zeros(document_ids.size, np.int64)
    for block in in_blocks(document_ids.size, AT_ONCE):
        some = document_ids[block].tolist()
        by_id = by_document(session, job, some, N_BYTES)
        found[block] = [by_id.get(document_id, 0) for document_id in some]
    return found


def length_of(n_bytes: Array) -> int:
    """How many numbers vectors of these sizes have: what most of them have, since some may be damaged or missing."""
    present = n_bytes[n_bytes > 0]
    return int(np.bincount(present).argmax()) // NUMBER_BYTES if present.size else 0


def read(session: Session, job: Job, document_ids: Array, length: int) -> Array:
    """float16[m, n]: the vectors of some documents, at most AT_ONCE; zeros where the id is 0.

    Raises CheckpointError if one is missing or damaged.
    """
    wanted = document_ids[document_ids > 0].tolist()
    by_id = by_document(session, job, wanted, DocumentVector.data)
    vectors = np.zeros((document_ids.size, length), np.float16)
    for place, document_id in enumerate(document_ids.tolist()):
        if document_id > 0:
            data = by_id.get(document_id, b"")
            if len(data) != length * NUMBER_BYTES:
                raise CheckpointError(f"the vector of document {document_id} is missing or damaged")
            vectors[place] = from_bytes(data)
    return vectors


def by_document(
    session: Session, job: Job, document_ids: list[int], what: InstrumentedAttribute[bytes] | Function[int]
) -> dict[int, Any]:
    """Something of the vectors of some documents, as the job's version of the corpus has them."""
    rows = (
        select(DocumentVector.document_id, what)
        .where(DocumentVector.document_id.in_(document_ids), DocumentVector.made_by == made_by(job))
        .where(DocumentVector.version <= job.corpus_version)
        .order_by(DocumentVector.document_id, DocumentVector.version)  # the last one of a document counts
    )
    return dict(session.execute(rows).all())


def texts_of(session: Session, document_ids: Array, n_characters: int) -> list[str]:
    """The beginnings of the texts of some documents, in their order."""
    beginning = func.substr(Document.text, 1, n_characters)
    rows = session.execute(select(Document.id, beginning).where(Document.id.in_(document_ids.tolist())))
    by_id: dict[int, str] = dict(rows.all())
    return [by_id.get(document_id, "") for document_id in document_ids.tolist()]


def save(session: Session, digest: str, vectors: Mapping[int, Array]) -> None:
    """Store vectors that a model has made, 1 long, by document; another job may have made the same ones meanwhile."""
    made = upsert(session, DocumentVector)
    rows = [
        {"document_id": document_id, "made_by": digest, "version": 0, "data": vector.astype("<f2").tobytes()}
        for document_id, vector in vectors.items()
    ]
    key = (DocumentVector.document_id, DocumentVector.made_by, DocumentVector.version)
    session.execute(made.on_conflict_do_update(index_elements=key, set_={"data": made.excluded.data}), rows)


def in_blocks(size: int, at_once: int) -> Iterator[slice]:
    """Slices of so many places each, the last one shorter."""
    return (slice(first, min(first + at_once, size)) for first in range(0, size, at_once))
