"""Normal forms of any text, however many marks it has in a row."""

import time
import unicodedata

import pytest

from sampler.text import words_of
from sampler.text.normal_forms import NO_MARK, normal_form
from tests.waits import slowness

ACUTE, DOT_BELOW = "\u0301", "\u0323"  # are sorted: the dot comes first


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC"])
@pytest.mark.parametrize(
    "text", ["plain", "caf\u00e9", "e\u0301\u0323a\u0323\u0301", "\ufb01\u01c4 \u1e69", f"a{ACUTE * 30}b"]
)
def test_of_texts_that_people_write_it_is_the_normal_form(form: str, text: str) -> None:
    assert normal_form(form, text) == unicodedata.normalize(form, text)  # type: ignore[arg-type]


def test_more_marks_in_a_row_than_any_language_has_are_parted() -> None:
    found = normal_form("NFD", "a" + (ACUTE + DOT_BELOW) * 31)
    assert found == "a" + NO_MARK.join([DOT_BELOW * 15 + ACUTE * 15, DOT_BELOW * 15 + ACUTE * 15, DOT_BELOW + ACUTE])
    assert found == normal_form("NFD", found)


def test_half_a_million_marks_take_no_longer_than_other_characters() -> None:
    """Sorted as one row, as many take minutes."""
    text = "a" + (ACUTE + DOT_BELOW) * 250_000
    began = time.process_time()
    normal_form("NFC", text)
    words_of(text)
    assert time.process_time() - began < 5 * slowness()
