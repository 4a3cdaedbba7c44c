"""How much of a run is done and how long the rest takes, from its units and their forecast.

A run is a job from `encode` to `conclude`, an extension of it, or its power test: whatever its units are.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from app.core.kinds import UnitKind
from app.forecasts.sizes import Work

PLAIN = 0.9  # of what unsaved work should take: so far it grows with the time, then ever more slowly
TRUST = 0.15  # of a kind's work: when so much is done, its own pace counts as much as that of the kinds before it
# The same for kinds whose parts differ: those of one side may be a tenth of the other's.
UNEVEN: Mapping[str, float] = {UnitKind.CALIBRATE: 1.5}
GUESSED, KNOWN = 0.3, 2.0  # seconds of forecast that the reference machine counts for, and earlier jobs on this one
REUSED = 0.25  # of the time that is due: a kind that took less had its work done by an earlier job, and shows no pace
ALMOST = 1.0 - 1e-6
LATENCY = 0.3  # seconds from the end of one kind of unit until a worker has turned to the next
HELD_UP = 2.0  # times longer than is due: a short kind that took more had to wait for something that passes
SAVE_SECONDS = 2.0  # of the work until a first save, it may be so much more


class UnitState(NamedTuple):
    """What is known of a unit; or of several of a kind that are alike, when all numbers are sums."""

    kind: str
    n_units: int
    n_done: int  # of them
    n_begun: int  # of them that have saved something, those that are done included
    n_saved: int  # sweeps or steps that are done
    seconds: float  # that legs have worked until their last saves
    waited: float = 0.0  # seconds since a worker turned to a unit of which nothing is saved, as far as that is known
    unsaved: float = 0.0  # seconds since the unit's last save or other sign of life
    rate: float | None = None  # sweeps per second before its last save, if it is a chain at work


class Run(NamedTuple):
    """The units of a run, and what their kinds take."""

    states: Sequence[UnitState]
    works: Mapping[str, Work]
    encode_share: float  # of the whole, if `encode` is one of the units
    paces: Mapping[str, float] = {}  # of earlier jobs on this machine, by kind, as far as they are known

    def of_kind(self) -> Iterable[tuple[Work, list[UnitState]]]:
        """The units by kind, in the order in which kinds follow each other."""
        by_kind: dict[str, list[UnitState]] = defaultdict(list)
        for state in self.states:
            by_kind[state.kind].append(state)
        usual = statistics.median(self.paces.values()) if self.paces else 1.0
        return [
            (scaled(self.works[kind], self.paces.get(kind, usual)), by_kind[kind])
            for kind in UnitKind
            if kind in by_kind
        ]


class Stretch(NamedTuple):
    """The units of one kind, and how they do.

    A pace is how many seconds a second of forecast takes here: 1 if all is as in earlier jobs on this machine, or as
    on the reference machine if there are none.
    """

    work: Work
    states: list[UnitState]
    done: list[float]  # seconds of forecast, by state
    pace: float


def seconds_of_work(run: Run) -> float:
    """Seconds that one worker works for the whole run."""
    return sum(work.seconds * len(states) for work, states in run.of_kind())


def scaled(work: Work, pace: float) -> Work:
    """The work where each second of it takes `pace` seconds."""
    return Work(pace * work.start, pace * work.part, work.n_parts)


def stretches(run: Run) -> list[Stretch]:
    """The kinds of a run as they follow each other, each with its own pace as far as it has worked.

    Until then it has the pace of the kinds before, unless it is already known to be slower. What is not saved counts as
    done by its time if the unit is the only one of its kind: of several, nobody knows which one a worker turned to.
    """
    found = []
    seconds = forecast = KNOWN if run.paces else GUESSED
    slowest = 0.0  # pace that must be assumed at least: work that should be done by now is not
    for work, states in run.of_kind():
        pace = seconds / forecast
        done = [saved(state, work) for state in states]
        worked, measured = sum(state.seconds for state in states), sum(done)
        if sum(state.n_units for state in states) == 1:
            done = [done[0] + by_time(states[0].waited / pace, work.first)]
        if measured > 0.0 and worked > REUSED * pace * measured:
            n_units, kind = sum(state.n_units for state in states), states[0].kind
            trust = UNEVEN.get(kind, TRUST) * n_units * work.seconds
            pace = (worked + trust * pace) / (measured + trust)
            if kind not in UNEVEN or all(state.n_done == state.n_units for state in states):
                if measured < forecast:
                    worked = min(worked, HELD_UP * measured * seconds / forecast)
                seconds, forecast = seconds + worked, forecast + measured
        slowest = max(slowest, *((state.waited - SAVE_SECONDS) / work.first for state in states))
        found.append(Stretch(work, states, done, max(recent_pace(states, work, pace), slowest)))
    return found


def recent_pace(states: Sequence[UnitState], work: Work, pace: float) -> float:
    """The pace of a kind's last sweeps and that of all before, halfway: later sweeps may be slower than the first."""
    recent = [1.0 / (state.rate * work.part) for state in states if state.rate and work.part]
    return (pace + sum(recent) / len(recent)) / 2 if recent else pace


