"""Names of new categories."""

import pytest

from app.core.category_names import names_of_new, with_words
from app.core.tables import MAX_NAME


def test_a_new_category_is_called_after_its_three_best_words() -> None:
    words = [["pin", "change", "account", "card"], ["refund"], []]
    assert names_of_new(["cards"], words) == ["new 1: pin, change, account", "new 2: refund", "new 3"]


def test_numbers_that_labels_bear_are_skipped_and_no_two_names_are_equal() -> None:
    labels = ["new 1", "new 3: pin, change, account", "new york", "new"]
    assert names_of_new(labels, [["pin"]] * 3) == ["new 2: pin", "new 4: pin", "new 5: pin"]


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["plasmas", "plasma", "laser", "electron"], "plasmas, laser, electron"),
        (["price", "pricing", "priced", "risk"], "price, risk"),
        (["wave", "microwave", "field"], "wave, field"),
        (["market", "model", "mode"], "market, model"),
        (["机器", "器学", "学习"], "机器, 器学, 学习"),
        (["car", "cat", "cap", "can"], "car, cat, cap"),
    ],
)
def test_forms_of_one_word_are_named_once(words: list[str], kept: str) -> None:
    assert with_words("new 1", words) == f"new 1: {kept}"


def test_words_that_make_a_name_too_long_are_left_out() -> None:
    long = "x" * (MAX_NAME - 12)
    assert with_words("new 1", ["short", long, "word"]) == "new 1: short, word"
    assert len(with_words("new 1", [long])) <= MAX_NAME
    assert with_words("new 1", ["y" * MAX_NAME]) == "new 1"
