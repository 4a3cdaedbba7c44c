"""What is judged by quanta, against the same choice by exact weights."""

import math

import numpy as np
import pytest

from sampler.corpus import Array
from sampler.lbpl_ntm.blocked import category_scores
from sampler.lbpl_ntm.blocked.category_scores import (
    HIGHEST_SCORE,
    MOST_TOKENS,
    NO_STICK,
    QUANTUM,
    CategoryScores,
    choose,
    quantize,
    score_words,
    stays,
)
from sampler.numerics import simd

N_WORDS, N_SLOTS = 50, 32


def scored(score: Array, log_stick: Array, slack: float = QUANTUM) -> CategoryScores:
    """Scores of words with these, float[V, S], and log sticks, float[S]; what else they hold is not looked at."""
    made = CategoryScores(
        log_stick=simd.aligned((1, N_SLOTS), np.float32),
        weight=np.ones(N_SLOTS, np.float32),
        seating=np.ones(N_SLOTS),
        chance=simd.aligned(score.shape, np.float32),
        score=simd.aligned(score.shape, np.float32),
        fresh=np.ones(score.shape[0], np.float32),
        leave=np.zeros(score.shape[::-1], np.float32),
        quanta=simd.aligned(score.shape, np.int16),
        stick_quanta=simd.aligned((1, N_SLOTS), np.int32),
        slack=np.array([slack]),
    )
    made.score[:], made.log_stick[0] = score, log_stick
    made.stick_quanta[0] = np.maximum(np.rint(made.log_stick[0] / QUANTUM), NO_STICK)
    quantize(made, 0, score.shape[0])
    return made


def sums_of(made: CategoryScores, words: Array) -> tuple[Array, Array]:
    """Sums over a document's words, in quanta and exactly."""
    quanta = made.stick_quanta + made.quanta[words].sum(axis=0, dtype=np.int32)
    return quanta.astype(np.int32), made.log_stick + made.score[words].sum(axis=0, dtype=np.float32)


def test_what_quanta_call_certain_is_what_the_exact_weights_choose() -> None:
    """Scores, documents and numbers of every size, half of the numbers next to the chance of the present category."""
    rng, weights = np.random.default_rng(51), np.empty(N_SLOTS)
    n_certain = 0
    for _ in range(3_000):
        score = rng.normal(0.0, 10.0 ** rng.uniform(-3, 1), (N_WORDS, N_SLOTS))
        log_stick = np.where(rng.random(N_SLOTS) < 0.3, -np.inf, rng.normal(-5.0, 3.0, N_SLOTS))
        made = scored(score, log_stick)
        words = rng.integers(N_WORDS, size=rng.integers(1, 200))
        quanta, exact = sums_of(made, words)
        current = int(exact[0].argmax()) if rng.random() < 0.8 else int(rng.integers(N_SLOTS))
        if not np.isfinite(log_stick[current]):
            continue
        shares = np.exp(exact[0].astype(float) - float(exact[0].max()))
        chance = float(shares[current] / shares.sum())
        near = min(max(chance * (1.0 + rng.normal(0.0, 1e-2)), 0.0), math.nextafter(1.0, 0.0))
        u = near if rng.random() < 0.5 else float(rng.random())
        if stays(made, quanta, 0, current, words.size, u):
            assert choose(exact, 0, current, u, weights) == current
            n_certain += 1
    assert n_certain > 1_000


def test_most_of_what_is_certain_is_seen_to_be() -> None:
    """A document of 100 words that prefers its category by 20 nats stays, but for a number within 1e-6 of one."""
    score, log_stick = np.zeros((N_WORDS, N_SLOTS)), np.full(N_SLOTS, -3.0)
    score[:, 7] = 0.2
    made, words = scored(score, log_stick), np.arange(100) % N_WORDS
    assert stays(made, sums_of(made, words)[0], 0, 7, words.size, 1.0 - 1e-6)
    assert not stays(made, sums_of(made, words)[0], 0, 7, words.size, 1.0 - 1e-12)


def test_a_score_beyond_the_quanta_only_makes_a_choice_less_certain() -> None:
    """At -100 nats a category counts as at -64: a word says less against it than it could."""
    score, log_stick = np.zeros((N_WORDS, N_SLOTS)), np.full(N_SLOTS, -3.0)
    score[:, 1:] = -100.0
    made = scored(score, log_stick)
    assert (made.quanta[:, 1:] * QUANTUM >= -64.0).all()
    assert stays(made, sums_of(made, np.zeros(1, int))[0], 0, 0, 1, 0.999)


@pytest.mark.parametrize(("slack", "n"), [(math.inf, 10), (QUANTUM, MOST_TOKENS + 1)])
def test_where_quanta_may_not_hold_nothing_is_certain(slack: float, n: int) -> None:
    score, log_stick = np.zeros((N_WORDS, N_SLOTS)), np.full(N_SLOTS, -3.0)
    score[:, 7] = 5.0
    made = scored(score, log_stick, slack)
    assert not stays(made, sums_of(made, np.zeros(10, int))[0], 0, 7, n, 0.0)


def test_the_sums_of_the_longest_document_do_not_overflow() -> None:
    """The least log stick and the least score of every token are still above the least int32, by far."""
    least = NO_STICK - MOST_TOKENS * int(category_scores.MOST_QUANTA)
    assert least > np.iinfo(np.int32).min
    assert float(category_scores.MOST_QUANTA) * QUANTUM > HIGHEST_SCORE


def test_scores_follow_from_chances_and_sticks() -> None:
    """fresh, score and leave as their definitions have them, float32; a category without a stick adds nothing."""
    rng = np.random.default_rng(52)
    made, served = scored(np.zeros((N_WORDS, N_SLOTS)), np.zeros(N_SLOTS)), np.array([0, 3, 7, 31])
    made.weight[:] = 0.0
    made.weight[[0, 3, 7]] = [0.2, 1e-4, 0.03]  # 31 is served, but no candidate
    made.chance[:] = 0.0
    made.chance[:, served] = rng.gamma(0.1, size=(N_WORDS, 4)) + 1e-20
    score_words(made, served, 0, N_WORDS)
    fresh = made.chance.astype(float) @ made.weight.astype(float)
    np.testing.assert_allclose(made.fresh, fresh, rtol=1e-6)
    np.testing.assert_allclose(
        made.score[:, served], np.log(made.chance[:, served] / fresh[:, None]), rtol=1e-6, atol=1e-6
    )
    assert (made.score[:, made.chance[0] == 0.0] < -80.0).all()
    leave = fresh[:, None] / made.chance[:, served] - made.weight[served]
    np.testing.assert_allclose(made.leave[served].T, leave, rtol=1e-5, atol=1e-6)
    assert (made.leave >= 0.0).all()
