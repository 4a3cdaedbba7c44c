"""What is said of chains that agree or do not, and have mixed or have not."""

import re
from collections.abc import Sequence

import numpy as np
import pytest

from sampler.answers.consensus import Consensus
from sampler.answers.pooling import Level, Pooled, verdict
from sampler.corpus import Array


def pooled_of(agreed: float | None, category_stability: Sequence[float] = (1.0,)) -> Pooled:
    """All that a verdict looks at: two chains that agree by so much, or one."""
    matrix = np.ones((1, 1)) if agreed is None else np.array([[1.0, agreed], [agreed, 1.0]])
    empty = np.empty(0)
    return Pooled(Consensus(0, *[empty] * 5), 0, matrix, empty, np.array(category_stability))


def draws_of(shift: float, n_draws: int = 1000) -> Array:
    """Two chains of independent draws, the second one shifted: R-hat is about sqrt(1 + shift^2 / 3)."""
    return np.array([[0.0], [shift]]) + np.random.default_rng(6).standard_normal((2, n_draws))


GOOD, FAIR, POOR, BAD = 0.0, 0.43, 0.68, 1.5  # shifts: 1.03, 1.07 and 1.3


def test_chains_that_agree_and_have_mixed_are_sound() -> None:
    found = verdict(pooled_of(0.95), {"the log joint": draws_of(GOOD), "K": draws_of(GOOD)})
    assert found.level == "sound" and len(found.reasons) == 1


@pytest.mark.parametrize(
    ("agreed", "shift", "level", "first"),
    [
        (0.95, FAIR, "mixed", "The draws of K are worth"),
        (0.95, POOR, "mixed", r"R-hat of K is 1.0\d\d, above 1.05"),
        (0.95, BAD, "mixed", r"R-hat of K is 1.\d\d\d, above 1.1"),
        (0.75, BAD, "unreliable", r"R-hat of K is 1.\d\d\d, above 1.1"),
        (0.75, GOOD, "mixed", "The chains' answers agree by 0.75 .*, less than 0.8"),
        (0.55, GOOD, "unreliable", "The chains' answers agree by 0.55 .*, less than 0.6"),
    ],
)
def test_the_reason_that_decides_stands_first(agreed: float, shift: float, level: Level, first: str) -> None:
    """A large R-hat makes answers unreliable on which the chains do not agree."""
    found = verdict(pooled_of(agreed), {"K": draws_of(shift)})
    assert found.level == level
    assert re.match(first, found.reasons[0].sentence)


def test_a_fair_r_hat_is_told() -> None:
    assert any("above 1.01" in reason.sentence for reason in verdict(pooled_of(0.95), {"K": draws_of(FAIR)}).reasons)


def test_one_chain_cannot_be_sound() -> None:
    found = verdict(pooled_of(None), {"K": draws_of(GOOD)[:1]})
    assert found.level == "mixed" and found.reasons[0].sentence.startswith("One chain cannot show")
    assert verdict(pooled_of(None), {"K": np.arange(500.0)[None]}).level == "unreliable"


def test_chains_that_stay_at_different_values_are_told() -> None:
    found = verdict(pooled_of(0.5), {"K": np.repeat([[4], [5]], 200, axis=1)})
    assert any(reason.sentence.startswith("R-hat of K is inf, above 1.1") for reason in found.reasons)
    assert any(reason.sentence.startswith("The draws of K are worth 0 independent ones") for reason in found.reasons)


def test_few_draws_are_told() -> None:
    found = verdict(pooled_of(0.95), {"K": draws_of(GOOD, n_draws=60)})
    assert found.level == "mixed" and "fewer than 100 a chain" in found.reasons[0].sentence
    found = verdict(pooled_of(0.95), {"K": [[1, 2, 3], [1, 2, 3, 4]]})
    assert found.level == "unreliable" and [reason.sentence for reason in found.reasons] == [
        "3 kept draws of K are too few to judge by"
    ]


def test_unstable_categories_are_named() -> None:
    found = verdict(pooled_of(0.95, category_stability=(0.9, 0.5, np.nan, 0.1)), {"K": draws_of(GOOD)})
    assert found.level == "mixed" and found.reasons[0].categories == (1, 3)
    assert found.reasons[0].told(["a", "b", "c", "new 1"]).endswith("(stability below 0.6): b, new 1.")
