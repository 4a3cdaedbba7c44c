"""The frozen model of a job's results, and its file as rows."""

import hashlib
import uuid
from collections.abc import Iterator
from typing import Any

from sqlalchemy import ColumnElement, delete, insert, select, update
from sqlalchemy.orm import Session

from app.core.tables import MODEL_PIECE_BYTES, FrozenModel, Job, ModelPart
from sampler.frozen import model
from sampler.frozen.freeze import freeze
from sampler.numerics.threads import Threads
from sampler.vectors import Axes
from worker.conclusions import JobConclusion
from worker.models import hyperparameters_of
from worker.results import next_edition
from worker.store import Names, Rows, Stored

PIECES_AT_ONCE = 4  # rows a transaction


def frozen_file(
    job: Job, stored: Stored, vocabulary: list[str], conclusion: JobConclusion, told: dict[str, Any], threads: Threads,
    axes: Axes | None = None,
) -> bytes:  # fmt: skip
    """The file that answers new documents as the job would; empty for a job without a category.

    `axes` are those of the vectors that the job has used, if any.
    """
    if conclusion.judged is None:
        return b""
    hyperparameters, seed = hyperparameters_of(job), job.settings["seed"]
    frozen = freeze(
        stored.texts, stored.marks, conclusion.consensus, conclusion.judged, hyperparameters, seed, threads, axes
    )
    return model.dump(frozen, vocabulary, told)


def facts(job: Job, names: Names, categories: Rows, axes: Axes | None = None) -> dict[str, Any]:
    """What else is needed to answer, and where the model is from."""
    of_vectors = {} if axes is None else {"vector_length": int(axes.mean.size)}
    if axes is not None and job.settings["vectors"] == "made":
        of_vectors["embedding_model"] = job.settings["embedding_model"]
    return {
        "job": job.id,
        "edition": next_edition(job),
        "categories": [{"name": row["name"], "known": row["known"], "id": row.get("short_id")} for row in categories],
        "text": job.settings["text"],
        "texts": names.facts,
        **of_vectors,
    }


def model_id(job: Job) -> str:
    """The id of the model of the results that a conclusion writes: a repeated one writes over what broke off."""
    return str(uuid.uuid5(uuid.UUID(job.id), f"model {next_edition(job)}"))


def begin(session: Session, job: Job, file: bytes, told: dict[str, Any]) -> None:
    """Make the model's row, without a digest: its parts are to follow. What broke off before is taken out."""
    clear(session, job.id, FrozenModel.edition != job.edition)
    session.execute(
        insert(FrozenModel).values(
            id=model_id(job),
            job_id=job.id,
            edition=next_edition(job),
            n_bytes=len(file),
            facts=told,
            owner=job.owner,
        )
    )


def clear_older(session: Session, job_id: str, edition: int) -> None:
    """Take out the models of older results than these."""
    clear(session, job_id, FrozenModel.edition < edition)


def clear(session: Session, job_id: str, is_unread: ColumnElement[bool]) -> None:
    """Take out some models of a job."""
    unread = select(FrozenModel.id).where(FrozenModel.job_id == job_id, is_unread)
    session.execute(delete(ModelPart).where(ModelPart.model_id.in_(unread)))
    session.execute(delete(FrozenModel).where(FrozenModel.id.in_(unread)))


def part_rows(job: Job, file: bytes) -> Iterator[Rows]:
    """Batches of rows of `model_parts`."""
    starts = range(0, len(file), MODEL_PIECE_BYTES)
    pieces = [(number, file[start : start + MODEL_PIECE_BYTES]) for number, start in enumerate(starts)]
    for first in range(0, len(pieces), PIECES_AT_ONCE):
        some = pieces[first : first + PIECES_AT_ONCE]
        yield [{"model_id": model_id(job), "number": number, "data": data} for number, data in some]


def save_parts(session: Session, rows: Rows) -> None:
    """Store a batch of them."""
    session.execute(insert(ModelPart), rows)


def complete(session: Session, job: Job, file: bytes) -> None:
    """Declare the model whole."""
    digest = hashlib.sha256(file).hexdigest()
    session.execute(update(FrozenModel).where(FrozenModel.id == model_id(job)).values(digest=digest))
