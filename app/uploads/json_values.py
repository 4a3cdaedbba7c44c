"""JSON as uploads have it: what Python reads, but for what no database could keep."""

import json
from math import isinf

from app.uploads.rows import BadRow


class UnreadableNumber(ValueError):
    """A number that no float can hold."""


def finite(digits: str) -> float:
    """A number with a point or an exponent."""
    value = float(digits)
    if isinf(value):
        raise UnreadableNumber("a number that is too large")
    return value


def constant(name: str) -> None:
    """Python and pandas write NaN for what is missing; it is the same as null here."""
    if name != "NaN":
        raise UnreadableNumber(f"{name}, which is no number of JSON")


DECODER = json.JSONDecoder(parse_float=finite, parse_constant=constant)


def value_of(text: str, what: str) -> object:
    """The JSON in a text; `what` it is called in a reason. Raises BadRow."""
    try:
        return DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise BadRow(f"{what} is not JSON: {error.msg} at character {error.pos + 1}") from error
    except UnreadableNumber as error:
        raise BadRow(f"{what} has {error}") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; brackets in brackets
        raise BadRow(f"{what} is JSON that cannot be read: a huge number, or too deeply nested") from error
