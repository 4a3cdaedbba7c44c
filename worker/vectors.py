"""The unit `vectors`: makes the vectors that are missing, finds the axes along which vectors differ, and projects them.

Everything is saved piece by piece, so that a leg that dies loses the piece under way. Vectors of documents are kept
with the corpus, for all jobs with the same model; axes and projections with the encoding. The same vectors and the same
encoding give the same bytes: what is damaged is made again.
"""

import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from sqlalchemy.orm import Session
from threadpoolctl import ThreadpoolController

from app.core.embedding_models import embedding_digest, embedding_model, waits_for
from app.core.kinds import BROUGHT, vectors_made_by
from app.core.leases import UnitProgress
from app.core.tables import Job, VectorStep
from app.core.vectors import NUMBER_BYTES
from embedding.model import EmbeddingModel
from sampler.archive import CheckpointError
from sampler.corpus import Array
from sampler.vectors import Axes, axes_of, no_moments, projected, with_vectors
from worker import document_vectors, step_rows
from worker.document_vectors import AT_ONCE, in_blocks, length_of, made_by
from worker.encode import load_corpus
from worker.leg import Leg, Stopped, nothing
from worker.linear_algebra import one_thread
from worker.step_rows import Arrays, Key, next_digest
from worker.store import Stored

logger = logging.getLogger(__name__)

BLOCK_DOCUMENTS = 256  # whose vectors are made and saved at once
PIECE_TEXTS = 2**16  # of a step: its result is about 8 MB
NO_VECTOR = Axes(np.zeros(0), np.zeros((0, 0)))  # of texts of which none has a vector


class Saved(NamedTuple):
    """One more piece of a unit's work is saved."""

    progress: UnitProgress
    goes_on: bool  # whether the run is live

    @property
    def is_last(self) -> bool:
        """Whether the unit's work is done."""
        return self.progress.n_sweeps == self.progress.n_steps


class Saving(NamedTuple):
    """How pieces of work are saved."""

    leg: Leg
    n_pieces: int
    is_own: bool  # the leg is one of the unit `vectors`, whose progress it is

    def save(self, write: Callable[[Session], object], n_done: int, digest: str | None = None) -> Saved:
        """Save one more piece."""
        progress = UnitProgress(n_done, n_steps=self.n_pieces, digest=digest)
        return Saved(progress, self.leg.save(write, progress if self.is_own else None))


def run_vectors(leg: Leg) -> list[int]:
    """Make what is missing, until the leg or the unit is over."""
    there = look(leg, load_corpus(leg))
    first_work_at = time.monotonic()
    for saved in work(leg, there, is_own=True):
        if not saved.is_last and (not saved.goes_on or leg.is_over(first_work_at)):
            return leg.give_back()
    return leg.end()


def load_texts(leg: Leg) -> Stored:
    """The corpus of the leg's job, with the vectors of its texts if it uses any. Raises Stopped."""
    stored = load_corpus(leg)
    return stored._replace(vectors=vectors_of(leg, stored))


def vectors_of(leg: Leg, stored: Stored) -> Array | None:
    """What `load_vectors` reads; what is damaged or missing there is made again first. Raises Stopped."""
    try:
        with leg.database.readers.begin() as session:
            return load_vectors(session, leg.job, stored)
    except CheckpointError as error:
        logger.warning("job %s: vectors are prepared again: %s", leg.job.id, error)
    make_again(leg, stored)
    with leg.database.readers.begin() as session:
        return load_vectors(session, leg.job, stored)


def make_again(leg: Leg, stored: Stored) -> None:
    """Make what is damaged or missing of the job's vectors, in the leg of another unit. Raises Stopped."""
    for saved in work(leg, look(leg, stored), is_own=False):
        if not saved.is_last and (not saved.goes_on or leg.must_stop()):
            raise Stopped(f"job {leg.job.id}: while its vectors were prepared again")


def load_vectors(session: Session, job: Job, stored: Stored) -> Array | None:
    """float32[T, p], p = N_AXES or the length of vectors if that is less: the projected vectors of a job's texts.

    None if the job uses no vectors, or none of its texts has one. Raises CheckpointError if something is damaged.
    """
    if vectors_made_by(job.settings) is None:
        return None
    n_texts = stored.corpus.n_documents
    [_, *pieces] = step_rows.read_all(session, VectorStep, key_of(job), n_steps(n_texts))
    vectors = np.concatenate([piece["projected"] for piece in pieces], dtype=np.float32)
    if vectors.shape[0] != n_texts:
        raise CheckpointError(f"there are vectors of {vectors.shape[0]} texts, not of {n_texts}")
    return vectors if vectors.shape[1] > 0 else None


def load_axes(session: Session, job: Job) -> Axes:
    """How vectors of documents become places along axes. Raises CheckpointError if they are damaged or missing."""
    [first] = step_rows.read_all(session, VectorStep, {**key_of(job), "number": 0}, 1)
    return Axes(**first)


def key_of(job: Job) -> Key:
    """Where the job's steps are."""
    return {"encoding_id": job.encoding_id, "made_by": made_by(job)}


