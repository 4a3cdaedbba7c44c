"""What is said of chains that agree or do not, and have mixed or have not."""

import re
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.sparse import csr_array

from sampler.answers.consensus import Consensus
from sampler.answers.others import no_others
from sampler.answers.pooling import Pooled
from sampler.answers.verdict import Level, Reason, Verdict, verdict
from sampler.corpus import Array


def pooled_of(agreed: float | None, category_stability: Sequence[float] = (1.0,)) -> Pooled:
    """All that a verdict looks at: two chains that agree by so much, or one."""
    matrix = np.ones((1, 1)) if agreed is None else np.array([[1.0, agreed], [agreed, 1.0]])
    empty = np.empty(0)
    return Pooled(
        Consensus(0, *[empty] * 5, *no_others(0)), 0, matrix, empty, np.array(category_stability), csr_array((0, 0))
    )


def draws_of(shift: float, n_draws: int = 1000) -> Array:
    """Two chains of independent draws, the second one shifted: R-hat is about sqrt(1 + shift^2 / 3)."""
    return np.array([[0.0], [shift]]) + np.random.default_rng(6).standard_normal((2, n_draws))


GOOD, FAIR, BAD = 0.0, 0.43, 1.5  # shifts: R-hat 1, 1.03 and 1.3


def judged(agreed: float | None, draws: Array | Sequence[Sequence[int]], *more: Reason) -> Verdict:
    """The verdict on chains that agree by so much and have these draws of a quantity K."""
    return verdict(pooled_of(agreed), 0, {"K": draws}, more)


def test_chains_that_agree_and_have_mixed_are_sound() -> None:
    found = judged(0.95, draws_of(GOOD))
    assert found.level == "sound" and len(found.reasons) == 1


@pytest.mark.parametrize(
    ("agreed", "shift", "level", "first"),
    [
        (0.95, FAIR, "mixed", "The draws of K are worth"),
        (0.95, BAD, "mixed", r"R-hat of K is 1.\d\d\d, above 1.1"),
        (0.8, GOOD, "mixed", "The chains' answers agree by 0.80 .*, less than 0.85"),
        (0.65, GOOD, "unreliable", "The chains' answers agree by 0.65 .*, less than 0.7"),
        (0.65, BAD, "unreliable", "The chains' answers agree by 0.65 .*, less than 0.7"),
    ],
)
def test_the_reason_that_decides_stands_first(agreed: float, shift: float, level: Level, first: str) -> None:
    found = judged(agreed, draws_of(shift))
    assert found.level == level
    assert re.match(first, found.reasons[0].sentence)


def test_one_chain_cannot_be_sound() -> None:
    found = judged(None, draws_of(GOOD)[:1])
    assert found.level == "mixed" and found.reasons[0].sentence.startswith("One chain cannot show")


def test_chains_that_stay_at_different_values_are_told() -> None:
    found = judged(0.5, np.repeat([[4], [5]], 200, axis=1))
    assert any(reason.sentence.startswith("R-hat of K is inf, above 1.1") for reason in found.reasons)
    assert any(reason.sentence.startswith("The draws of K are worth 0 independent ones") for reason in found.reasons)


def test_few_draws_are_told() -> None:
    found = judged(0.95, draws_of(GOOD, n_draws=20))
    assert found.level == "mixed" and "fewer than 25 a chain" in found.reasons[0].sentence
    found = judged(0.95, [[1, 2, 3], [1, 2, 3, 4]])
    assert found.level == "unreliable"
    assert [reason.sentence for reason in found.reasons] == ["3 kept draws of K are too few to judge by"]


def test_the_default_settings_can_be_sound() -> None:
    """Four chains keep 80 draws each."""
    draws = np.random.default_rng(8).standard_normal((4, 80))
    assert judged(0.95, draws).level == "sound"


def test_a_finding_of_the_models_own_decides_as_others_do_and_a_note_does_not() -> None:
    note, doubt = Reason("sound", "Beside the point"), Reason("mixed", "To the point")
    assert judged(0.95, draws_of(GOOD), note).level == "sound"
    found = judged(0.95, draws_of(GOOD), note, doubt)
    assert found.level == "mixed" and found.reasons == (doubt, note)


def test_unstable_categories_are_named_and_make_an_answer_mixed_if_many_of_the_new_ones_are() -> None:
    """Of four new categories one is not many."""
    for stability, level in (((0.5, 0.9, 0.9, 0.9, 0.1), "sound"), ((0.5, 0.9, 0.9, 0.1, 0.1), "mixed")):
        found = verdict(pooled_of(0.95, stability), 1, {"K": draws_of(GOOD)})
        assert found.level == level
        [told] = [reason for reason in found.reasons if reason.categories]
        assert told.categories == tuple(np.flatnonzero(np.array(stability) < 0.6))
        assert told.told(["a", "b", "c", "d", "new 1"]).endswith("new 1.")


def test_a_sentence_names_ten_categories_at_most() -> None:
    names = [f"c{k}" for k in range(30)]
    assert Reason("mixed", "These", tuple(range(10))).told(names) == f"These: {', '.join(names[:10])}."
    assert Reason("mixed", "These", tuple(range(30))).told(names) == f"These: {', '.join(names[:10])} and 20 more."
