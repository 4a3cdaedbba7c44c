"""Processor time of jobs on the reference machine: one thread of a 2 GHz server, kernels compiled.

One job a line of measured_jobs.ndjson. The corpora are the sample of `examples` and data sets of `benchmarks`, encoded
with the default text options.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from app.forecasts.sizes import Sizes


class Measured(NamedTuple):
    """Seconds of the parts of a job; of units that it does not have there are none."""

    name: str
    sizes: Sizes
    settings: dict[str, Any]  # as in a request
    encode: float
    atoms: list[float]  # steps
    calibrate: list[float]  # steps
    start: float  # of a chain
    sweep: float
    conclude: float
    power: float | None = None  # a step


def read_measured(line: str) -> Measured:
    """One line of the table."""
    fields = json.loads(line)
    return Measured(**{**fields, "sizes": Sizes(**fields["sizes"])})


MEASURED = [read_measured(line) for line in Path(__file__).with_suffix(".ndjson").read_text().splitlines()]
