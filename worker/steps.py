"""Stepwise units: a fixed number of steps, each a pure function of what is before it, kept one by one.

A leg that dies loses the step under way. Atoms that another job has made over the same words are taken as they are.
"""

import hashlib
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from sqlalchemy import update
from sqlalchemy.orm import Session

from app.core.kinds import UNIT_KINDS, UnitKind
from app.core.leases import UnitProgress
from app.core.tables import AtomRun, CalibrationStep, Job, PowerStep
from sampler.archive import CheckpointError
from sampler.calibrated import steps as calibration_steps
from sampler.calibrated.continued import N_CONTINUED_STEPS, calibrates_anew, continued_atom_run, continued_step
from sampler.calibrated.power_test import power_step
from sampler.calibrated.prepared import PreparedCorpus
from sampler.corpus import fingerprint
from sampler.numerics.threads import Threads
from worker import step_rows
from worker.continued import Heritage, heritage_of
from worker.leg import Leg, Stopped
from worker.models import atom_key, calibrated_hyperparameters
from worker.step_rows import Arrays, Key, Table, next_digest
from worker.store import Stored, canonical
from worker.vectors import load_texts

logger = logging.getLogger(__name__)

Result = TypeVar("Result")
INHERITING = (UnitKind.ATOMS, UnitKind.CALIBRATE)  # what their steps find follows from a job that is continued, if any


class Steps(NamedTuple):
    """The steps of a unit."""

    table: Table  # where their results are
    key: Key
    n_steps: int
    given: str  # all that they follow from, as text
    make: Callable[[list[Arrays], Threads], Arrays]  # the next result, from those so far


def atoms(session: Session, job: Job, stored: Stored, heritage: Heritage | None) -> Steps:
    """The runs that find the atoms of a corpus, each by itself; or that carry over those of another job.

    Atoms are of words alone, whether or not there are vectors.
    """
    corpus, hyperparameters, seed = stored.corpus, calibrated_hyperparameters(job), job.settings["seed"]
    prepared = PreparedCorpus(corpus, hyperparameters, seed, stored.vectors, stored.sources)
    key = atom_key(job, stored)

    source = None if heritage is None else heritage.calibrated(session)

    def make(done: list[Arrays], threads: Threads) -> Arrays:
        if source is not None:
            return continued_atom_run(prepared, source, len(done), threads)
        return calibration_steps.atom_run(prepared, len(done), threads)

    from_what = key["options"] if heritage is None else heritage.told()
    given = f"atoms {key['words_digest']} {from_what}"
    return Steps(AtomRun, key, calibration_steps.n_atom_runs(hyperparameters), given, make)


def calibration(session: Session, job: Job, stored: Stored, heritage: Heritage | None) -> Steps:
    """The steps that learn from the labels. Raises CheckpointError if an atom run is damaged."""
    corpus, hyperparameters, seed = stored.corpus, calibrated_hyperparameters(job), job.settings["seed"]
    prepared = PreparedCorpus(corpus, hyperparameters, seed, stored.vectors, stored.sources)
    key = atom_key(job, stored)
    runs = step_rows.read_all(session, AtomRun, key, calibration_steps.n_atom_runs(hyperparameters))

    source = None if heritage is None else heritage.calibrated(session)
    if source is not None and calibrates_anew(source, corpus, prepared.has_vectors):
        source = None
    n_steps = calibration_steps.n_calibration_steps(hyperparameters, prepared.has_vectors)
    if source is not None:
        n_steps = N_CONTINUED_STEPS

    def make(done: list[Arrays], threads: Threads) -> Arrays:
        if source is not None:
            return continued_step(prepared, runs, source, done, len(done), threads)
        return calibration_steps.calibration_step(prepared, runs, done, len(done), threads)

    given = f"calibrate {fingerprint(corpus)} {seed} {canonical(job.settings['calibrated'])}{prepared.mark}"
    given += "" if heritage is None else f" {heritage.told()}"
    return Steps(CalibrationStep, {"job_id": job.id}, n_steps, given, make)


