"""One leg of one unit: encode, chain or conclude. Knows SQL and the sampler, not Celery."""

import logging
import secrets
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.orm import Session

from app import leases
from app.db import Database
from app.errors import LeaseLost
from app.models import Job, Unit
from app.settings import Settings
from sampler import chain, consensus, text
from sampler.corpus import Corpus
from sampler.workers import Workers
from worker import encodings, store
from worker.corpus_files import CorpusFiles
from worker.encodings import Draft
from worker.heartbeat import Heartbeat
from worker.store import Rows, Stopped

logger = logging.getLogger(__name__)

TOP_WORDS = 10

Result = TypeVar("Result")
AWAY = (OperationalError, InterfaceError)  # the database does not answer, is locked, or its disk is full


class Leg(NamedTuple):
    """What the work of a leg needs to know."""

    database: Database
    settings: Settings
    unit: Unit
    job: Job
    leaving: Callable[[], bool]  # asked between sweeps: the worker is to end
    lease_is_lost: Callable[[], bool]  # asked between sweeps: lost, or the job has ended

    @property
    def token(self) -> str:
        """What every write of this leg carries."""
        return str(self.unit.token)

    @property
    def files(self) -> CorpusFiles:
        """Where this host keeps encoded corpora."""
        return CorpusFiles(self.settings.encodings, self.settings.max_encodings_bytes)

    def must_stop(self) -> bool:
        """Whether this sweep is to be the last one."""
        return self.leaving() or self.lease_is_lost()

    def write(self, work: Callable[[Session], Result]) -> Result:
        """Do the work in one transaction, again and again while the database is away or its disk is full.

        The fence decides whether it may still be done by then: what another leg has taken over raises LeaseLost.
        """
        while True:
            try:
                with self.database.sessions.begin() as session:
                    return work(session)
            except AWAY as error:
                if self.leaving():
                    raise
                logger.warning("job %s: nothing can be saved, trying again: %s", self.job.id, error.orig)
                time.sleep(self.settings.save_seconds)

    def saved(self, session: Session, **progress: Any) -> bool:
        """Fence a write and note the progress; False if the job is over."""
        nothing = {"n_sweeps": self.unit.n_sweeps, "n_categories": None, "sweeps_per_second": None}
        return leases.saved(session, self.unit.id, self.token, self.settings.lease_seconds, **(nothing | progress))

    def finish(self, session: Session) -> list[int]:
        """End the unit; returns the units to send."""
        return leases.finish(session, self.unit.id, self.token)

    def release(self, session: Session) -> list[int]:
        """End the leg before its unit is done; returns the unit, to be sent again, if its job goes on."""
        return [self.unit.id] if leases.release(session, self.unit.id, self.token) else []

    def fail(self, session: Session, error: Exception) -> None:
        """Fail the job with the reason."""
        reason = f"{self.unit.kind}: {type(error).__name__}: {error}"
        leases.fail(session, self.unit.id, self.token, reason)


def run(database: Database, settings: Settings, unit_id: int, leaving: Callable[[], bool]) -> list[int]:
    """Run one leg of the unit; returns the ids of the units to send next.

    Nothing happens if another leg holds the unit or its job is over. An error of the work itself fails the
    job. If the database is away at the start, the lease runs out and the unit is sent again.
    """
    token = secrets.token_hex(16)
    try:
        with database.sessions.begin() as session:
            unit = leases.claim(session, unit_id, token, settings.lease_seconds)
            if unit is None:
                return []
            job = session.get_one(Job, unit.job_id)
        logger.info("job %s: %s %s begins a leg", job.id, unit.kind, "" if unit.chain is None else unit.chain)
        with Heartbeat(database, settings, unit_id, token) as heartbeat:
            return work_on(Leg(database, settings, unit, job, leaving, heartbeat.lease_is_lost))
    except AWAY:
        logger.exception("unit %d: the database is away; the unit waits to be sent again", unit_id)
        return []


def work_on(leg: Leg) -> list[int]:
    """Do the unit's kind of work, and end the leg properly whatever becomes of it."""
    try:
        return WORK[leg.unit.kind](leg)
    except LeaseLost as error:
        logger.info("job %s: %s", leg.job.id, error)
        return leg.write(leg.release)  # a job that has ended left the lease in our hands
    except AWAY:
        raise
    except Exception as error:
        logger.exception("job %s: %s failed", leg.job.id, leg.unit.kind)
        reason = error
        leg.write(lambda session: leg.fail(session, reason))
        return []


def encode(leg: Leg) -> list[int]:
    """Turn the corpus version into token arrays, unless an earlier job has done so under the same options."""
    with leg.database.readers.begin() as session:
        is_there = encodings.find(session, leg.job) is not None
    try:
        if not is_there:
            store_encoding(leg, encoded_documents(leg))
    except Stopped as stop:
        logger.info("%s", stop)
        return leg.write(leg.release)
    return leg.write(partial(save_encode, leg))


def encoded_documents(leg: Leg) -> Draft:
    """The encoded corpus version. Raises Stopped."""
    with leg.database.readers.begin() as session:
        documents = store.Documents(session, leg.job, leg.must_stop)
        encoded = text.encode(documents.texts(), documents.labels, store.text_options(leg.job))
    return encodings.draft(encoded, documents.ids)


def store_encoding(leg: Leg, draft: Draft) -> None:
    """Save the encoded corpus, in transactions that let others in between. Raises Stopped."""
    encoding_id = leg.write(partial(begin_encoding, leg, draft))
    for rows in encodings.part_rows(encoding_id, draft):
        goes_on = leg.write(partial(save_parts, leg, rows))
        if not goes_on or leg.must_stop():
            raise Stopped(f"job {leg.job.id}: after part {rows[-1]['number']} of the encoding")
    leg.write(partial(complete_encoding, leg, encoding_id, draft))


