"""How much of a run is done and how long the rest takes, from its units and their forecast.

A run is a job from `encode` to `conclude`, an extension of it, or its power test: whatever its units are.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from app.forecast import KINDS, Work

TIMED = ("encode", "conclude")  # kinds that say nothing of how far they are before they are done but by their time
PLAIN = 0.75  # of a timed unit's forecast: so far its share grows with the time, then ever more slowly
TRUST = 0.15  # of a kind's work: when so much is done, its own pace counts as much as that of the kinds before it
KNOWN = 1.0  # seconds of forecast that the pace of the reference machine counts for


class UnitState(NamedTuple):
    """What is known of a unit; or of several of a kind together, when all numbers are sums."""

    kind: str
    n_units: int
    n_done: int  # of them
    n_begun: int  # of them that have saved something, those that are done included
    n_saved: int  # sweeps or steps that are done
    seconds: float  # that legs have worked; of a timed unit also since its last save


class Run(NamedTuple):
    """The units of a run, and what their kinds take."""

    states: Sequence[UnitState]
    works: Mapping[str, Work]
    encode_share: float  # of the whole, if `encode` is one of the units

    def of_kind(self) -> Iterable[tuple[Work, list[UnitState]]]:
        """The units by kind, in the order in which kinds follow each other."""
        by_kind: dict[str, list[UnitState]] = defaultdict(list)
        for state in self.states:
            by_kind[state.kind].append(state)
        return [(self.works[kind], by_kind[kind]) for kind in KINDS if kind in by_kind]


class Stretch(NamedTuple):
    """The units of one kind: seconds of forecast that each has done, and how many seconds one of these takes here."""

    work: Work
    states: list[UnitState]
    done: list[float]
    pace: float  # 1 on the reference machine, 2 on one half as fast


def stretches(run: Run) -> list[Stretch]:
    """The kinds of a run as they follow each other, each with its own pace as far as it has worked.

    Until then it has the pace of the kinds before.
    """
    found = []
    seconds = forecast = KNOWN
    for work, states in run.of_kind():
        pace = seconds / forecast
        done = [work_done(state, work, pace) for state in states]
        is_measured = states[0].kind not in TIMED or all(state.n_done == state.n_units for state in states)
        worked, measured = sum(state.seconds for state in states), sum(done)
        if is_measured and worked > 0.0 and measured > 0.0:
            trust = TRUST * work.seconds * sum(state.n_units for state in states)
            seconds, forecast = seconds + worked, forecast + measured
            pace = (worked + trust * pace) / (measured + trust)
        found.append(Stretch(work, states, done, pace))
    return found


def work_done(state: UnitState, work: Work, pace: float) -> float:
    """Seconds of forecast that the units have done. Grows with all that they save, and of a timed one with its time."""
    if state.n_done == state.n_units:
        return state.n_units * work.seconds
    if state.kind in TIMED:
        return work.seconds * share_of_time(state.seconds / (pace * work.seconds))
    return min(state.n_begun * work.start + state.n_saved * work.part, state.n_units * work.seconds)


def share_of_time(ratio: float) -> float:
    """The share that counts as done after `ratio` of the time that all should take: it comes near 1, never there."""
    if ratio <= PLAIN:
        return ratio
    rest = 1.0 - PLAIN
    return min(1.0 - rest * math.exp((PLAIN - ratio) / rest), 1.0 - 1e-6)


def fraction(run: Run) -> float:
    """The share of the forecast work that is done.

    The share of `encode` is the same for all sizes: these are known better when it is done, and the fraction of a run
    must not fall then.
    """
    parts = stretches(run)
    n_encode = sum(stretch.states[0].kind == "encode" for stretch in parts)  # it comes first
    share = run.encode_share if n_encode else 0.0
    return share * done_share(parts[:n_encode]) + (1.0 - share) * done_share(parts[n_encode:])


def done_share(parts: Sequence[Stretch]) -> float:
    """The share of the work of some kinds that is done."""
    total = sum(stretch.work.seconds * state.n_units for stretch in parts for state in stretch.states)
    return sum(sum(stretch.done) for stretch in parts) / total if total else 0.0


def seconds_left(run: Run, workers: float, leg_seconds: float) -> float:
    """Seconds until the run has ended, with so many workers for itself; a part of one if others wait for it too."""
    return sum(
        makespan(
            [
                stretch.pace * (stretch.work.seconds * state.n_units - done)
                for state, done in zip(stretch.states, stretch.done, strict=True)
            ],
            workers,
            leg_seconds,
        )
        for stretch in stretches(run)
    )


def makespan(seconds: Sequence[float], workers: float, leg_seconds: float) -> float:
    """How long some units take side by side; one alone cannot use more than one worker.

    Units longer than a leg take turns, so all workers are busy until the end. Of shorter ones a worker ends one before
    it begins the next.
    """
    if max(seconds) > leg_seconds or workers < 2.0:
        return max(sum(seconds) / workers, max(seconds) / min(workers, 1.0))
    ends = [0.0] * int(workers)
    for each in sorted(seconds, reverse=True):
        ends[ends.index(min(ends))] += each
    return max(ends)
