"""Encoded corpora: stored in parts, a few a transaction, and read from a local file that is made of them.

Two legs may store the same encoding at once, or one go on where another died: the same documents and options
make the same parts, so whichever comes last may write over the other's. An encoding without a digest is not
whole yet.
"""

from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, and_, select, update
from sqlalchemy.orm import Session, defer

from app.core.db import upsert
from app.core.sources import told_apart
from app.core.tables import Encoding, EncodingPart, Job
from sampler.calibrated.sources import NO_SOURCE, Sources
from sampler.copies import labeled_texts, texts_from
from sampler.corpus import Array, Corpus
from sampler.text import Encoded
from worker import corpus_file
from worker.corpus_cache import CorpusCache
from worker.corpus_file import Arrays, CorpusFileError, Sizes
from worker.store import Names, Rows, Stored, encoding_options

PARTS_AT_ONCE = 4  # a transaction: while it lasts, no other can write to SQLite
SORTED_AT_ONCE = 2**22  # tokens
SOURCES = "sources"  # among the facts of an encoding: the names of the numbered ones


class Draft(NamedTuple):
    """An encoded corpus that is to be stored."""

    encoded: Encoded
    arrays: Arrays
    digest: str  # of the file
    sources: list[str] | None  # names of those that have a number; None if the job did not ask for them


def draft(encoded: Encoded, document_ids: list[int], source_of_document: Sequence[str | None] | None = None) -> Draft:
    """The distinct texts of the encoded documents, whose words are sorted in place, and the ids of their rows."""
    corpus = encoded.corpus
    sort_words(corpus)
    texts = texts_from(corpus, encoded.copy_of)
    words, offsets = texts.corpus.words, texts.corpus.offsets
    ids, marks = np.array(document_ids, np.int64), encoded.marks.view(np.int64)
    arrays, names = Arrays(words, offsets, texts.text_of, corpus.labels, ids, marks), None
    if source_of_document is not None:
        names = told_apart(source_of_document)
        arrays = arrays._replace(sources=numbered_sources(source_of_document, names)[texts.first])
    return Draft(encoded, arrays, corpus_file.digest(arrays), names)


def numbered_sources(values: Sequence[str | None], names: Sequence[str]) -> Array:
    """int16[D]: the number of each document's source, one more than all names for others, NO_SOURCE for none."""
    number: dict[str | None, int] = {name: n for n, name in enumerate(names)}
    number[None] = NO_SOURCE
    return np.array([number.get(value, len(names)) for value in values], np.int16)


def sort_words(corpus: Corpus) -> None:
    """Put the words of each document in ascending order, in place.

    To the model a document is a bag of words; kernels read bags, and ascending words take less room in parts.
    O(N log N) time, and room for SORTED_AT_ONCE tokens or one document.
    """
    first = 0
    while first < corpus.n_documents:
        start = corpus.offsets[first]
        end = max(int(np.searchsorted(corpus.offsets, start + SORTED_AT_ONCE, side="right")) - 1, first + 1)
        words = corpus.words[start : corpus.offsets[end]]
        base = np.repeat(np.arange(end - first) * corpus.n_words, np.diff(corpus.offsets[first : end + 1]))
        words[:] = np.sort(base + words) - base  # documents keep their places, since their bases ascend
        first = end


def wanted_by(job: Job) -> ColumnElement[bool]:
    """The condition of the one encoding that the job needs."""
    return and_(
        Encoding.corpus_id == job.corpus_id,
        Encoding.corpus_version == job.corpus_version,
        Encoding.options == encoding_options(job),
    )


def find(session: Session, job: Job) -> int | None:
    """The id of the encoding that the job needs, if it is there and whole."""
    return session.scalar(select(Encoding.id).where(wanted_by(job), Encoding.digest.is_not(None)))


