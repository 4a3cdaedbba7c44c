"""Legs of units: what a worker does with a unit that it has claimed, and how a leg ends, whatever becomes of it."""

import logging
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from sqlalchemy.orm import Session

from app.core import leases
from app.core.db import AWAY, Database, is_away
from app.core.errors import LeaseLost
from app.core.kinds import SideKind, UnitKind
from app.core.settings import Settings
from app.core.tables import Answer, Audit, Job, SideRun, Topic, Unit
from sampler.answers import consensus
from sampler.archive import CheckpointError
from sampler.corpus import Corpus
from sampler.numerics.threads import Interrupted, Threads
from worker import encodings, results, store, topics
from worker.encode import encode, stored_corpus
from worker.heartbeat import Heartbeat
from worker.leg import DatabaseAway, Leg, Stopped, reason_of, told
from worker.models import ChainState, Model, model_of
from worker.steps import mended, run_steps
from worker.store import NewDraw, Rows

logger = logging.getLogger(__name__)

TOP_WORDS = 10
FIRST_SAVE_SECONDS = 0.5


def run(database: Database, settings: Settings, unit_id: int, leaving: Callable[[], bool]) -> list[int]:
    """Run one leg of a unit, if it is free; returns the ids of the units that call for workers now.

    Nothing happens if another leg holds the unit or its run is over. An error of the work itself fails the
    run, as does a row that cannot be read. If the database is away, the lease runs out and a reaper calls again.
    """
    token = new_token()
    try:
        with database.sessions.begin() as session:
            if leases.claim(session, unit_id, token, settings.lease_seconds) is None:
                return []
        with Heartbeat(database, settings, unit_id, token, leaving) as heartbeat:
            unit, job = read(database, unit_id)
            logger.info("job %s: a leg of %s %s begins", job.id, unit.kind, "" if unit.chain is None else unit.chain)
            return work_on(Leg(database, settings, unit, job, heartbeat))
    except DatabaseAway as error:
        logger.warning("unit %d: its lease runs out: %s", unit_id, error)
    except Exception as error:
        if is_away(error):
            logger.warning("unit %d: the database is unavailable, the lease runs out: %s", unit_id, told(error))
        else:
            logger.exception("unit %d cannot be read", unit_id)
            refuse(database, unit_id, error)
    return []


def new_token() -> str:
    """A token for one leg, which names the process that runs it to who looks into the table of units."""
    return f"{socket.gethostname()[:64]}:{os.getpid()}:{secrets.token_hex(8)}"


def read(database: Database, unit_id: int) -> tuple[Unit, Job]:
    """A claimed unit and its job; one that is being extended as it is to be."""
    with database.readers.begin() as session:
        unit = session.get_one(Unit, unit_id)
        job = session.get_one(Job, unit.job_id)
        side = session.get(SideRun, (job.id, unit.side)) if unit.side == SideKind.EXTENSION else None
    if side is not None:
        job.settings = {**job.settings, "sweeps": side.sweeps}
    return unit, job


def refuse(database: Database, unit_id: int, error: Exception) -> None:
    """Fail the run of a unit that no leg can begin with."""
    with database.sessions.begin() as session:
        leases.refuse(session, unit_id, reason_of(f"unit {unit_id} cannot be read", error))


def work_on(leg: Leg) -> list[int]:
    """Do the unit's kind of work, and end the leg properly whatever becomes of it."""
    try:
        return WORK[leg.unit.kind](leg)
    except (LeaseLost, Stopped, Interrupted) as error:
        logger.info("job %s: the leg of %s ends: %s", leg.job.id, leg.unit.kind, error)
        return leg.write(leg.release)  # a run that has ended left the lease in our hands
    except DatabaseAway:
        raise
    except Exception as error:
        if is_away(error):
            raise
        logger.exception("job %s: %s failed", leg.job.id, leg.unit.kind)
        reason = error
        leg.write(lambda session: leg.fail(session, reason))
        return []


def run_chain(leg: Leg) -> list[int]:
    """Sweep from the last checkpoint on, saving every few seconds, until the leg or the chain is over."""
    corpus = stored_corpus(leg).corpus
    with leg.threads() as threads:
        model = model_for(leg, UnitKind.CHAIN, corpus, threads)
        state = restored(leg, model, leg.unit)
        first_work_at = time.monotonic()
        while state.n_sweeps < leg.job.settings["sweeps"]:
            began = time.monotonic()
            draws = stretch(leg, model, state, until_save(leg.settings, began - first_work_at))
            rate = len(draws) / max(time.monotonic() - began, 1e-9)
            goes_on = leg.write(partial(save_chain, leg, state, model.dump(state), draws, rate))
            is_over = not goes_on or leg.is_over(first_work_at)
            if is_over and state.n_sweeps < leg.job.settings["sweeps"]:
                return leg.write(leg.release)
    return leg.write(leg.finish)


