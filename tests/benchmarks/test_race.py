"""When one sampler has passed another for good."""

import pytest

from benchmarks.race import Moment, crossing, first_stay


def trace(*log_joints: float) -> list[Moment]:
    """A trace of a second a sweep."""
    return [Moment(1.0 + index, 1.0 + index, value, 3) for index, value in enumerate(log_joints)]


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
    assert crossing(trace(*log_joints), -2.0) == index


def test_a_trace_crosses_its_own_end():
    assert crossing(trace(-5.0, -4.0, -3.0), -3.0) == 2


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
    assert first_stay(trace(*log_joints), -2.0) == stay