def begin(session: Session, job: Job, draft: Draft) -> int:
    """Make the encoding's row, or write over one that is damaged; returns its id. Its parts are to follow."""
    encoded, corpus, sizes = draft.encoded, draft.encoded.corpus, corpus_file.sizes_of(draft.arrays)
    found = {
        "n_documents": sizes.n_documents,
        "n_texts": sizes.n_texts,
        "n_tokens": sizes.n_tokens,
        "n_words": corpus.n_words,
        "n_known": corpus.n_known,
        "vocabulary": encoded.vocabulary,
        "categories": encoded.categories,
        "facts": encoded.facts._asdict() | ({} if draft.sources is None else {SOURCES: draft.sources}),
    }
    key = {
        "corpus_id": job.corpus_id,
        "corpus_version": job.corpus_version,
        "options": encoding_options(job),
    }
    made = upsert(session, Encoding).values(**key, **found)
    columns = [getattr(Encoding, name) for name in key]
    session.execute(made.on_conflict_do_update(index_elements=columns, set_=found))
    return session.scalars(select(Encoding.id).where(wanted_by(job))).one()


def part_rows(encoding_id: int, draft: Draft) -> Iterator[Rows]:
    """Batches of rows of `encoding_parts`, compressed as they are asked for."""
    numbered = zip(count(), corpus_file.parts(draft.arrays), strict=False)
    while batch := list(islice(numbered, PARTS_AT_ONCE)):
        yield [{"encoding_id": encoding_id, "number": number, "data": data} for number, data in batch]


def save_parts(session: Session, rows: Rows) -> None:
    """Store a batch of parts, also over those of a leg that did not come to its end."""
    made = upsert(session, EncodingPart)
    key = (EncodingPart.encoding_id, EncodingPart.number)
    session.execute(made.on_conflict_do_update(index_elements=key, set_={"data": made.excluded.data}), rows)


def complete(session: Session, encoding_id: int, draft: Draft) -> None:
    """Declare the encoding whole: the same documents and options always have this digest."""
    session.execute(update(Encoding).where(Encoding.id == encoding_id).values(digest=draft.digest))


def point_to(session: Session, job: Job) -> None:
    """Note with the job which encoding it uses."""
    session.execute(update(Job).where(Job.id == job.id).values(encoding_id=find(session, job)))


def load(session: Session, job: Job, files: CorpusCache) -> Stored:
    """The corpus of the job, mapped from the local file, which is written first if it is not there.

    Raises CorpusFileError if what is stored is damaged.
    """
    found = session.scalars(
        select(Encoding)
        .where(wanted_by(job), Encoding.digest.is_not(None))
        .options(defer(Encoding.vocabulary, raiseload=True), defer(Encoding.categories, raiseload=True))
    ).one_or_none()
    if found is None:
        raise CorpusFileError("the encoding is not there, or not whole")
    names = (found.facts or {}).get(SOURCES)
    sizes = Sizes(found.n_tokens, found.n_texts, found.n_documents, names is not None)
    arrays = files.load(str(found.digest), sizes, lambda: stored_parts(session, found.id))
    texts = labeled_texts(
        arrays.words, arrays.offsets, arrays.text_of, arrays.labels, found.n_words, found.n_known
    )  # fmt: skip
    sources = None if names is None else Sources(arrays.sources, len(names) + 1)
    return Stored(texts, arrays.document_ids, arrays.marks.view(np.uint64), sources)


def stored_parts(session: Session, encoding_id: int) -> Iterator[bytes]:
    """The parts in order, one at a time."""
    for number in count():
        data = session.scalar(
            select(EncodingPart.data).where(EncodingPart.encoding_id == encoding_id, EncodingPart.number == number)
        )
        if data is None:
            return
        yield data


def names(session: Session, job: Job) -> Names:
    """The vocabulary and the known categories of the job's corpus, and what was chosen for its texts."""
    columns = (Encoding.vocabulary, Encoding.categories, Encoding.facts)
    vocabulary, categories, facts = session.execute(select(*columns).where(wanted_by(job))).one()
    return Names(vocabulary, categories, facts and {name: told for name, told in facts.items() if name != SOURCES})
