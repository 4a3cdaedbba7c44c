"""Legs of units: encode, chain or conclude. Knows SQL and the sampler, not Celery; steps has the stepwise ones."""

import logging
import secrets
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from sqlalchemy.orm import Session

from app import leases
from app.db import Database
from app.errors import LeaseLost
from app.models import Answer, Audit, Job, Topic, Unit
from app.settings import Settings
from sampler import consensus, text
from sampler.checkpoint import CheckpointError
from sampler.workers import Workers
from worker import encodings, results, store, topics
from worker.encodings import Draft
from worker.heartbeat import Heartbeat
from worker.leg import AWAY, Leg
from worker.models import ChainState, Model, model_of
from worker.steps import run_steps
from worker.store import NewDraw, Rows, Stopped

logger = logging.getLogger(__name__)

TOP_WORDS = 10


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
    """Point the job to its encoding; returns the units that are ready now."""
    next_units = leg.finish(session)
    encodings.point_to(session, leg.job)
    return next_units


def run_chain(leg: Leg) -> list[int]:
    """Sweep from the last checkpoint on, saving every few seconds, until the leg or the chain is over."""
    with leg.database.readers.begin() as session:
        corpus = encodings.load(session, leg.job, leg.files).corpus
        model = model_of(session, leg.job, corpus)
    end = time.monotonic() + leg.settings.leg_seconds
    with Workers(leg.settings.threads) as workers:
        state = restored(leg, model, leg.unit, workers)
        while state.n_sweeps < leg.job.settings["sweeps"]:
            began = time.monotonic()
            draws = stretch(leg, model, state, workers)
            rate = len(draws) / max(time.monotonic() - began, 1e-9)
            goes_on = leg.write(partial(save_chain, leg, state, model.dump(state), draws, rate))
            is_over = not goes_on or leg.must_stop() or time.monotonic() > end
            if is_over and state.n_sweeps < leg.job.settings["sweeps"]:
                return leg.write(leg.release)
    return leg.write(leg.finish)


def restored(leg: Leg, model: Model[Any], unit: Unit, workers: Workers) -> Any:
    """A chain as its newest sound checkpoint has it, or before its first sweep if there is none."""
    before: int | None = None
    while True:
        with leg.database.readers.begin() as session:
            found = store.newest_checkpoint(session, unit, before)
        if found is None:
            return model.start(int(unit.chain or 0), workers)
        try:
            return model.load(found.data)
        except CheckpointError as error:
            logger.warning("unit %d: checkpoint %d is passed over: %s", unit.id, found.id, error)
        before = found.id


def stretch(leg: Leg, model: Model[Any], state: ChainState, workers: Workers) -> list[NewDraw]:
    """Sweep until it is time to save, at least once."""
    draws: list[NewDraw] = []
    until = time.monotonic() + leg.settings.save_seconds
    while not draws or (
        state.n_sweeps < leg.job.settings["sweeps"] and time.monotonic() < until and not leg.must_stop()
    ):
        draws.append(sweep(leg, model, state, workers))
    return draws


def sweep(leg: Leg, model: Model[Any], state: ChainState, workers: Workers) -> NewDraw:
    """One sweep; past the burn-in the draw is kept in the tally."""
    draw = model.sweep(state, workers)
    if state.n_sweeps > leg.job.settings["burn_in"]:
        model.keep(state)
    return draw


def save_chain(leg: Leg, state: ChainState, data: bytes, draws: list[NewDraw], rate: float, session: Session) -> bool:
    """Save draws and the state that they lead to, as bytes; False if the job is over."""
    goes_on = leg.saved(
        session,
        n_sweeps=state.n_sweeps,
        n_categories=draws[-1].n_categories,
        sweeps_per_second=rate,
        digest=state.digest,
    )
    store.save_chain(session, leg.unit, state.n_sweeps, data, draws)
    return goes_on


def conclude(leg: Leg) -> list[int]:
    """Write what the job answers, by document, category and topic.

    It is from all chains, or from the one with the highest mean log joint.
    """
    with leg.database.readers.begin() as session:
        stored = encodings.load(session, leg.job, leg.files)
        names = encodings.names(session, leg.job)
        model = model_of(session, leg.job, stored.corpus)
        best = None if model.pools_chains else store.best_chain(session, leg.job)
        units = store.chain_units(session, leg.job, best)
        traces = store.traces(session, leg.job) if model.pools_chains else {}
    with Workers(leg.settings.threads) as workers:
        states = [finished(leg, model, unit, workers) for unit in units]
        conclusion = model.conclude(states, traces, workers)
    words = consensus.top_words(stored.corpus, conclusion.consensus, TOP_WORDS)
    categories = results.category_rows(leg.job, stored.corpus, names, conclusion, words)
    while leg.write(partial(clear_some_results, leg)):
        continue
    for rows in results.answer_rows(leg.job, stored, conclusion):
        leg.write(partial(save_rows, leg, Answer, rows))
    for rows in results.audit_rows(leg.job, stored, conclusion):
        leg.write(partial(save_rows, leg, Audit, rows))
    for rows in topics.topic_rows(leg.job, names.vocabulary, conclusion.topics):
        leg.write(partial(save_rows, leg, Topic, rows))
    next_units = leg.write(partial(save_summary, leg, best, categories, conclusion.facts))
    clear_older_results(leg)
    return next_units


def clear_older_results(leg: Leg) -> None:
    """Take out the results that the job had before; whatever stays is taken out by its next conclusion."""
    try:
        is_left = True
        while is_left and not leg.leaving():
            with leg.database.sessions.begin() as session:
                is_left = results.clear_older(session, leg.job.id, results.next_edition(leg.job))
    except AWAY as error:
        logger.warning("job %s: its older results stay for now: %s", leg.job.id, error.orig)


def finished(leg: Leg, model: Model[Any], unit: Unit, workers: Workers) -> Any:
    """A chain after its last sweep.

    If its last checkpoint is damaged, its missing sweeps are done again, with the same draws.
    """
    state = restored(leg, model, unit, workers)
    while state.n_sweeps < leg.job.settings["sweeps"]:
        sweep(leg, model, state, workers)
    return state


def clear_some_results(leg: Leg, session: Session) -> bool:
    """Take out some of what an unfinished conclusion wrote, or an older one; False if nothing is left of it."""
    leg.saved(session)
    return results.clear_unread(session, leg.job)


def save_rows(leg: Leg, table: type[Answer | Audit | Topic], rows: Rows, session: Session) -> None:
    """Save a batch of answers, of doubtful labels or of topics."""
    leg.saved(session)
    results.save_rows(session, leg.job, table, rows)


def save_summary(leg: Leg, best: int | None, categories: Rows, facts: Mapping[str, Any], session: Session) -> list[int]:
    """Save the categories and the posteriors; with them the job has succeeded."""
    next_units = leg.finish(session)
    results.save_summary(session, leg.job, best, categories, facts)
    return next_units


WORK: dict[str, Callable[[Leg], list[int]]] = {
    "encode": encode,
    "atoms": run_steps,
    "calibrate": run_steps,
    "chain": run_chain,
    "conclude": conclude,
    "power": run_steps,
}
