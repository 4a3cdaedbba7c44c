"""One leg of one unit: encode, chain or conclude. Knows SQL and the sampler, not Celery."""

import logging
import secrets
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from app import lifecycle
from app.db import Database
from app.errors import LeaseLost
from app.models import Job, Unit
from app.settings import Settings
from sampler import chain, consensus, text
from sampler.corpus import Corpus
from sampler.hyperparameters import Hyperparameters
from worker import store
from worker.heartbeat import Heartbeat
from worker.store import Stored

logger = logging.getLogger(__name__)

TOP_WORDS = 10


class Leg(NamedTuple):
    """What the work of a leg needs to know."""

    database: Database
    settings: Settings
    unit: Unit
    job: Job
    must_stop: Callable[[], bool]  # asked between sweeps: the lease is lost, the job over or the worker leaving

    def saved(
        self, session: Session, n_sweeps: int = 0, n_categories: int | None = None, rate: float | None = None
    ) -> bool:
        """Fence a write and note the progress; False if the job is over."""
        token, seconds = str(self.unit.token), self.settings.lease_seconds
        return lifecycle.saved(session, self.unit.id, token, seconds, n_sweeps, n_categories, rate)

    def finish(self, session: Session) -> list[int]:
        """End the unit; returns the units to send."""
        return lifecycle.finish(session, self.unit.id, str(self.unit.token))


def run(database: Database, settings: Settings, unit_id: int, leaving: Callable[[], bool]) -> list[int]:
    """Run one leg of the unit; returns the ids of the units to send next.

    Nothing happens if another leg holds the unit or its job is over. An error of the work itself fails the
    job; without the database nothing can be said, and the lease runs out.
    """
    token = secrets.token_hex(16)
    with database.sessions.begin() as session:
        unit = lifecycle.claim(session, unit_id, token, settings.lease_seconds)
        if unit is None:
            return []
        job = session.get_one(Job, unit.job_id)
    logger.info("job %s: %s %s begins a leg", job.id, unit.kind, "" if unit.chain is None else unit.chain)
    try:
        with Heartbeat(database, settings, unit_id, token) as heartbeat:
            leg = Leg(database, settings, unit, job, lambda: leaving() or heartbeat.lease_is_lost())
            return WORK[unit.kind](leg)
    except LeaseLost as error:
        logger.info("job %s: %s", job.id, error)
        with database.sessions.begin() as session:
            lifecycle.release(session, unit_id, token)  # a job that has ended left the lease in our hands
    except DBAPIError:
        logger.exception("job %s: the database is away; the unit waits for its lease to run out", job.id)
    except Exception as error:
        logger.exception("job %s: %s failed", job.id, unit.kind)
        with database.sessions.begin() as session:
            lifecycle.fail(session, unit_id, token, f"{unit.kind}: {type(error).__name__}: {error}")
    return []


def encode(leg: Leg) -> list[int]:
    """Turn the corpus version into token arrays, unless an earlier job has done so under the same options."""
    with leg.database.readers.begin() as session:
        encoding_id = store.find_encoding(session, leg.job)
        if encoding_id is None:
            documents = store.Documents(session, leg.job)
            encoded = text.encode(documents.texts(), documents.labels, store.text_options(leg.job))
            stored = Stored(encoded, np.array(documents.ids, np.int64))
    with leg.database.sessions.begin() as session:
        leg.saved(session)
        if encoding_id is None:
            store.save_encoding(session, leg.job, stored)
        else:
            store.point_to_encoding(session, leg.job)
        return leg.finish(session)


def run_chain(leg: Leg) -> list[int]:
    """Sweep from the last checkpoint on, saving every few seconds, until the leg or the chain is over."""
    hyperparameters = store.hyperparameters(leg.job)
    with leg.database.readers.begin() as session:
        corpus = store.load_encoding(session, leg.job).encoded.corpus
        state = store.load_state(session, leg.job, leg.unit, corpus)
    if state is None:
        state = chain.start(corpus, hyperparameters, leg.job.settings["seed"], int(leg.unit.chain or 0))
    end = time.monotonic() + leg.settings.leg_seconds
    while state.n_sweeps < leg.job.settings["sweeps"]:
        began = time.monotonic()
        draws = stretch(leg, corpus, hyperparameters, state)
        rate = len(draws) / max(time.monotonic() - began, 1e-9)
        with leg.database.sessions.begin() as session:
            goes_on = leg.saved(session, state.n_sweeps, draws[-1].n_categories, rate)
            store.save_chain(session, leg.unit, corpus, state, draws)
        is_over = not goes_on or leg.must_stop() or time.monotonic() > end
        if is_over and state.n_sweeps < leg.job.settings["sweeps"]:
            return released(leg)
    with leg.database.sessions.begin() as session:
        return leg.finish(session)


def stretch(leg: Leg, corpus: Corpus, hyperparameters: Hyperparameters, state: chain.State) -> list[chain.Draw]:
    """Sweep until it is time to save, at least once; past the burn-in the draws are kept in the tally."""
    settings = leg.job.settings
    draws: list[chain.Draw] = []
    until = time.monotonic() + leg.settings.save_seconds
    while not draws or (state.n_sweeps < settings["sweeps"] and time.monotonic() < until and not leg.must_stop()):
        draws.append(chain.sweep(corpus, hyperparameters, state))
        if state.n_sweeps > settings["burn_in"]:
            chain.keep(corpus, state)
    return draws


def released(leg: Leg) -> list[int]:
    """End the leg before its unit is done; the unit is to be sent again if its job goes on."""
    with leg.database.sessions.begin() as session:
        sent_again = lifecycle.release(session, leg.unit.id, str(leg.unit.token))
    return [leg.unit.id] if sent_again else []


def conclude(leg: Leg) -> list[int]:
    """Write one row a document and one a category from the chain with the highest mean log joint."""
    with leg.database.readers.begin() as session:
        stored = store.load_encoding(session, leg.job)
        corpus = stored.encoded.corpus
        best = store.best_chain(session, leg.job)
        state = store.load_state(session, leg.job, store.chain_unit(session, leg.job, best), corpus)
    if state is None:
        raise ValueError(f"chain {best} has no sound checkpoint left")
    answers = consensus.conclude(corpus, state.tally)
    words = consensus.top_words(corpus, answers, TOP_WORDS)
    with leg.database.sessions.begin() as session:
        leg.saved(session)
        store.clear_answers(session, leg.job)
    for rows in store.answer_rows(leg.job, stored, answers):
        with leg.database.sessions.begin() as session:
            leg.saved(session)
            store.save_answers(session, rows)
    with leg.database.sessions.begin() as session:
        store.save_summary(session, leg.job, best, store.category_rows(leg.job, stored, answers, words))
        return leg.finish(session)


WORK: dict[str, Callable[[Leg], list[int]]] = {
    "encode": encode,
    "chain": run_chain,
    "conclude": conclude,
}
