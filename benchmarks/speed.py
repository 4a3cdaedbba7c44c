"""How fast is a sweep? python -m benchmarks.speed --data DIR [--problems NAME ...]

One JSON line a corpus: tokens, categories, the median time of a sweep, tokens a second, peak memory.
"""

import argparse
import json
import resource
import statistics
import time
from pathlib import Path

from benchmarks import problems
from sampler import chain
from sampler.hyperparameters import Hyperparameters

WARM_SWEEPS = 5  # compilation, cold caches


def main() -> None:
    """Time every chosen problem in turn."""
    parser = argparse.ArgumentParser(prog="benchmarks.speed", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with problems.json and data sets")
    parser.add_argument("--problems", nargs="*", default=["tdt2-20", "20ng-E4"])
    parser.add_argument("--steps", nargs="*", default=["exact", "as_printed"], help="category steps")
    parser.add_argument("--sweeps", type=int, default=20)
    arguments = parser.parse_args()
    for name in problems.chosen(arguments.data, arguments.problems):
        problem = problems.read(arguments.data, name, split=0)
        for step in arguments.steps:
            print(json.dumps(measure(problem, Hyperparameters(category_step=step), arguments.sweeps)), flush=True)


def measure(problem: problems.Problem, hyperparameters: Hyperparameters, sweeps: int) -> dict[str, object]:
    """Time single sweeps of one chain."""
    state = chain.start(problem.corpus, hyperparameters, seed=0, chain=0)
    seconds = []
    for number in range(WARM_SWEEPS + sweeps):
        began = time.perf_counter()
        draw = chain.sweep(problem.corpus, hyperparameters, state)
        if number >= WARM_SWEEPS:
            seconds.append(time.perf_counter() - began)
    median = statistics.median(seconds)
    return {
        "name": f"collapsed {hyperparameters.category_step}, {problem.name}",
        "tokens": problem.corpus.n_tokens,
        "topics": hyperparameters.n_topics,
        "K": draw.n_categories,
        "seconds_per_sweep": round(median, 4),
        "fastest": round(min(seconds), 4),
        "tokens_per_second": round(problem.corpus.n_tokens / median),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


if __name__ == "__main__":
    main()
