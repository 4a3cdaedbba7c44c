"""Vectors as files have them: which column holds them, and what makes one of a value."""

from collections.abc import Iterable
from math import isfinite, isnan

import numpy as np

from app.core.vectors import LONGEST, SHORTEST, to_bytes
from app.uploads.json_values import value_of
from app.uploads.rows import BadRow

NUMBERS = frozenset((float, int))


def could_be_vector(value: object) -> bool:
    """Whether a value may be a vector, perhaps a bad one, rather than a field that happens to be called so."""
    if isinstance(value, str):
        return value.strip() in ("", "null") or value.lstrip().startswith("[")
    return value is None or (isinstance(value, list) and not any(isinstance(item, str) for item in value))


def could_be_vectors(values: Iterable[object]) -> bool:
    """Whether all of some values may be vectors."""
    return all(map(could_be_vector, values))


def vector_bytes(value: object) -> bytes | None:
    """The vector in a value, as it is stored; None if there is none. Raises BadRow."""
    if isinstance(value, str):
        value = value_of(value, "`vector`") if value.strip() else None
    if value is None:
        return None
    if not isinstance(value, list):
        raise BadRow("`vector` is not a list of numbers")
    if not set(map(type, value)) <= NUMBERS:
        place = next(n for n, item in enumerate(value, 1) if type(item) not in NUMBERS)
        raise BadRow(f"{kind_of(value[place - 1])} at place {place} of `vector`; {ADVICE}")
    check_length(len(value))
    try:
        numbers = np.array(value, np.float64)
    except OverflowError:
        raise BadRow("`vector` has a number that is too large") from None
    if not np.isfinite(numbers).all():
        place = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise BadRow(not_finite(float(numbers[place]), place + 1))
    return to_bytes(numbers)


ADVICE = "a vector is a list of numbers, none of them missing: leave it out as a whole where there is none"


def kind_of(item: object) -> str:
    """What stands in the place of a number."""
    if item is None:
        return "null or NaN"
    return "a list" if isinstance(item, list) else "an object" if isinstance(item, dict) else f"{item!r:.50}"


def not_finite(number: float, place: int) -> str:
    """Why a vector cannot be used that has a number which is not finite."""
    return f"{'NaN' if isnan(number) else 'an infinite number'} at place {place} of `vector`; {ADVICE}"


def check_length(length: int) -> None:
    """Raise BadRow for a vector that is too short or too long."""
    if not SHORTEST <= length <= LONGEST:
        raise BadRow(f"`vector` has {numbers_in(length)}: one has from {SHORTEST} to {LONGEST:,}")


def wrong_length(length: int, expected: int) -> str:
    """Why a vector cannot be used beside others."""
    return f"`vector` has {numbers_in(length)}, but those of the corpus have {expected}: all must come from one model"


def numbers_in(length: int) -> str:
    """So many numbers."""
    return "1 number" if length == 1 else f"{length:,} numbers"


def all_finite(values: list[object]) -> bool:
    """Whether a list is of nothing but finite floats; False also for some whose sum is too large."""
    return set(map(type, values)) == {float} and isfinite(sum(values))  # type: ignore[arg-type]