def begin_encoding(leg: Leg, draft: Draft, session: Session) -> int:
    """Make the encoding's row; returns its id."""
    leg.saved(session)
    return encodings.begin(session, leg.job, draft)


def save_parts(leg: Leg, rows: Rows, session: Session) -> bool:
    """Save some parts; False if the job is over."""
    goes_on = leg.saved(session)
    encodings.save_parts(session, rows)
    return goes_on


def complete_encoding(leg: Leg, encoding_id: int, draft: Draft, session: Session) -> None:
    """Declare the encoding whole."""
    leg.saved(session)
    encodings.complete(session, encoding_id, draft)


def save_encode(leg: Leg, session: Session) -> list[int]:
    """Point the job to its encoding; returns the units of its chains."""
    next_units = leg.finish(session)
    encodings.point_to(session, leg.job)
    return next_units


def run_chain(leg: Leg) -> list[int]:
    """Sweep from the last checkpoint on, saving every few seconds, until the leg or the chain is over."""
    with leg.database.readers.begin() as session:
        corpus = encodings.load(session, leg.job, leg.files).corpus
        state = store.load_state(session, leg.job, leg.unit, corpus)
    state = state or first_state(leg, corpus, leg.unit)
    end = time.monotonic() + leg.settings.leg_seconds
    with Workers(leg.settings.threads) as workers:
        while state.n_sweeps < leg.job.settings["sweeps"]:
            began = time.monotonic()
            draws = stretch(leg, corpus, state, workers)
            rate = len(draws) / max(time.monotonic() - began, 1e-9)
            goes_on = leg.write(partial(save_chain, leg, corpus, state, draws, rate))
            is_over = not goes_on or leg.must_stop() or time.monotonic() > end
            if is_over and state.n_sweeps < leg.job.settings["sweeps"]:
                return leg.write(leg.release)
    return leg.write(leg.finish)


def first_state(leg: Leg, corpus: Corpus, unit: Unit) -> chain.State:
    """The state of a chain before its first sweep."""
    seed, number = leg.job.settings["seed"], int(unit.chain or 0)
    return chain.start(corpus, store.hyperparameters(leg.job), seed, number, store.kernel(leg.job))


def stretch(leg: Leg, corpus: Corpus, state: chain.State, workers: Workers) -> list[chain.Draw]:
    """Sweep until it is time to save, at least once."""
    draws: list[chain.Draw] = []
    until = time.monotonic() + leg.settings.save_seconds
    while not draws or (
        state.n_sweeps < leg.job.settings["sweeps"] and time.monotonic() < until and not leg.must_stop()
    ):
        draws.append(sweep(leg, corpus, state, workers))
    return draws


def sweep(leg: Leg, corpus: Corpus, state: chain.State, workers: Workers) -> chain.Draw:
    """One sweep; past the burn-in the draw is kept in the tally."""
    draw = chain.sweep(corpus, store.hyperparameters(leg.job), state, workers)
    if state.n_sweeps > leg.job.settings["burn_in"]:
        chain.keep(corpus, state)
    return draw


def save_chain(
    leg: Leg, corpus: Corpus, state: chain.State, draws: list[chain.Draw], rate: float, session: Session
) -> bool:
    """Save draws and the state that they lead to; False if the job is over."""
    goes_on = leg.saved(
        session,
        n_sweeps=state.n_sweeps,
        n_categories=draws[-1].n_categories,
        sweeps_per_second=rate,
        digest=state.digest,
    )
    store.save_chain(session, leg.unit, corpus, state, draws)
    return goes_on


def conclude(leg: Leg) -> list[int]:
    """Write one row a document and one a category from the chain with the highest mean log joint.

    If that chain's last checkpoint is damaged, its missing sweeps are done again, with the same draws.
    """
    with leg.database.readers.begin() as session:
        stored = encodings.load(session, leg.job, leg.files)
        corpus, names = stored.corpus, encodings.names(session, leg.job)
        best = store.best_chain(session, leg.job)
        unit = store.chain_unit(session, leg.job, best)
        state = store.load_state(session, leg.job, unit, corpus)
    state = state or first_state(leg, corpus, unit)
    with Workers(leg.settings.threads) as workers:
        while state.n_sweeps < leg.job.settings["sweeps"]:
            sweep(leg, corpus, state, workers)
    answers = consensus.conclude(corpus, state.tally)
    words = consensus.top_words(corpus, answers, TOP_WORDS)
    categories = store.category_rows(leg.job, corpus, names, answers, words)
    leg.write(partial(clear_results, leg))
    for rows in store.answer_rows(leg.job, stored, answers):
        leg.write(partial(save_answers, leg, rows))
    return leg.write(partial(save_summary, leg, best, categories))


def clear_results(leg: Leg, session: Session) -> None:
    """Take out what an unfinished conclusion wrote, or the one before the job was extended."""
    leg.saved(session)
    store.clear_results(session, leg.job)


def save_answers(leg: Leg, rows: Rows, session: Session) -> None:
    """Save a batch of answers."""
    leg.saved(session)
    store.save_answers(session, rows)


def save_summary(leg: Leg, best: int, categories: Rows, session: Session) -> list[int]:
    """Save the categories and the posteriors; with them the job has succeeded."""
    next_units = leg.finish(session)
    store.save_summary(session, leg.job, best, categories)
    return next_units


WORK: dict[str, Callable[[Leg], list[int]]] = {
    "encode": encode,
    "chain": run_chain,
    "conclude": conclude,
}