def power_test(session: Session, job: Job, stored: Stored, heritage: Heritage | None) -> Steps:
    """One step a known category, each by itself. Raises CheckpointError if an atom run is damaged."""
    corpus, hyperparameters, seed = stored.corpus, calibrated_hyperparameters(job), job.settings["seed"]
    prepared = PreparedCorpus(corpus, hyperparameters, seed, stored.vectors, stored.sources)
    key = atom_key(job, stored)
    runs = step_rows.read_all(session, AtomRun, key, calibration_steps.n_atom_runs(hyperparameters))

    def make(done: list[Arrays], threads: Threads) -> Arrays:
        return power_step(prepared, runs, len(done), threads)

    given = f"power {fingerprint(corpus)} {seed} {canonical(job.settings['calibrated'])}{prepared.mark}"
    return Steps(PowerStep, {"job_id": job.id}, corpus.n_known, given, make)


STEPS: dict[str, Callable[[Session, Job, Stored, Heritage | None], Steps]] = {
    UnitKind.ATOMS: atoms,
    UnitKind.CALIBRATE: calibration,
    UnitKind.POWER: power_test,
}


def run_steps(leg: Leg) -> list[int]:
    """Take steps from the last one on that is kept, until the leg or the unit is over."""
    stored = load_texts(leg)
    with leg.threads() as threads:
        steps, results = begin(leg, leg.unit.kind, stored, threads)
        digest = digest_of(steps, results)
        first_work_at = time.monotonic()
        if len(results) > leg.unit.n_sweeps:  # another job has been here
            leg.save(progress=UnitProgress(len(results), n_steps=steps.n_steps, digest=digest))
        while len(results) < steps.n_steps:
            result = steps.make(results, threads)
            results.append(result)
            digest = next_digest(digest, result)
            progress = UnitProgress(len(results), n_steps=steps.n_steps, digest=digest)
            goes_on = save_step(leg, steps, results, progress)
            is_over = not goes_on or leg.is_over(first_work_at)
            if is_over and len(results) < steps.n_steps:
                return leg.give_back()
    return leg.end(partial(note_atoms, leg, steps))


def note_atoms(leg: Leg, steps: Steps, session: Session) -> None:
    """Note with the job which atom runs it uses, so that retention knows which ones nobody needs."""
    if steps.table is AtomRun:
        noted = update(Job).where(Job.id == leg.job.id).values(words_digest=steps.key["words_digest"])
        session.execute(noted.execution_options(synchronize_session=False))


def begin(leg: Leg, kind: str, stored: Stored, threads: Threads) -> tuple[Steps, list[Arrays]]:
    """The steps of the job's unit of a kind, and the results of those that are kept. Raises Stopped.

    If what they follow from is damaged, it is computed again.
    """
    heritage = heritage_of(leg, stored) if kind in INHERITING else None

    def read(session: Session) -> tuple[Steps, list[Arrays]]:
        steps = STEPS[kind](session, leg.job, stored, heritage)
        return steps, step_rows.read(session, steps.table, steps.key)[: steps.n_steps]

    return mend(leg, kind, stored, threads, read)


def mend(leg: Leg, kind: str, stored: Stored, threads: Threads, read: Callable[[Session], Result]) -> Result:
    """What is read of the results that a unit of this kind follows from.

    Of those that are damaged or missing, although their steps were done, the steps are done again, to the same bytes.
    Raises Stopped.
    """
    try:
        with leg.database.readers.begin() as session:
            return read(session)
    except CheckpointError as error:
        logger.warning("job %s: what %s is computed from is computed again: %s", leg.job.id, kind, error)
        source = UNIT_KINDS[kind].reads
        if source is None:
            raise
        make_again(leg, source, stored, threads)
    with leg.database.readers.begin() as session:
        return read(session)


def make_again(leg: Leg, kind: str, stored: Stored, threads: Threads) -> None:
    """Do the steps of the job's unit of a kind whose results are missing or damaged. Raises Stopped."""
    steps, results = begin(leg, kind, stored, threads)
    while len(results) < steps.n_steps:
        results.append(steps.make(results, threads))
        if not save_step(leg, steps, results) or leg.must_stop():
            raise Stopped(f"job {leg.job.id}: while steps of {kind} were done again")


def save_step(leg: Leg, steps: Steps, results: Sequence[Arrays], progress: UnitProgress | None = None) -> bool:
    """Save the result of the last step; False if the run is over."""
    number, result = len(results) - 1, results[-1]
    return leg.save(lambda session: step_rows.save(session, steps.table, steps.key, number, result), progress)


def digest_of(steps: Steps, results: Sequence[Arrays]) -> str:
    """The digest after these results, hexadecimal SHA-256, a hash chain from all that they follow from."""
    digest = hashlib.sha256(steps.given.encode()).hexdigest()
    for result in results:
        digest = next_digest(digest, result)
    return digest
