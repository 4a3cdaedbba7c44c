"""What a job that continues another one has of it: how the corpora go together, and where its chains stand."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy.orm import Session

from app.core.tables import AtomRun, Job
from sampler.calibrated import continued
from sampler.calibrated import steps as calibration_steps
from sampler.carried import ABSENT, Carried
from sampler.corpus import Array, fingerprint
from worker import encodings, models, step_rows, store
from worker.encode import load_corpus, source_of
from worker.leg import Leg
from worker.models import Model, atom_key, calibrated_hyperparameters
from worker.store import Names, Stored

logger = logging.getLogger(__name__)


class Heritage(NamedTuple):
    """What a job has of the one that it continues."""

    source: Job
    carried: Carried
    before: Stored  # the texts that the source had

    def told(self) -> str:
        """All that follows from it, as text."""
        return f"continued {fingerprint(self.carried.source)} {self.source.settings['seed']} {self.carried.digest()}"

    def calibrated(self, session: Session) -> continued.Source:
        """What calibration goes on from. Raises CheckpointError if it is damaged."""
        source = self.source
        hyperparameters = calibrated_hyperparameters(source)
        key = atom_key(source, self.before)
        runs = step_rows.read_all(session, AtomRun, key, calibration_steps.n_atom_runs(hyperparameters))
        done = models.calibration_steps(session, source)
        return continued.Source(self.carried, source.settings["seed"], runs, done)


def heritage_of(leg: Leg, stored: Stored) -> Heritage | None:
    """What the leg's job has of another one; None if it continues none. Raises SourceGone, Stopped."""
    if leg.job.continues is None:
        return None
    with leg.database.readers.begin() as session:
        source = source_of(session, leg.job)
        names = encodings.names(session, leg.job)
    before = load_corpus(replace(leg, job=source))
    with leg.database.readers.begin() as session:
        names_before = encodings.names(session, source)
    carried = Carried(
        before.corpus,
        texts_before(stored, before),
        indices_in(names_before.vocabulary, names.vocabulary),
        indices_in(labels_now(leg.job, names_before), names.categories),
    )
    return Heritage(source, carried, before)


def texts_before(stored: Stored, before: Stored) -> Array:
    """int32[T]: the earlier text that each text is, by the first document that both have; ABSENT for an arrival."""
    order = np.argsort(before.document_ids)
    ids = before.document_ids[order]
    place = np.minimum(np.searchsorted(ids, stored.document_ids), max(ids.size - 1, 0))
    there = np.flatnonzero(ids[place] == stored.document_ids)[::-1] if ids.size else np.empty(0, np.int64)
    found = np.full(stored.corpus.n_documents, ABSENT, np.int32)
    found[stored.texts.text_of[there]] = before.texts.text_of[order[place[there]]]  # what is written last stays
    return found


def labels_now(job: Job, before: Names) -> list[str]:
    """What the known categories of before are called now."""
    names = (job.continued or {}).get("names", {})
    return [names.get(name, name) for name in before.categories]


def indices_in(before: Sequence[str], now: Sequence[str]) -> Array:
    """int32: the index of each name among those of now, or ABSENT."""
    index = {name: number for number, name in enumerate(now)}
    return np.array([index.get(name, ABSENT) for name in before], np.int32)


def begin(leg: Leg, model: Model[Any], stored: Stored, number: int) -> Any:
    """A chain before its first sweep: where the same chain of the job that is continued stands, or at a start."""
    heritage = heritage_of(leg, stored)
    if heritage is None:
        return model.start(number)
    with leg.database.readers.begin() as session:
        [unit] = store.chain_units(session, heritage.source, number)
    go_on = partial(model.go_on, number, heritage.carried)
    state = store.newest_sound(leg.database.readers, unit, go_on)
    if state is not None:
        return state
    logger.warning("job %s: chain %d begins anew: no checkpoint to go on from is sound", leg.job.id, number)
    return model.start(number)
