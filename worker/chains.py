"""The unit `chain`: sweeps from the last checkpoint on, saved every few seconds."""

import time
from typing import Any

from app.core.counters import counters
from app.core.kinds import UnitKind
from app.core.leases import UnitProgress
from app.core.settings import Settings
from app.core.tables import Unit
from sampler.numerics.threads import Threads
from worker import store
from worker.continued import begin
from worker.leg import Leg
from worker.models import ChainState, Model, model_of
from worker.steps import mend
from worker.store import NewDraw, Stored
from worker.vectors import load_texts

FIRST_SAVE_SECONDS = 0.5


def run_chain(leg: Leg) -> list[int]:
    """Sweep from the last checkpoint on, saving every few seconds, until the leg or the chain is over."""
    stored = load_texts(leg)
    with leg.threads() as threads:
        model = model_for(leg, UnitKind.CHAIN, stored, threads)
        state = restore(leg, model, stored, leg.unit)
        first_work_at = time.monotonic()
        while state.n_sweeps < leg.job.settings["sweeps"]:
            began = time.monotonic()
            draws = stretch(leg, model, state, until_save(leg.settings, began - first_work_at))
            rate = len(draws) / max(time.monotonic() - began, 1e-9)
            goes_on = save_chain(leg, state, model.dump(state), draws, rate)
            is_over = not goes_on or leg.is_over(first_work_at)
            if is_over and state.n_sweeps < leg.job.settings["sweeps"]:
                return leg.give_back()
    return leg.end()


def model_for(leg: Leg, kind: UnitKind, stored: Stored, threads: Threads) -> Model[Any]:
    """The model that a unit of this kind works with. Raises Stopped."""
    return mend(leg, kind, stored, threads, lambda session: model_of(session, leg.job, stored, threads))


def restore(leg: Leg, model: Model[Any], stored: Stored, unit: Unit) -> Any:
    """A chain as its newest sound checkpoint has it, or before its first sweep if there is none."""
    state = store.newest_sound(leg.database.readers, unit, model.load)
    return begin(leg, model, stored, int(unit.chain or 0)) if state is None else state


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


def save_chain(leg: Leg, state: ChainState, data: bytes, draws: list[NewDraw], rate: float) -> bool:
    """Save draws and the state that they lead to, as bytes; False if the run is over."""
    began = time.monotonic()
    goes_on = leg.save(
        lambda session: store.save_chain(session, leg.unit, state.n_sweeps, data, draws),
        UnitProgress(state.n_sweeps, draws[-1].n_categories, rate, state.digest),
    )
    counters.observe("checkpoint_bytes", len(data))
    counters.observe("checkpoint_save_seconds", time.monotonic() - began)
    counters.add("sweeps", len(draws))
    return goes_on


def finish(leg: Leg, model: Model[Any], stored: Stored, unit: Unit) -> Any:
    """A chain after its last sweep.

    If its last checkpoint is damaged, its missing sweeps are done again, with the same draws.
    """
    state = restore(leg, model, stored, unit)
    while state.n_sweeps < leg.job.settings["sweeps"]:
        sweep(leg, model, state)
    return state