def n_steps(n_texts: int) -> int:
    """The axes, and the pieces of projected vectors."""
    return 1 + -(-n_texts // PIECE_TEXTS)


class There(NamedTuple):
    """Which vectors there are when a leg begins."""

    sources: Array  # int64[T], see `document_vectors.sources`
    to_make: Array  # int64: the documents whose vectors this service makes, in the order of texts
    n_bytes: Array  # int64, of their vectors; 0 for one that is missing
    length: int  # numbers of a vector that is there; 0 if there is none


def look(leg: Leg, stored: Stored) -> There:
    """Which vectors there are."""
    with leg.database.readers.begin() as session:
        sources = document_vectors.sources(session, leg.job, stored)
        wanted = sources[sources > 0]
        if made_by(leg.job) == BROUGHT:  # all are there, and of one length
            some = document_vectors.sizes(session, leg.job, wanted[:AT_ONCE])
            return There(sources, wanted[:0], some[:0], length_of(some))
        n_bytes = document_vectors.sizes(session, leg.job, wanted)
        return There(sources, wanted, n_bytes, length_of(n_bytes))


def work(leg: Leg, there: There, *, is_own: bool) -> Iterator[Saved]:
    """Do what is missing of the unit's work, and tell after each piece; that is noted as progress in its own leg.

    Blocks of documents come first, then the steps; those that were there are counted as they are passed.
    """
    n_blocks, length = -(-there.to_make.size // BLOCK_DOCUMENTS), there.length
    saving = Saving(leg, n_blocks + n_steps(there.sources.size), is_own)
    if n_blocks > 0 and (length == 0 or (there.n_bytes != length * NUMBER_BYTES).any()):
        model = model_for(leg, made_by(leg.job))
        length = model.length
        is_missing = there.n_bytes != length * NUMBER_BYTES
        for number, block in enumerate(in_blocks(there.to_make.size, BLOCK_DOCUMENTS)):
            missing = there.to_make[block][is_missing[block]]
            if missing.size > 0:
                made = embedded(leg, model, missing)
                block_of = partial(document_vectors.save, digest=model.digest, vectors=made)
                yield saving.save(block_of, number + 1)
    yield from take_steps(Rows(leg, there.sources, length), n_blocks, saving)


def model_for(leg: Leg, digest: str) -> EmbeddingModel:
    """The model with this digest; a worker that has another one, or none, waits until it has it. Raises Stopped.

    Seldom: such a worker claims no unit that makes vectors, but may have to make damaged ones again.
    """
    while embedding_digest(leg.settings) != digest or (model := embedding_model(leg.settings)) is None:
        if leg.must_stop():
            raise Stopped(f"job {leg.job.id}: while it waited for its embedding model")
        leg.wait(waits_for(digest))
    return model


def embedded(leg: Leg, model: EmbeddingModel, document_ids: Array) -> dict[int, Array]:
    """Vectors of some documents, by id. Raises Stopped."""
    with leg.database.readers.begin() as session:
        texts = document_vectors.texts_of(session, document_ids, model.n_characters)
    vectors = model.embed(texts, lambda: check(leg))
    return dict(zip(document_ids.tolist(), vectors, strict=True))


def check(leg: Leg) -> None:
    """Raise Stopped if the leg has to end now: what is under way is lost, and made by the next one."""
    if leg.heartbeat.flag[0]:
        raise Stopped(f"job {leg.job.id}: while its vectors were prepared")


class Rows(NamedTuple):
    """The vectors of all texts, as rows of the database."""

    leg: Leg
    sources: Array  # int64[T], see `document_vectors.sources`
    length: int

    def blocks(self, places: slice) -> Iterator[Array]:
        """float16[m, n], of consecutive texts. Raises Stopped; CheckpointError if one is missing or damaged."""
        some = self.sources[places]
        for block in in_blocks(some.size, AT_ONCE):
            check(self.leg)
            with self.leg.database.readers.begin() as session:
                vectors = document_vectors.read(session, self.leg.job, some[block], self.length)
            yield vectors


def take_steps(rows: Rows, n_before: int, saving: Saving) -> Iterator[Saved]:
    """Take the steps that are missing or damaged, and tell after each; `n_before` pieces of work came before."""
    key, wanted = key_of(rows.leg.job), n_steps(rows.sources.size)
    with rows.leg.database.readers.begin() as session:
        results = step_rows.read(session, VectorStep, key)[:wanted]
    digest = hashlib.sha256(f"vectors {made_by(rows.leg.job)}".encode()).hexdigest()
    for result in results:
        digest = next_digest(digest, result)
    if len(results) == wanted:  # another job has been here
        yield saving.save(nothing, n_before + wanted, digest)
    while len(results) < wanted:
        result = found_axes(rows) if not results else found_piece(rows, Axes(**results[0]), len(results) - 1)
        digest = next_digest(digest, result)
        step = partial(step_rows.save, table=VectorStep, key=key, number=len(results), result=result)
        results.append(result)
        yield saving.save(step, n_before + len(results), digest)


def found_axes(rows: Rows) -> Arrays:
    """The axes along which the vectors of all texts differ most."""
    if rows.length == 0:
        return NO_VECTOR._asdict()
    moments = no_moments(rows.length)
    with one_thread(ThreadpoolController()):
        for vectors in rows.blocks(slice(None)):
            moments = with_vectors(moments, vectors)
        return axes_of(moments)._asdict()


def found_piece(rows: Rows, axes: Axes, number: int) -> Arrays:
    """The projected vectors of some texts."""
    places = slice(number * PIECE_TEXTS, (number + 1) * PIECE_TEXTS)
    with one_thread(ThreadpoolController()):
        return {"projected": np.concatenate([projected(vectors, axes) for vectors in rows.blocks(places)])}
