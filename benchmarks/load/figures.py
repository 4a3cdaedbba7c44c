"""From samples to figures, floors and a table."""

import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.load.probe import Sample

SLOWEST = 0.25  # seconds: health and a poll answer sooner, at p99
MOST_GROWTH = 100.0  # MB of API memory over idle
LATE_PROBE = 0.05  # seconds: a probe that is itself so late, at p99, measures the machine


@dataclass(frozen=True)
class Latency:
    """How a probe was answered, in seconds; `errors` are the answers that were none or not well."""

    n: int
    p50: float
    p99: float
    slowest: float
    errors: int
    lag: float  # of the probe itself, at p99


@dataclass(frozen=True)
class Outcome:
    """What a scenario on a stack did to the service."""

    stack: str
    scenario: str
    health: Latency
    job: Latency
    memory_before: float
    memory_peak: float
    memory_after: float
    machine_load: float  # processes that wanted a processor, on average over the minute before
    seconds: float
    figures: dict[str, Any]
    misses: list[str] = field(default_factory=list)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least such a share of the values does not exceed; NaN of none."""
    if not values:
        return math.nan
    return sorted(values)[max(math.ceil(share * len(values)) - 1, 0)]


def latency(samples: Sequence[Sample], began: float, ended: float) -> Latency:
    """The figures of the samples whose moment lies within the load."""
    within = [sample for sample in samples if began <= sample.at <= ended]
    seconds = [sample.seconds for sample in within]
    return Latency(
        n=len(within),
        p50=percentile(seconds, 0.5),
        p99=percentile(seconds, 0.99),
        slowest=percentile(seconds, 1.0),
        errors=sum(sample.status != 200 for sample in within),
        lag=percentile([sample.lag for sample in within], 0.99),
    )


def common_misses(outcome: Outcome) -> list[str]:
    """The floors that hold under any load and were missed, a sentence each."""
    misses = []
    for name, probe in (("GET /health", outcome.health), ("a poll of a job", outcome.job)):
        if not probe.p99 < SLOWEST:
            misses.append(f"{name} answered in {milliseconds(probe.p99)} ms at p99, not under {SLOWEST * 1e3:.0f} ms")
        if probe.errors:
            misses.append(f"{name} failed {probe.errors} times of {probe.n}")
    growth = outcome.memory_peak - outcome.memory_before
    if growth > MOST_GROWTH:
        misses.append(f"the API held {growth:,.0f} MB more than idle, not at most {MOST_GROWTH:.0f}")
    return misses


def doubts(outcome: Outcome) -> list[str]:
    """Why figures may say more of this machine than of the service."""
    lag, n_cores = max(outcome.health.lag, outcome.job.lag), os.cpu_count() or 1
    found = [f"the probe itself was {milliseconds(lag)} ms late at p99"] if lag > LATE_PROBE else []
    if outcome.machine_load > n_cores / 2:
        found.append(f"the machine was not quiet: load {outcome.machine_load:.1f} on {n_cores} cores before")
    return found


def milliseconds(seconds: float) -> str:
    """A time in a table."""
    return "-" if math.isnan(seconds) else f"{seconds * 1e3:,.0f}"


def table(outcomes: Sequence[Outcome]) -> str:
    """The outcomes of a stack in Markdown, a row a scenario; in columns, for whoever reads it as it is."""
    probed = ("p50", "p99", "max", "errors")
    numbers = [f"{name} {figure}" for name in ("health", "job") for figure in probed]
    head = ["scenario", *numbers, "MB idle", "peak", "after", "s", "what became of it"]
    rows = [head, *map(row, outcomes)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths[-1] = 0  # a column at the end needs no width, and sentences have many
    padded = [[name.ljust(widths[0]), *map(str.rjust, numbers, widths[1:])] for name, *numbers in rows]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:-1]), "---"]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [padded[0], rule, *padded[1:]])


def row(outcome: Outcome) -> list[str]:
    """A row of the table."""
    return [
        outcome.scenario,
        *cells(outcome.health),
        *cells(outcome.job),
        *(
            "-" if math.isnan(held) else f"{held:,.0f}"
            for held in (outcome.memory_before, outcome.memory_peak, outcome.memory_after)
        ),
        f"{outcome.seconds:.1f}",
        "; ".join(f"{name} {shown(value)}" for name, value in outcome.figures.items()),
    ]


def cells(probe: Latency) -> list[str]:
    """A probe in a table: milliseconds, and errors of all requests."""
    return [*map(milliseconds, (probe.p50, probe.p99, probe.slowest)), f"{probe.errors}/{probe.n}"]


def shown(value: Any) -> str:
    """A figure of a scenario in a table."""
    if isinstance(value, float):
        return f"{value:.3g}" if value < 100 else f"{value:,.0f}"
    if isinstance(value, dict):
        return ", ".join(f"{count} of {name}" for name, count in value.items()) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)


def as_line(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON; what is no number is null."""
    return {key: without_nan(value) for key, value in asdict(outcome).items()}


def without_nan(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, dict):
        return {key: without_nan(part) for key, part in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value