def by_time(seconds: float, due: float) -> float:
    """How much of some work of `due` seconds counts as done after some seconds: it comes near all, never there."""
    ratio, rest = seconds / due, 1.0 - PLAIN
    if ratio > PLAIN:
        ratio = min(1.0 - rest * math.exp((PLAIN - ratio) / rest), ALMOST)
    return due * ratio


def saved(state: UnitState, work: Work) -> float:
    """Seconds of forecast that the units have done and saved."""
    n_open = state.n_begun - state.n_done
    of_open = n_open * work.start + max(state.n_saved - state.n_done * work.n_parts, 0) * work.part
    return state.n_done * work.seconds + min(of_open, n_open * work.seconds)


def fraction(run: Run) -> float:
    """The share of the forecast work that is done.

    The share of `encode` is the same for all sizes: these are known better when it is done, and the fraction of a run
    must not fall then; nor when the pace of other jobs changes.
    """
    if run.states and all(state.n_begun == 0 == state.waited for state in run.states):  # in a long queue, most
        return 0.0
    parts = stretches(run._replace(paces={}))
    n_encode = sum(stretch.states[0].kind == UnitKind.ENCODE for stretch in parts)  # it comes first
    share = run.encode_share if n_encode else 0.0
    found = share * done_share(parts[:n_encode]) + (1.0 - share) * done_share(parts[n_encode:])
    is_done = all(state.n_done == state.n_units for state in run.states)
    return 1.0 if is_done else min(found, ALMOST)  # with its last step saved a unit still has to end


def done_share(parts: Sequence[Stretch]) -> float:
    """The share of the work of some kinds that is done."""
    total = sum(stretch.work.seconds * state.n_units for stretch in parts for state in stretch.states)
    return sum(sum(stretch.done) for stretch in parts) / total if total else 0.0


def seconds_left(run: Run, workers: float, leg_seconds: float) -> float:
    """Seconds until the run has ended, with so many workers for itself; a part of one if others wait for it too."""
    total = 0.0
    for stretch in stretches(run):
        left = [stretch.pace * rest_of(state, stretch) for state in stretch.states]
        is_pending = all(state.n_begun == 0 and state.waited == 0.0 == state.unsaved for state in stretch.states)
        total += makespan(left, workers, leg_seconds) + LATENCY * is_pending
    return total


def rest_of(state: UnitState, stretch: Stretch) -> float:
    """Seconds of forecast that the units still have to do, as far as their last save and the time since then show.

    No more is done since then than leads to the next save.
    """
    work = stretch.work
    rest = max(state.n_units * work.seconds - saved(state, work), 0.0)
    due = work.part if state.n_begun else work.first
    if state.kind == UnitKind.CHAIN:
        due += SAVE_SECONDS / stretch.pace
    due = min(due, rest)
    return rest - (by_time(max(state.waited, state.unsaved) / stretch.pace, due) if due else 0.0)


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
