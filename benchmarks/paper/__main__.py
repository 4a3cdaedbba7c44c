"""The experiments of the paper: python -m benchmarks.paper --data DIR --out DIR [--processes 2] [--report]

Its protocol: words with a document frequency above 15 that are no stop words, 40 % of each known category labeled, ten
random choices of them, 3,000 sweeps, the last state as the answer, NMI, ARI and F1 over the unlabeled documents. Runs
are appended to OUT/runs.ndjson, and runs that are there are not repeated. --report writes the tables and figures of the
paper in the numbers of all runs that are there, as OUT/report.md, scores.csv and figure-2.svg to figure-5.svg.
"""

import argparse
import json
import sys
from pathlib import Path

from benchmarks.paper.methods import METHODS, facts_of
from benchmarks.paper.printed import PROBLEMS
from benchmarks.paper.report import write_report
from benchmarks.paper.runs import Place, carry_out, planned, read_lines, to_do


def main() -> int:
    """Do what is asked for; returns 1 if a run failed."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.paper", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with problems.json and data sets; needed but for --report")
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs and the report")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), help=", ".join(METHODS))
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=PROBLEMS, metavar="NAME")
    parser.add_argument("--splits", type=int, default=10, help="random choices of labeled documents")
    parser.add_argument("--sweeps", type=int, default=3000, help="of methods that sample")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--report", action="store_true", help="run nothing; write the report")
    arguments = parser.parse_args()
    if arguments.report:
        write_report(arguments.out, read_lines(arguments.out))
        return 0
    if arguments.data is None:
        parser.error("--data is needed")
    for method in arguments.methods:
        facts_of(method)
    runs = planned(arguments.data, arguments.methods, arguments.problems, arguments.splits, arguments.sweeps)
    left = to_do(runs, arguments.out)
    print(f"{len(left)} of {len(runs)} runs are left", file=sys.stderr)
    n_failed = 0
    for ended in carry_out(Place(arguments.data, arguments.out), left, arguments.processes):
        is_line = isinstance(ended, dict)
        print(json.dumps(ended) if is_line else ended, file=sys.stdout if is_line else sys.stderr, flush=True)
        n_failed += not is_line
    return int(n_failed > 0)


if __name__ == "__main__":
    sys.exit(main())
