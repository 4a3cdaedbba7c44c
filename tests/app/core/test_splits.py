"""Which labels a split shows: as many as it says, chosen by seed and key alone."""

import random
from itertools import pairwise

from app.core.splits import Split, choose

SIZES = {"fruit": 25, "metal": 3, "river": 10, "single": 1}
DOCUMENTS = [
    (number, f"{label}-{n}", label)
    for number, (label, n) in enumerate((label, n) for label, size in SIZES.items() for n in range(size))
]
KNOWN = ["fruit", "metal", "single"]


def keys(chosen: set[int], documents: list[tuple[int, str, str]] = DOCUMENTS) -> set[str]:
    return {key for number, key, _ in documents if number in chosen}


def test_of_each_known_category_the_share_is_seen_and_at_least_one_document() -> None:
    seen = [label for number, _, label in DOCUMENTS if number in choose(DOCUMENTS, Split(5, KNOWN, 0.4))]
    assert {label: seen.count(label) for label in SIZES} == {"fruit": 10, "metal": 1, "single": 1, "river": 0}
    few = [label for number, _, label in DOCUMENTS if number in choose(DOCUMENTS, Split(5, KNOWN, 0.001))]
    assert {label: few.count(label) for label in KNOWN} == dict.fromkeys(KNOWN, 1)


def test_the_choice_depends_on_neither_the_order_nor_the_ids_of_documents() -> None:
    expected = keys(choose(DOCUMENTS, Split(5, KNOWN, 0.4)))
    shuffled = random.Random(1).sample(DOCUMENTS, len(DOCUMENTS))
    renumbered = [(1_000 + place, key, label) for place, (_, key, label) in enumerate(shuffled)]
    assert keys(choose(iter(renumbered), Split(5, KNOWN, 0.4)), renumbered) == expected


def test_what_one_category_shows_does_not_depend_on_which_others_are_known() -> None:
    fruit = {key for key in keys(choose(DOCUMENTS, Split(5, KNOWN, 0.4))) if key.startswith("fruit")}
    assert keys(choose(DOCUMENTS, Split(5, ["fruit"], 0.4))) == fruit


def test_splits_are_drawn_evenly_and_apart_from_each_other() -> None:
    # Each of 25 documents is seen with probability .4: in 400 splits 160 times, give or take 9.8; 5 of these are 49.
    # Two splits have 10 * 10 / 25 = 4 documents in common on average, with a variance of 4 * .6 * 15 / 24 = 1.5; of the
    # mean over 399 neighbours 5 standard errors are .31, and how neighbours depend on each other is weak.
    chosen = [choose(DOCUMENTS, Split(seed, ["fruit"], 0.4)) for seed in range(400)]
    counts = [sum(number in seen for seen in chosen) for number in range(25)]
    assert all(abs(n - 160) < 49 for n in counts)
    in_common = [len(one & other) for one, other in pairwise(chosen)]
    assert abs(sum(in_common) / len(in_common) - 4) < 0.31
