"""When one sampler has passed another for good, and by what."""

import numpy as np
import pytest

from benchmarks.race import crossing, first_state, first_stay, log_words, twin
from sampler.corpus import UNLABELED
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.simulate import simulate


@pytest.mark.parametrize(
    ("log_joints", "index"),
    [
        ((-5.0, -3.0, -2.0, -1.0), 2),
        ((-1.0, -1.0), 0),
        ((-1.0, -3.0, -2.0, -1.0), 2),  # a first crossing that did not last
        ((-1.0, -3.0), None),
    ],
)
def test_a_trace_has_crossed_where_it_stays_above(log_joints, index):
    assert crossing(list(log_joints), -2.0) == index


def test_a_trace_crosses_its_own_end():
    assert crossing([-5.0, -4.0, -3.0], -3.0) == 2


@pytest.mark.parametrize(
    ("log_joints", "stay"),
    [
        ((-5.0, -2.0, -1.0, -3.0, -1.0), (1, 2)),
        ((-5.0, -2.0, -1.0), (1, 2)),
        ((-1.0, -3.0), (0, 0)),
        ((-5.0, -3.0), None),
    ],
)
def test_a_first_stay_ends_where_the_trace_falls_again(log_joints, stay):
    assert first_stay(list(log_joints), -2.0) == stay


def test_the_words_have_the_same_probability_in_both_kernels_and_token_by_token():
    rng, model = np.random.default_rng(5), Hyperparameters(n_topics=6, n_start=4)
    labels = np.where(np.arange(60) % 3 == 0, np.arange(60) % 2, UNLABELED)
    corpus = simulate(rng.integers(0, 30, 60), labels, 50, 2, model, rng, gamma=2.0).corpus
    slow = first_state(corpus, model, 5, "prior")
    assert log_words(corpus, model, twin(corpus, model, slow)) == pytest.approx(log_words(corpus, model, slow))
    for _ in range(3):
        chain.sweep(corpus, model, slow)
    total, topics = 0.0, slow.assignments.topic
    categories = slow.assignments.category[slow.assignments.table]
    for word, category in zip(corpus.words, categories, strict=True):
        chance = 0.0
        for topic in range(6):
            in_category = ((categories == category) & (topics == topic)).sum() + model.zeta
            of_word = ((corpus.words == word) & (topics == topic)).sum() + model.beta
            theta = in_category / ((categories == category).sum() + 6 * model.zeta)
            chance += theta * of_word / ((topics == topic).sum() + 50 * model.beta)
        total += np.log(chance)
    assert log_words(corpus, model, slow) == pytest.approx(total / corpus.n_tokens)
