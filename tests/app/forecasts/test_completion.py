"""How far a run is and how long it still takes, over timelines of jobs whose parts were measured."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from app.forecasts.completion import Run, UnitState, fraction, makespan, seconds_left
from app.forecasts.forecast import encode_share, forecast
from app.schemas.job_settings import JobIn
from tests.app.forecasts.measured_jobs import MEASURED, Measured

WORKERS, LEG_SECONDS, SAVE_SECONDS, LATENCY = 2, 60.0, 2.0, 0.25
OFF = 0.4  # of the seconds that are left in truth
# Looks from a tenth of a job on that are no further off. Of the last seconds nothing is known but how long a conclusion
# ought to take; jobs of a few seconds save once or twice in all.
MOST, MOST_OF_UNUSUAL = 0.85, 0.6
USUAL = [m for m in MEASURED if m.name in ("sample", "bbc-5", "tdt2-20") and not m.settings]


class Event(NamedTuple):
    """What becomes known at a time of one unit."""

    at: float
    unit: int
    n_saved: int | None  # None: a worker turned to it
    seconds: float
    is_done: bool


def timeline(measured: Measured, settings: JobIn, slowness: float) -> tuple[list[str], list[Event], float]:
    """The kinds of the units of a job on two workers, what becomes known of them, and when all is done."""
    kinds: list[str] = []
    events: list[Event] = []
    now = 0.0

    def alone(kind: str, steps: list[float], begin: float) -> float:
        unit, at = len(kinds), begin + LATENCY
        kinds.append(kind)
        events.append(Event(at, unit, None, 0.0, False))
        for number, step in enumerate(steps, 1):
            at += slowness * step
            n_saved = 0 if kind in ("encode", "conclude") else number
            events.append(Event(at, unit, n_saved, at - begin - LATENCY, number == len(steps)))
        return at

    now = alone("encode", [measured.encode], now)
    if measured.calibrate:
        now = alone("atoms", measured.atoms, now)
        now = alone("calibrate", measured.calibrate, now)
    free = [now] * WORKERS
    for _ in range(settings.chains or 0):
        worker, unit = free.index(min(free)), len(kinds)
        kinds.append("chain")
        begin = free[worker] + LATENCY
        events.append(Event(begin, unit, None, 0.0, False))
        at, n_saved = begin + slowness * measured.start, 0
        while n_saved < (settings.sweeps or 0):
            n_more = min(max(int(SAVE_SECONDS / (slowness * measured.sweep)), 1), (settings.sweeps or 0) - n_saved)
            n_saved, at = n_saved + n_more, at + slowness * n_more * measured.sweep
            events.append(Event(at, unit, n_saved, at - begin, n_saved == settings.sweeps))
        free[worker] = at
    end = alone("conclude", [measured.conclude], max(free))
    return kinds, sorted(events), end


def looks(measured: Measured, slowness: float, pace: float) -> Iterator[tuple[float, float, float]]:
    """How much of the job is done in truth by its time, the fraction and the seconds left, a hundred times."""
    settings = JobIn(corpus_id="", **measured.settings)
    expected, share = forecast(measured.sizes, settings.settings()), encode_share(settings.settings())
    kinds, events, end = timeline(measured, settings, slowness)
    for look in range(100):
        now, claimed_at = look * end / 100, 0.0
        last: dict[int, Event] = {}
        for event in events:
            if event.at <= now:
                last[event.unit] = event
                claimed_at = event.at if event.n_saved is None else claimed_at
        states = []
        for unit, kind in enumerate(kinds):
            seen = last.get(unit)
            n_saved, is_done = (seen.n_saved or 0, seen.is_done) if seen else (0, False)
            runs = seen is not None and not is_done
            waited = now - claimed_at if runs and n_saved == 0 else 0.0
            unsaved = now - seen.at if seen and runs else 0.0
            seconds = seen.seconds if seen else 0.0
            states.append(UnitState(kind, 1, is_done, is_done or n_saved > 0, n_saved, seconds, waited, unsaved))
        run = Run(states, expected.works, share, dict.fromkeys(expected.works, pace) if pace != 1.0 else {})
        yield now / end, fraction(run), seconds_left(run, WORKERS, LEG_SECONDS) / end


EVERY_JOB = pytest.mark.parametrize("measured", MEASURED, ids=lambda measured: f"{measured.name} {measured.settings}")
SLOWNESS = pytest.mark.parametrize("slowness", [0.4, 1.0, 3.0])


@EVERY_JOB
@SLOWNESS
def test_the_fraction_of_a_job_never_falls_and_is_1_at_the_end_alone(measured: Measured, slowness: float) -> None:
    fractions = [done for _, done, _ in looks(measured, slowness, pace=1.0)]
    assert fractions == sorted(fractions)
    assert fractions[0] < 0.05
    assert 0.6 < fractions[-1] < 1.0


@EVERY_JOB
@SLOWNESS
def test_seconds_left_are_true_on_a_machine_whose_pace_is_known(measured: Measured, slowness: float) -> None:
    seen = [(1.0 - at, left) for at, _, left in looks(measured, slowness, pace=slowness) if at >= 0.1]
    right = [abs(left - true) <= OFF * true for true, left in seen]
    assert sum(right) >= (MOST if measured in USUAL else MOST_OF_UNUSUAL) * len(right)


@pytest.mark.parametrize("measured", USUAL, ids=lambda measured: measured.name)
@pytest.mark.parametrize("slowness", [0.5, 2.5])
def test_a_job_learns_the_pace_of_an_unknown_machine_by_itself(measured: Measured, slowness: float) -> None:
    seen = [(1.0 - at, left) for at, _, left in looks(measured, slowness, pace=1.0) if at >= 0.1]
    assert sum(abs(left - true) <= OFF * true for true, left in seen) >= MOST * len(seen)


def test_units_side_by_side_take_as_long_as_the_workers_need() -> None:
    assert makespan([10.0] * 4, 2, LEG_SECONDS) == 20.0
    assert makespan([10.0] * 3, 2, LEG_SECONDS) == 20.0, "shorter than a leg: the third begins when one has ended"
    assert makespan([100.0] * 3, 2, LEG_SECONDS) == 150.0, "they take turns"
    assert makespan([100.0], 8, LEG_SECONDS) == 100.0, "one cannot use two workers"
    assert makespan([10.0] * 2, 0.5, LEG_SECONDS) == 40.0, "others wait for the worker too"
    assert makespan([0.0, 0.0], 2, LEG_SECONDS) == 0.0


def test_a_chain_whose_sweeps_become_slower_has_longer_to_go() -> None:
    settings = JobIn(corpus_id="", model="lbpl-ntm").settings()
    works = forecast(MEASURED[0].sizes, settings).works
    half, part = settings["sweeps"] // 2, works["chain"].part
    chain = UnitState("chain", 1, 0, 1, half, works["chain"].start + half * part, rate=1.0 / part)
    steady, slower = (
        seconds_left(Run([chain._replace(rate=rate)], works, 0.0), 1, LEG_SECONDS) for rate in (1.0 / part, 0.5 / part)
    )
    assert steady == pytest.approx(half * part)
    assert slower == pytest.approx(1.5 * steady), "halfway between the pace of all sweeps and that of the last ones"


def test_work_that_an_earlier_job_has_done_says_nothing_of_the_pace() -> None:
    settings = JobIn(corpus_id="").settings()
    works = forecast(MEASURED[0].sizes, settings).works
    rest = [UnitState("calibrate", 1, 0, 0, 0, 0.0), UnitState("conclude", 1, 0, 0, 0, 0.0)]

    def left(seconds: float) -> float:
        reused = [UnitState("encode", 1, 1, 1, 0, seconds), UnitState("atoms", 1, 1, 1, 2, seconds)]
        return seconds_left(Run([*reused, *rest], works, 0.1), WORKERS, LEG_SECONDS)

    assert left(0.001) == left(0.0) == pytest.approx(works["calibrate"].seconds + works["conclude"].seconds, abs=1.0)
    assert left(5.0) > 1.5 * left(0.0)
