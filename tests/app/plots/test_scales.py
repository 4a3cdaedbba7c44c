"""Ticks and numbers."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.plots.scales import Scale, counted, percent, spread, ticks, written

VALUES = st.floats(min_value=-1e12, max_value=1e12, allow_nan=False)


@given(st.lists(VALUES, min_size=1), st.integers(3, 10))
def test_ticks_are_few_round_values_within_the_range(values: list[float], n: int) -> None:
    low, high = spread(values)
    found = ticks(low, high, n)
    assert low < high
    assert len(found) <= n + 1
    assert all(low - (high - low) * 1e-6 <= tick <= high + (high - low) * 1e-6 for tick in found)
    for before, after in pairwise(found):
        mantissa = (after - before) / 10.0 ** math.floor(math.log10(after - before) + 1e-4)
        assert min(abs(mantissa - each) for each in (1, 2, 5)) < 1e-2


@given(st.lists(st.integers(-10_000, 10_000), min_size=1), st.integers(3, 10))
def test_ticks_of_integers_are_integers(values: list[int], n: int) -> None:
    found = ticks(*spread(values, integers=True), n, integers=True)
    assert found
    assert all(tick == int(tick) for tick in found)


@given(VALUES, VALUES, VALUES)
def test_a_scale_is_a_straight_line_through_its_ends(low: float, value: float, high: float) -> None:
    low, high = spread([low, high])
    scale = Scale(low, high, 10, 110)
    assert scale(low) == pytest.approx(10)
    assert scale(high) == pytest.approx(110)
    assert scale(value) == pytest.approx(10 + 100 * ((value - low) / (high - low)))


@pytest.mark.parametrize(
    ("value", "step", "expected"),
    [
        (0, 1, "0"),
        (9999, 1, "9999"),
        (12345, 1, "12\u202f345"),
        (-1204556.3, 10, "\u22121\u202f204\u202f556"),
        (0.25, 0.05, "0.25"),
        (-0.0, 0.1, "0.0"),
        (0.0011, 0.0005, "0.0011"),
        (2.5e13, 1, "2.5e13"),
        (3.25e-9, 1e-10, "3.25e\u221209"),
        (0, 1e-10, "0"),
    ],
)  # fmt: skip
def test_a_number_is_written_as_exactly_as_the_steps_between_such(value: float, step: float, expected: str) -> None:
    assert written(value, step) == expected


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0, "0"), (0.001, "<1"), (0.005, "0"), (0.123, "12"), (0.996, ">99"), (1, "100")],
)
def test_a_percentage_does_not_round_to_none_or_all(share: float, expected: str) -> None:
    assert percent(share) == f"{expected}\u202f%"


def test_a_number_has_its_noun() -> None:
    assert [counted(n, "category", "categories") for n in (0, 1, 2)] == ["0 categories", "1 category", "2 categories"]
    assert counted(20_000, "document") == "20\u202f000 documents"
