"""Rows of stepwise units: what each step found, numbered from 0."""

import hashlib
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.db import upsert
from app.core.tables import AtomRun, CalibrationStep, PowerStep, VectorStep
from sampler.archive import CheckpointError, pack, unpack
from sampler.corpus import Array

logger = logging.getLogger(__name__)

Arrays = dict[str, Array]
Table = type[AtomRun] | type[CalibrationStep] | type[PowerStep] | type[VectorStep]
Key = Mapping[str, Any]  # the columns of a table's key but for `number`, and their values


class Form(NamedTuple):
    """How a table keeps a result in its column `data`, and how it comes back."""

    keep: Callable[[Arrays], Any]
    take: Callable[[Any], Arrays]  # raises CheckpointError


CHECKED_BYTES = Form(partial(pack, {}), lambda data: unpack(data)[1])
# Scalars that HTTP tells of: as JSON, which the app can read.
SCALARS = Form(
    lambda result: {name: value.item() for name, value in result.items()},
    lambda data: {name: np.asarray(value) for name, value in data.items()},
)
FORMS: dict[Table, Form] = {
    VectorStep: CHECKED_BYTES,
    AtomRun: CHECKED_BYTES,
    CalibrationStep: CHECKED_BYTES,
    PowerStep: SCALARS,
}


def read(session: Session, table: Table, key: Key) -> list[Arrays]:
    """The results of the first steps, up to the first one that is missing or damaged."""
    results: list[Arrays] = []
    rows = select(table.number, table.data).filter_by(**key).order_by(table.number)
    for number, data in session.execute(rows):
        if number != len(results):
            break
        try:
            results.append(FORMS[table].take(data))
        except CheckpointError as error:
            logger.warning("%s %d is skipped: %s", table.__tablename__, number, error)
            break
    return results


def read_all(session: Session, table: Table, key: Key, n_steps: int) -> list[Arrays]:
    """The results of all steps. Raises CheckpointError if one is missing or damaged."""
    results = read(session, table, key)
    if len(results) < n_steps:
        raise CheckpointError(f"{table.__tablename__} {len(results)} of {n_steps} is missing or damaged")
    return results


def next_digest(digest: str, result: Arrays) -> str:
    """The digest after one more result, hexadecimal SHA-256: a hash chain."""
    hashed = hashlib.sha256(digest.encode())
    for name, array in sorted(result.items()):
        hashed.update(f"{name} {array.dtype.str} {array.shape}".encode())
        hashed.update(array.tobytes())
    return hashed.hexdigest()


def save(session: Session, table: Table, key: Key, number: int, result: Arrays) -> None:
    """Store what a step found.

    Two jobs may make the same atoms at once: they are the same bytes, so whoever comes last may write over them,
    as over a damaged row.
    """
    made = upsert(session, table).values(**key, number=number, data=FORMS[table].keep(result))
    columns = [getattr(table, name) for name in (*key, "number")]
    session.execute(made.on_conflict_do_update(index_elements=columns, set_={"data": made.excluded.data}))
