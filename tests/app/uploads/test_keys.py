"""Keys that are made of texts, and the lines on which keys came first."""

from hypothesis import given
from hypothesis import strategies as st

from app.uploads.keys import DerivedKeys, FirstLines
from app.uploads.rows import Row

TEXTS = st.sampled_from(["", "a", "b", "a b", "a  b"])


def rows_of(texts: list[str]) -> list[Row]:
    """Rows without keys."""
    return [Row(line, text, None, None) for line, text in enumerate(texts, 1)]


@given(st.lists(TEXTS, max_size=30), st.randoms(use_true_random=False), st.integers(1, 7))
def test_keys_depend_neither_on_the_order_of_texts_nor_on_batches(texts: list[str], random: object, size: int) -> None:
    whole = [row.key for row in DerivedKeys().named(rows_of(texts))]
    keys, found = DerivedKeys(), []
    for start in range(0, len(texts), size):
        found += [row.key for row in keys.named(rows_of(texts)[start : start + size])]
    assert found == whole
    assert len(set(whole)) == len(texts)
    shuffled = list(texts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    again = DerivedKeys().named(rows_of(shuffled))
    assert sorted(zip(texts, map(str, whole), strict=True)) == sorted((row.text, str(row.key)) for row in again)


def test_a_key_that_was_given_is_left_alone() -> None:
    rows = [Row(1, "a", "mine", None), Row(2, "a", None, None), Row(3, "a", "", None)]
    [first, second, _] = DerivedKeys().named(rows)
    assert first.key == "mine"
    assert str(second.key).startswith("text-")
    assert not str(second.key).endswith("-2"), "it is the first of those without a key"


def test_rows_that_say_the_same_under_one_key_are_told_from_those_that_do_not() -> None:
    lines = FirstLines()
    lines.note([Row(1, "a", "k", None), Row(2, "b", "l", None), Row(3, "a", "k", None)])
    lines.note([Row(4, "a", "k", "x"), Row(5, "b", "l", None, {"n": 1}), Row(6, "c", "m", None)])
    assert lines.again() == ([(4, 1), (5, 2)], 1)
    assert (lines.of("k"), lines.of("m"), lines.of("none")) == (1, 6, None)
    assert FirstLines().again() == ([], 0)
