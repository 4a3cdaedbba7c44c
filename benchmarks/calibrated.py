"""The calibrated model as a method of the quality benchmark: all steps of a job, in one process, on one thread."""

import numpy as np

from benchmarks.problems import Problem
from benchmarks.scoring import Answer
from sampler import calibrated
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.workers import Workers

N_CHAINS, N_SWEEPS, BURN_IN = 4, 100, 20  # a job's defaults
INTERVAL = (0.05, 0.95)


def categorize(problem: Problem, seed: int) -> Answer:
    """What a job with all defaults answers."""
    corpus, hyperparameters = problem.corpus, CalibratedHyperparameters()
    with Workers() as workers:
        runs = [
            calibrated.atom_run(corpus, hyperparameters, seed, number, workers)
            for number in range(calibrated.n_atom_runs(hyperparameters))
        ]
        done: list[calibrated.Arrays] = []
        for number in range(calibrated.n_calibration_steps(hyperparameters)):
            done.append(calibrated.calibration_step(corpus, hyperparameters, seed, runs, done, number, workers))
        calibration = calibrated.calibration(corpus, hyperparameters, seed, runs, done)
        states, traces = [], []
        for chain in range(N_CHAINS):
            state = calibrated.start(corpus, hyperparameters, calibration, seed, chain, workers)
            states.append(state)
            draws = []
            for _ in range(N_SWEEPS):
                draws.append(calibrated.sweep(corpus, hyperparameters, calibration, state, workers))
                if state.n_sweeps > BURN_IN:
                    calibrated.keep(corpus, calibration, state)
            traces.append([corpus.n_known + draw.n_new_with_documents for draw in draws[BURN_IN:]])
        numbers = np.array(traces, np.float64)
        conclusion = calibrated.conclude(
            corpus, hyperparameters, calibration, states, {"the number of categories": numbers}, workers
        )
    low, high = np.quantile(numbers, INTERVAL)
    answers = conclusion.consensus
    return Answer(answers.category, answers.n_categories, (int(low), int(np.ceil(high))), answers.probability)
