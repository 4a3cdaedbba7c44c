"""Short ids of categories."""

import re
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from worker import short_ids
from worker.short_ids import of_categories, paired, shortest_free


def test_ids_are_six_characters_of_crockfords_alphabet() -> None:
    found = of_categories([f"category {n}" for n in range(500)], [[f"key {n}", "other"] for n in range(500)], {})
    assert all(re.fullmatch("c-[0-9a-hjkmnp-tv-z]{6,}", each) for each in found)
    symbols = Counter("".join(each[2:] for each in found))
    assert len(symbols) == 32, "6,000 symbols: one is missing with a chance of 1e-81"


def test_the_id_of_a_known_category_depends_on_its_name_alone() -> None:
    one, other = of_categories(["astronomy", "optics"], [["a"]], {}), of_categories(["metals", "optics"], [], {})
    assert one[1] == other[1]
    assert one[0] != other[0]


def test_the_id_of_a_new_category_depends_on_the_documents_that_stand_for_it() -> None:
    [first, second] = of_categories([], [["a", "b"], ["a", "c"]], {})
    assert first != second
    assert of_categories(["optics"], [["a", "c"]], {})[1] == second


def test_equal_ids_of_one_job_take_more_of_the_digest() -> None:
    symbols = "0123456789abcdefgh"
    taken = {"c-012345", "c-0123456"}
    assert shortest_free(symbols, taken) == "c-01234567"
    twice = of_categories(["optics", "optics"], [], {})
    assert twice[1].startswith(twice[0]) and len(twice[1]) == 9


def test_an_inherited_id_stays_and_no_other_category_takes_it() -> None:
    [own] = of_categories([], [["a"]], {})
    found = of_categories(["optics"], [["a"], ["b"]], {2: own})
    assert found[2] == own
    assert found[1] != own and found[1].startswith(own)


def test_new_categories_inherit_from_those_that_share_most_documents_one_to_one() -> None:
    before = np.array([3] * 10 + [4] * 6 + [-1] * 4)
    now = np.array([7] * 8 + [5] * 2 + [5] * 6 + [6] * 4)
    assert paired(before, now, {3: "c-three", 4: "c-four"}) == {7: "c-three", 5: "c-four"}
    assert paired(before, np.array([7] * 5 + [8] * 5 + [9] * 10), {3: "c-three", 4: "c-four"}) == {
        7: "c-three",
        9: "c-four",
    }, "half is enough, and goes to the first of two; of the ten in the last category six were in the other"
    assert paired(before, np.full(20, 5), {3: None, 4: None}) == {}, "results from before there were ids"


def test_documents_that_left_a_category_count_against_it() -> None:
    before, now = np.array([3] * 10), np.array([5] * 4 + [-1] * 6)
    assert paired(before, now, {3: "c-three"}) == {}
    assert short_ids.SIMILAR == 0.5


def test_what_became_known_leaves_its_id_to_nobody() -> None:
    before = np.array([3] * 10)
    now = np.array([0] * 5 + [5] * 5)
    assert paired(before, now, {3: "c-three"}, n_known=1) == {}, "half each: the known one comes first"
    assert paired(before, np.array([0] * 4 + [5] * 6), {3: "c-three"}, n_known=1) == {5: "c-three"}


def test_a_known_category_has_its_own_id_whatever_new_ones_inherit() -> None:
    [optics] = of_categories(["optics"], [], {})
    known, new = of_categories(["optics"], [["a"]], {1: optics})
    assert known == optics
    assert new == of_categories([], [["a"]], {})[0]


def test_an_id_that_stood_for_another_category_is_not_given_again() -> None:
    [own] = of_categories([], [["a"]], {})
    [longer] = of_categories([], [["a"]], {}, spent={own})
    assert longer.startswith(own) and longer != own


partitions = st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 4)), max_size=40)


@given(partitions)
def test_each_id_goes_to_one_category_and_only_where_half_of_the_documents_are_the_same(
    documents: list[tuple[int, int]],
) -> None:
    before, now = (np.array([each[side] for each in documents], np.int64) for side in (0, 1))
    found = paired(before, now, {category: f"c-{category}" for category in range(5)}, n_known=2)
    assert len(set(found.values())) == len(found)
    for category, own in found.items():
        is_now, was = now == category, before == int(own[2:])
        assert category >= 2
        assert (is_now & was).sum() / (is_now | was).sum() >= 0.5
