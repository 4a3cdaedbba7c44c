"""An exception as logs show it: its type, where it was raised, and a message only where that holds nothing of clients.

A message may quote whatever was at hand: a KeyError names a label, a ValueError of a library the text that it could not
read, an error of a database the rows that it met. Local variables are never shown.
"""

import re
import traceback
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from sqlalchemy.exc import DBAPIError

MAX_FRAMES = 30  # of a traceback, the innermost ones
MAX_MESSAGE = 300  # characters
CONSTRAINTS = "23"  # begins the states of PostgreSQL whose messages quote names of ours
QUOTED = re.compile('"[^"]*"?')
WITHHELD = "(withheld: it may quote what a client sent)"

# Their messages name types, attributes, files and sizes, not values.
HARMLESS = (ArithmeticError, AttributeError, ImportError, IndexError, MemoryError, NameError, OSError, TypeError)


def described(error: BaseException) -> list[dict[str, Any]]:
    """The error and what it was raised from, each with type, message and frames, the innermost frame last."""
    return [
        {"type": name_of(found), "message": message_of(found), "frames": frames_of(found.__traceback__)}
        for found in chain_of(error)
    ]


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """The error, those that a group holds, and their causes; each once."""
    seen, waiting = set[int](), [error]
    while waiting:
        found = waiting.pop(0)
        if id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        if isinstance(found, BaseExceptionGroup):
            waiting += found.exceptions
        cause = found.__cause__ or (None if found.__suppress_context__ else found.__context__)
        if cause is not None:
            waiting.append(cause)


def name_of(error: BaseException) -> str:
    """The type of an error, with its module unless that is Python's own."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def message_of(error: BaseException) -> str:
    """What the error says, if it can hold nothing of a client's.

    Of an error of the database the first line of the driver's: behind it come rows, and the statement.
    """
    if isinstance(error, UnicodeError):
        return WITHHELD
    if isinstance(error, DBAPIError):
        line, state = first_line(error.orig), getattr(error.orig, "sqlstate", None) or ""
        return line if state.startswith(CONSTRAINTS) else QUOTED.sub('"..."', line)
    return first_line(error) if isinstance(error, HARMLESS) else WITHHELD


def first_line(error: BaseException | None) -> str:
    """The first line of an error's message."""
    return str(error).partition("\n")[0][:MAX_MESSAGE]


def frames_of(trace: TracebackType | None) -> list[str]:
    """Module, line and function of each frame: no source, no variables."""
    frames = [
        f"{frame.f_globals.get('__name__', '?')}:{line} in {frame.f_code.co_qualname}"
        for frame, line in traceback.walk_tb(trace)
    ]
    return frames[-MAX_FRAMES:]
