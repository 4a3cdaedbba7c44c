"""What a leg prepares once saves time and changes nothing: every step by itself gives the same bytes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sampler.calibrated import prepared as module
from sampler.calibrated import steps
from sampler.calibrated.power_test import hide, power_step
from sampler.calibrated.prepared import PreparedCorpus
from sampler.calibrated.sides import BOTH_SIDES
from sampler.numerics.threads import Threads
from tests.sampler.calibrated_harness import QUICK, calibrate, easy

SEED = 3


def as_bytes(results: list[steps.Arrays]) -> list[dict[str, bytes]]:
    """The results of steps, to the last bit."""
    return [{name: value.tobytes() for name, value in result.items()} for result in results]


def test_steps_of_one_leg_give_the_bytes_that_each_gives_in_a_leg_of_its_own() -> None:
    corpus = easy([30, 30, 30], [12, 12, 0], overlap=0.3).corpus
    done: list[steps.Arrays] = []
    with Threads() as threads:
        runs, together, _ = calibrate(corpus, threads, seed=SEED)
        alone = [steps.atom_run(PreparedCorpus(corpus, QUICK, SEED), n, threads) for n in range(len(runs))]
        for number in range(steps.n_calibration_steps(QUICK)):
            fresh = PreparedCorpus(corpus, QUICK, SEED)
            done.append(steps.calibration_step(fresh, runs, done, number, threads))
    assert as_bytes(alone) == as_bytes(runs)
    assert as_bytes(done) == as_bytes(together)


def test_all_steps_of_a_leg_and_its_power_tests_make_bags_and_each_start_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def counted(name: str) -> Callable[..., Any]:
        call = getattr(module, name)

        def count(*given: Any) -> Any:
            calls.append(name)
            return call(*given)

        return count

    for name in ("word_bags", "inverse_frequency", "seed_atoms", "side_of", "seed_side"):
        monkeypatch.setattr(module, name, counted(name))
    prepared = PreparedCorpus(easy([30, 30, 30], [12, 12, 0]).corpus, QUICK, SEED)
    with Threads() as threads:
        runs = steps.all_atom_runs(prepared, threads)
        steps.read_calibration(prepared, steps.all_steps(prepared, runs, threads), threads)
        once = [calls.count(name) for name in ("word_bags", "inverse_frequency", "seed_atoms")]
        assert once == [1, 1, 1]
        assert calls.count("side_of") == 2 and calls.count("seed_side") == 2 * QUICK.n_starts
        for category in range(2):
            power_step(prepared, runs, category, threads)
    assert [calls.count(name) for name in ("word_bags", "inverse_frequency", "seed_atoms")] == once
    assert calls.count("side_of") == 2 * 3, "other labels have other sides"


def test_other_labels_share_the_bags_and_nothing_that_follows_from_labels() -> None:
    corpus = easy([30, 30, 30], [12, 12, 0]).corpus
    prepared = PreparedCorpus(corpus, QUICK, SEED)
    with Threads() as threads:
        runs = steps.all_atom_runs(prepared, threads)
        learned = steps.learned_in(steps.all_steps(prepared, runs, threads))
        hidden = prepared.relabeled(hide(corpus, 0))
        again = steps.learned_in(steps.all_steps(hidden, runs, threads))
    assert hidden.bags is prepared.bags
    for number in BOTH_SIDES:
        before, after = prepared.side(number, learned).documents, hidden.side(number, again).documents
        assert not np.array_equal(before, after)
