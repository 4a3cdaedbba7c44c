"""Contests: our chains against one another, each in its own process."""

import numpy as np

from benchmarks import contest, corpora, ours, speed
from benchmarks.contest import Contestant, Pace
from sampler.corpus import UNLABELED
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm.simulate import simulate


def small_corpus():
    """Thirty documents of twenty words."""
    labels = np.array([0, UNLABELED, UNLABELED] * 10, np.int32)
    hyperparameters = Hyperparameters(n_topics=4)
    return simulate(np.full(30, 20), labels, 40, 1, hyperparameters, np.random.default_rng(1), gamma=1.0).corpus


def test_every_contestant_sweeps_in_every_round_and_one_that_fails_says_so(tmp_path):
    folder = corpora.store(small_corpus(), tmp_path / "corpus")
    contestants = [Contestant("Algorithm 1", "collapsed", 1), Contestant("nobody", "lda", 1)]
    n_start = {"collapsed": 2, "lda": -1}  # which is refused
    failed, line = contest.hold(contestants, folder, n_start, Pace(warm=1, rounds=3, lead=1, sweeps=2))
    assert failed["name"] == "nobody" and "status 1" in failed["error"]
    assert line["rounds"] == 3 and line["n_start"] == 2 and line["tokens"] == 600
    assert 0 < line["fastest"] <= line["seconds_per_sweep"] <= line["slowest"]


def test_bytes_of_a_state_count_every_array_once():
    corpus, hyperparameters = small_corpus(), Hyperparameters(n_topics=4)
    chain = ours.Chain(corpus, "collapsed", 1, hyperparameters, seed=0)
    held = ours.sizes({"corpus": corpus, "state": chain.state, "again": chain.state})
    state = chain.state
    expected = [*corpus[:3], *state.assignments, *state.counts, *state.tally[1:]]
    assert held["corpus.words"] == 4 * 600 and held["state.counts.category_tables"] == 8 * state.identity.size
    assert sum(held.values()) == sum(array.nbytes for array in expected)


def test_peers_are_compared_with_ours_on_as_many_threads():
    def line(name: str, threads: int, seconds: float, n_categories: int) -> dict[str, object]:
        fields = dict.fromkeys(speed.RATIOS.values(), seconds)
        return {"name": name, "threads": threads, "K": n_categories, **fields}

    lines = [
        line("blocked, 1 thread", 1, 2.0, 20),
        line("blocked, 2 threads", 2, 1.0, 20),
        line("Algorithm 1", 1, 30.0, 22),
        line("tomotopy HDP, 2 workers", 2, 6.0, 5),
    ]
    found = {
        comparison["name"]: (comparison["ratio"], comparison["K_alike"])
        for comparison in speed.comparisons("corpus", {str(one["name"]): one for one in lines})
    }
    assert found == {
        "Algorithm 1 / blocked, 1 thread": (15.0, True),
        "tomotopy HDP, 2 workers / blocked, 2 threads": (6.0, False),
        "blocked, 1 thread / blocked, 2 threads": (2.0, True),
    }
