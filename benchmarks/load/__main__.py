"""Does the API stay responsive under load? python -m benchmarks.load [--scale small|full] [--only NAME ...]

Starts the service as real processes on loopback (with what `make test` installs), on each stack in turn: SQLite and a
broker of files (embedded), PostgreSQL and Redis (deployed). Each scenario meets an API that was just started and makes
load for a bounded time, while a process of its own asks GET /health and a job at a fixed rate, 20 times a second each;
twice where the load are many clients itself.

A table in Markdown for each stack: milliseconds at the median, at p99 and at most, and failed requests of all, of both
probes; the API's memory in MB before, at most during, and after; seconds of load; and what became of the load. Then
each floor that was missed, in a line. The exit code is 1 if there is one. Meaningful on a quiet machine only.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.load.client import at_once
from benchmarks.load.figures import Outcome, as_line, common_misses, doubts, latency, table
from benchmarks.load.probe import GRACE_SECONDS, Sample
from benchmarks.load.requests import Drips, ImpossibleFrequency, ListJobs, LongHead
from benchmarks.load.scenarios import SCALES, Idle, Scale, Scenario
from benchmarks.load.service import STACKS, Memory, Service
from benchmarks.load.together import Together
from benchmarks.load.uploads import Delete, FirstUpload, Uploads, WideCsv
from tests.waits import REQUEST_SECONDS

# In this order: a first upload is one only before anything else has filled the tables.
KINDS = (Idle, FirstUpload, LongHead, WideCsv, Drips, ListJobs, ImpossibleFrequency, Uploads, Delete, Together)
SCENARIOS: dict[str, type[Scenario]] = {kind.name: kind for kind in KINDS}
SETTLE_SECONDS = 1.0  # before and after the load


def main() -> int:
    """Run the chosen scenarios on the chosen stacks; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.load", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", choices=SCALES, default="small")
    parser.add_argument("--only", nargs="+", choices=SCENARIOS, default=list(SCENARIOS), metavar="NAME")
    parser.add_argument("--stack", nargs="+", choices=STACKS, default=list(STACKS))
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="of a scenario's load; default: by scale")
    parser.add_argument("--workers", type=int, default=1, help="that run beside the API, at least")
    parser.add_argument(
        "--setting", nargs="+", default=[], metavar="NAME=VALUE", help="of the service, as operators do"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write a JSON line a scenario")
    arguments = parser.parse_args()
    scale = SCALES[arguments.scale]
    if arguments.limit:
        scale = replace(scale, limit=arguments.limit, least=min(scale.least, arguments.limit))
    settings = dict(setting.split("=", 1) for setting in arguments.setting)
    outcomes: list[Outcome] = []
    for stack in arguments.stack:
        found = list(run(stack, arguments.only, scale, arguments.workers, settings))
        print(f"{stack}, scale {arguments.scale}\n\n{table(found)}\n", flush=True)
        outcomes += found
        if arguments.json:
            arguments.json.write_text("".join(f"{json.dumps(as_line(outcome))}\n" for outcome in outcomes))
    print("\n".join(remarks(outcomes)))
    return int(any(outcome.misses for outcome in outcomes))


def run(stack: str, names: list[str], scale: Scale, n_workers: int, settings: dict[str, str]) -> Iterator[Outcome]:
    """The outcomes of scenarios on a stack."""
    least_workers = max(SCENARIOS[name].least_workers for name in names)
    service = Service(stack, max(n_workers, least_workers), settings)
    try:
        service.start()
        for name, kind in SCENARIOS.items():
            if name in names:
                print(f"{stack}: {name}, load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
                try:
                    yield measure(service, stack, kind(service, scale))
                except (OSError, RuntimeError, AssertionError) as error:  # the others are still worth a look
                    yield unmeasured(stack, name, error)
    finally:
        service.close()


def measure(service: Service, stack: str, scenario: Scenario) -> Outcome:
    """Run a scenario between two probes."""
    machine_load = os.getloadavg()[0]
    service.start_api_afresh()
    scenario.prepare()
    limit = scenario.scale.limit
    memory = Memory(service.api)
    with probes(service, scenario.probe_rate) as samples:
        time.sleep(SETTLE_SECONDS)
        began = time.monotonic()
        [figures] = at_once([lambda: scenario.load(began + limit)])
        ended, peak = time.monotonic(), memory.peak
        time.sleep(SETTLE_SECONDS)
        after = memory.now
    if figures is not None:
        figures |= scenario.afterwards()
    health, job = (latency(samples[path], began, ended) for path in service.probed)
    outcome = Outcome(
        stack=stack,
        scenario=scenario.name,
        health=health,
        job=job,
        memory_before=memory.before,
        memory_peak=peak,
        memory_after=after,
        machine_load=machine_load,
        seconds=ended - began,
        figures={"load": f"not within {limit:.0f} s"} if figures is None else figures,
    )
    late = ["the load was not over in time"] if figures is None else scenario.misses(figures)
    return replace(outcome, misses=[*common_misses(outcome), *late])


def unmeasured(stack: str, name: str, error: Exception) -> Outcome:
    """What is left of a scenario that could not be prepared or probed."""
    nothing, unknown, reason = latency([], 0.0, 0.0), math.nan, f"{type(error).__name__}: {error}"
    return Outcome(
        stack=stack,
        scenario=name,
        health=nothing,
        job=nothing,
        memory_before=unknown,
        memory_peak=unknown,
        memory_after=unknown,
        machine_load=os.getloadavg()[0],
        seconds=0.0,
        figures={"not measured": reason},
        misses=[f"it could not be measured: {reason}"],
    )


@contextmanager
def probes(service: Service, rate: float) -> Iterator[dict[str, list[Sample]]]:
    """Probes run within this context, so often a second; their samples, by path, are there after it."""
    command = [sys.executable, "-m", "benchmarks.load.probe", str(service.port), str(rate), *service.probed]
    samples: dict[str, list[Sample]] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise RuntimeError("the probes did not start")
            yield samples
            output, _ = process.communicate("\n", timeout=GRACE_SECONDS + REQUEST_SECONDS)
        finally:
            process.kill()
    samples |= {path: [Sample(*sample) for sample in listed] for path, listed in json.loads(output).items()}


def remarks(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """What to say below the tables."""
    for outcome in outcomes:
        where = f"{outcome.stack}, {outcome.scenario}"
        yield from (f"MISSED {where}: {miss}" for miss in outcome.misses)
        yield from (f"doubt {where}: {doubt}" for doubt in doubts(outcome))


if __name__ == "__main__":
    sys.exit(main())