def model_for(leg: Leg, kind: UnitKind, corpus: Corpus, threads: Threads) -> Model[Any]:
    """The model that a unit of this kind works with. Raises Stopped."""
    return mended(leg, kind, corpus, threads, lambda session: model_of(session, leg.job, corpus, threads))


def restored(leg: Leg, model: Model[Any], unit: Unit) -> Any:
    """A chain as its newest sound checkpoint has it, or before its first sweep if there is none."""
    before: int | None = None
    while True:
        with leg.database.readers.begin() as session:
            found = store.newest_checkpoint(session, unit, before)
        if found is None:
            return model.start(int(unit.chain or 0))
        try:
            return model.load(found.data)
        except CheckpointError as error:
            logger.warning("unit %d: checkpoint %d is skipped: %s", unit.id, found.id, error)
        before = found.id


def until_save(settings: Settings, worked: float) -> float:
    """Seconds until the next save of a leg that has worked for so long: its first ones come early, to be looked at."""
    return min(settings.save_seconds, max(worked, FIRST_SAVE_SECONDS))


def stretch(leg: Leg, model: Model[Any], state: ChainState, seconds: float) -> list[NewDraw]:
    """Sweep for some seconds, at least once."""
    draws: list[NewDraw] = []
    until = time.monotonic() + seconds
    while not draws or (
        state.n_sweeps < leg.job.settings["sweeps"] and time.monotonic() < until and not leg.must_stop()
    ):
        draws.append(sweep(leg, model, state))
    return draws


def sweep(leg: Leg, model: Model[Any], state: ChainState) -> NewDraw:
    """One sweep; past the burn-in the draw is kept in the tally."""
    draw = model.sweep(state)
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
    stored = stored_corpus(leg)
    corpus = stored.corpus
    with leg.threads() as threads:
        model = model_for(leg, UnitKind.CONCLUDE, corpus, threads)
        with leg.database.readers.begin() as session:
            names = encodings.names(session, leg.job)
            best = None if model.pools_chains else store.best_chain(session, leg.job)
            units = store.chain_units(session, leg.job, best)
            traces = store.traces(session, leg.job) if model.pools_chains else {}
        states = [finished(leg, model, unit) for unit in units]
        conclusion = model.conclude(states, traces)
        words = consensus.category_words(corpus, conclusion.consensus, TOP_WORDS, threads)
        topic_rows = list(topics.topic_rows(leg.job, names.vocabulary, conclusion.topics, threads))
    categories = results.category_rows(leg.job, corpus, names, conclusion, words)
    while leg.write(partial(clear_some_results, leg)):
        continue
    save_all(leg, Answer, results.answer_rows(leg.job, stored, conclusion))
    save_all(leg, Audit, results.audit_rows(leg.job, stored, conclusion))
    save_all(leg, Topic, topic_rows)
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
        logger.warning("job %s: its older results stay for now: %s", leg.job.id, told(error))


def finished(leg: Leg, model: Model[Any], unit: Unit) -> Any:
    """A chain after its last sweep.

    If its last checkpoint is damaged, its missing sweeps are done again, with the same draws.
    """
    state = restored(leg, model, unit)
    while state.n_sweeps < leg.job.settings["sweeps"]:
        sweep(leg, model, state)
    return state


def clear_some_results(leg: Leg, session: Session) -> bool:
    """Take out some of what an unfinished conclusion wrote, or an older one; False if nothing is left of it."""
    leg.saved(session)
    return results.clear_unread(session, leg.job)


def save_all(leg: Leg, table: type[Answer | Audit | Topic], batches: Iterable[Rows]) -> None:
    """Save batches of rows, each in a transaction of its own. Raises Stopped."""
    for rows in batches:
        leg.write(partial(save_rows, leg, table, rows))
        if leg.must_stop():
            raise Stopped("its results are not all written")


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
    UnitKind.ENCODE: encode,
    UnitKind.ATOMS: run_steps,
    UnitKind.CALIBRATE: run_steps,
    UnitKind.CHAIN: run_chain,
    UnitKind.CONCLUDE: conclude,
    UnitKind.POWER: run_steps,
}
