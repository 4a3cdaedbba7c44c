"""How fast is a sweep? python -m benchmarks.speed [sweeps | race] --data DIR

JSON lines. `sweeps`: the machine; then for each corpus one line a contestant, medians over rounds in which all of them
sweep in turn, and how many times slower the peers are; last the growth with the size of the corpus. `race`: one line
a seed, see benchmarks/race.py. The peers need tomotopy, which is for benchmarks alone: pip install tomotopy.
"""

import argparse
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks import contest, corpora, machine, problems, race
from sampler.hyperparameters import Hyperparameters

REAL = ("20ng-E4", "tdt2-20")
OURS = ("blocked, 1 thread", "blocked, 2 threads")
ABSENT = {  # who would take too long: Algorithm 1 minutes a sweep, tomotopy an hour in all
    "simulated-10m": ("Algorithm 1",),
    "simulated-100m": tuple(name for name in contest.CONTESTANTS if name not in OURS),
}
RATIOS = {
    "ratio": "seconds_per_sweep",
    "ratio_of_fastest": "fastest",
    "ratio_of_processor_time": "processor_seconds_per_sweep",
}
ALIKE = 0.1  # numbers of categories that differ by less, relatively, are compared


def main() -> None:
    """Hold the contests, or the race."""
    parser = argparse.ArgumentParser(prog="benchmarks.speed", description=__doc__)
    parser.add_argument("mode", nargs="?", choices=["sweeps", "race"], default="sweeps")
    parser.add_argument("--data", type=Path, required=True, help="folder with problems.json and data sets")
    parser.add_argument("--only", nargs="+", default=[*REAL, *corpora.SIZES], metavar="CORPUS")
    parser.add_argument("--contestants", nargs="+", default=list(contest.CONTESTANTS), choices=contest.CONTESTANTS)
    parser.add_argument("--cache", type=Path, help="folder that keeps simulated corpora for the next run")
    parser.add_argument("--warm", type=int, default=20, help="sweeps of each contestant before the first round")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--lead", type=int, default=6, help="sweeps of each contestant in a round that do not count")
    parser.add_argument("--sweeps", type=int, default=3, help="of each contestant in a round that do")
    parser.add_argument("--n-start", type=int, default=Hyperparameters.n_start, help="new categories at the start")
    parser.add_argument("--n-start-collapsed", type=int, help="the same for Algorithm 1, so that both end up alike")
    parser.add_argument("--seeds", type=int, default=5, help="of the race")
    parser.add_argument("--race-corpus", default="tdt2-20")
    parser.add_argument("--race-start", choices=["prior", "placed"], default="prior")
    parser.add_argument("--race-birth-share", type=float, default=0.15, help="birth_share of the blocked sampler")
    parser.add_argument("--race-sweeps", type=int, default=300, help="of Algorithm 1")
    parser.add_argument("--race-blocked-sweeps", type=int, default=600)
    parser.add_argument("--traces", action="store_true", help="print the traces of the race")
    arguments = parser.parse_args()
    for line in hold_race(arguments) if arguments.mode == "race" else hold_contests(arguments):
        print(json.dumps(line), flush=True)


def hold_contests(arguments: argparse.Namespace) -> Iterable[dict[str, Any]]:
    """All lines of `sweeps`."""
    machine.compile_kernels()
    yield machine.describe()
    n_start = {"blocked": arguments.n_start, "collapsed": arguments.n_start_collapsed or arguments.n_start}
    pace = contest.Pace(arguments.warm, arguments.rounds, arguments.lead, arguments.sweeps)
    lines: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for corpus in arguments.only:
            folder = folder_of(corpus, arguments.data, arguments.cache or Path(scratch))
            names = [name for name in arguments.contestants if name not in ABSENT.get(corpus, ())]
            results = contest.hold([contest.CONTESTANTS[name] for name in names], folder, n_start, pace)
            lines += [{"corpus": corpus, **result} for result in results]
            yield from lines[-len(results) :]
            yield from comparisons(corpus, {line["name"]: line for line in results if "error" not in line})
    yield from growth(lines)


def folder_of(corpus: str, data: Path, cache: Path) -> Path:
    """The folder of a corpus by name; a real one is read anew each time, a simulated one is kept."""
    if corpus in corpora.SIZES:
        return corpora.simulated(corpora.SIZES[corpus], cache)
    (name,) = problems.chosen(data, [corpus])
    return corpora.store(problems.read(data, name, split=0).corpus, cache / name)


def comparisons(corpus: str, lines: dict[str, dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """How many times longer a sweep takes: each peer against ours on as many threads, and one thread against two."""
    one, two = OURS
    pairs = [(name, two if line["threads"] == 2 else one) for name, line in lines.items() if name not in OURS]
    for slow, fast in [*pairs, (one, two)]:
        if slow in lines and fast in lines:
            ratios = {key: round(lines[slow][field] / lines[fast][field], 2) for key, field in RATIOS.items()}
            n_slow, n_fast = lines[slow]["K"], lines[fast]["K"]
            alike = abs(n_slow - n_fast) <= ALIKE * n_fast
            yield {"name": f"{slow} / {fast}", "corpus": corpus, **ratios, "K": [n_slow, n_fast], "K_alike": alike}


def growth(lines: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """Time per token on each simulated corpus against the smallest, for each of ours."""
    for name in OURS:
        found = [line for line in lines if line["name"] == name and line["corpus"] in corpora.SIZES and "K" in line]
        found.sort(key=lambda line: int(line["tokens"]))
        for line in found[1:]:
            share = found[0]["tokens"] / line["tokens"]
            yield {
                "name": f"growth of time per token, {name}",
                "corpus": line["corpus"],
                "against": found[0]["corpus"],
                **{key: round(share * line[field] / found[0][field], 2) for key, field in RATIOS.items()},
                "K": [line["K"], found[0]["K"]],
            }


def hold_race(arguments: argparse.Namespace) -> Iterable[dict[str, Any]]:
    """One line a seed."""
    race.compile_kernels()
    corpus = problems.read(arguments.data, arguments.race_corpus, split=0).corpus
    hyperparameters = Hyperparameters(n_start=arguments.n_start, birth_share=arguments.race_birth_share)
    for seed in range(arguments.seeds):
        line = race.run(
            corpus,
            hyperparameters,
            seed,
            arguments.race_sweeps,
            arguments.race_blocked_sweeps,
            arguments.race_start,
        )
        if not arguments.traces:
            line = {key: value for key, value in line.items() if not key.endswith("trace")}
        yield {"name": "race", "corpus": arguments.race_corpus, **line}


if __name__ == "__main__":
    main()
