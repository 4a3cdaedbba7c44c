"""How good are the categories? python -m benchmarks.quality --data DIR [--problems NAME ...]

One JSON line a run: scores on the unlabeled documents as the paper defines them (NMI, ARI, mean F1 over the
known categories), from the kept draws and from the last draw alone, as the paper has it.
"""

import argparse
import json
import time
from pathlib import Path
from typing import get_args

import numpy as np

from benchmarks import problems
from sampler import chain, consensus, metrics
from sampler.corpus import Array
from sampler.hyperparameters import Hyperparameters
from sampler.state import DEFAULT_KERNEL, Kernel


def main() -> None:
    """Run every chosen problem, category step and seed in turn."""
    parser = argparse.ArgumentParser(prog="benchmarks.quality", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with problems.json and data sets")
    parser.add_argument("--problems", nargs="*", default=[], help="default: all")
    parser.add_argument("--kernel", choices=get_args(Kernel), default=DEFAULT_KERNEL)
    parser.add_argument("--steps", nargs="*", default=["exact"], help="category steps: exact, as_printed")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--split", type=int, default=0, help="which random choice of labeled documents")
    parser.add_argument("--sweeps", type=int, default=200)
    arguments = parser.parse_args()
    for name in problems.chosen(arguments.data, arguments.problems):
        problem = problems.read(arguments.data, name, arguments.split)
        for step in arguments.steps:
            for seed in range(arguments.seeds):
                hyperparameters = Hyperparameters(category_step=step)
                line = measure(problem, hyperparameters, seed, arguments.sweeps, arguments.kernel)
                print(json.dumps(line), flush=True)


def measure(
    problem: problems.Problem, hyperparameters: Hyperparameters, seed: int, sweeps: int, kernel: Kernel
) -> dict[str, object]:
    """Run one chain and score it; the first half of the sweeps is burn-in."""
    began = time.monotonic()
    state = chain.start(problem.corpus, hyperparameters, seed, 0, kernel)
    started = time.monotonic()
    draws = []
    for _ in range(sweeps):
        draws.append(chain.sweep(problem.corpus, hyperparameters, state))
        if state.n_sweeps > sweeps // 2:
            chain.keep(problem.corpus, state)
    ended = time.monotonic()
    kept = draws[sweeps // 2 :]
    pooled = consensus.conclude(problem.corpus, state.tally).category
    last = state.document_categories(problem.corpus)
    n_true = int(np.unique(problem.truth[problem.scored]).size)
    return {
        "method": f"{kernel} {hyperparameters.category_step}",
        "problem": problem.name,
        "seed": seed,
        "sweeps": sweeps,
        "K_true": n_true,
        "K": round(float(np.mean([draw.n_categories for draw in kept])), 1),
        "K_with_documents": round(float(np.mean([draw.n_new_with_documents for draw in kept])), 1)
        + problem.corpus.n_known,
        **scores(problem, pooled),
        "last_draw": scores(problem, last),
        "log_joint": round(float(np.mean([draw.log_joint for draw in kept])), 1),
        "start_seconds": round(started - began, 1),
        "seconds_per_sweep": round((ended - started) / sweeps, 3),
    }


def scores(problem: problems.Problem, category: Array) -> dict[str, float]:
    """NMI, ARI and mean F1 of the documents that the paper scores."""
    true, found = problem.truth[problem.scored], category[problem.scored]
    return {
        "NMI": round(metrics.nmi(true, found), 3),
        "ARI": round(metrics.ari(true, found), 3),
        "F1": round(metrics.mean_f1(true, found, np.arange(problem.corpus.n_known)), 3),
    }


if __name__ == "__main__":
    main()
