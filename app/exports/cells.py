"""Values as the cells of a table: what spreadsheets take for a formula, and what an upload reads back."""

import json
import re
from collections.abc import Callable
from typing import Any

from app.exports.tables import Column

# What a spreadsheet would run. An apostrophe before it is the spreadsheet's own sign for a text. Texts that begin with
# such an apostrophe get another one, so that whoever takes one off has the text as it was.
FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
JSON_BEGINNING = re.compile(r'\s*["\[{\-0-9tfnNI]')
MAX_LINES = 1_000  # of a cell that stands as it is: an upload reads records of many more, but not of any number

ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
ESCAPING_ENCODER = json.JSONEncoder(separators=(",", ":"))

IsPlain = Callable[[str], bool]


def safe(cell: str) -> str:
    """The cell as no spreadsheet runs it."""
    return "'" + cell if FORMULA.match(cell) else cell


def written(value: Any) -> str:
    """A value as JSON."""
    return ENCODER.encode(value)


def escaped(value: Any) -> str:
    """A value as JSON in letters that every format holds."""
    return ESCAPING_ENCODER.encode(value).replace("_x", "\\u005fx")


def is_json(text: str) -> bool:
    """Whether a text could be read as JSON; what nobody can read for sure counts."""
    if not JSON_BEGINNING.match(text):
        return False
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    except (ValueError, RecursionError):
        return True
    return True


def any_text(_: str) -> bool:
    """Every text can stand in a cell as it is."""
    return True


def is_plain_in_csv(text: str) -> bool:
    """Whether an upload of CSV reads the text as it is: ends of lines become LF, and empty cells are nothing."""
    return bool(text) and "\r" not in text and text.count("\n") < MAX_LINES


def cell_writer(column: Column, is_plain: IsPlain) -> Callable[[Any], tuple[str, bool]]:
    """A function that writes a value, not None, as a cell; and says whether it is a text of a client's."""

    def text(value: Any) -> tuple[str, bool]:
        return value, True

    def name(value: str) -> tuple[str, bool]:
        if (is_plain(value) or not value) and not (value.startswith('"') and is_json(value)):
            return value, True
        return escaped(value), False

    def value_for_people(value: Any) -> tuple[str, bool]:
        return (value, True) if isinstance(value, str) else (written(value), False)

    def json_value(value: Any) -> tuple[str, bool]:
        if not isinstance(value, str):
            return escaped(value), False
        return (value, True) if is_plain(value) and not is_json(value) else (escaped(value), False)

    def of_ours(value: Any) -> tuple[str, bool]:
        return escaped(value), False

    return {
        "text": text,
        "name": name,
        "value": value_for_people,
        "json": json_value,
    }.get(column.kind, of_ours)
