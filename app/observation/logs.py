"""One format for all that the service's processes log: one line an event, as text or as a JSON object.

Whoever logs uses Python's own `logging`; libraries do as well. What belongs to an event besides its sentence comes from
where it happens: the request's id, the job and unit that a leg works on (`structlog.contextvars`), or `fields`, which
the caller hands over as `extra={"fields": {...}}`.

Nothing that a client sent makes a line of its own: control characters are escaped, and messages of exceptions that may
quote it are withheld (`app.observation.exceptions`).
"""

import json
import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog
from structlog.stdlib import ProcessorFormatter

from app.core import request_ids
from app.observation.exceptions import described

Event = MutableMapping[str, Any]

FIRST = ("time", "level", "process", "logger", "event", "request_id", "job_id", "unit_id")
QUIET = ("alembic.runtime.plugins", "amqp", "celery", "httpx", "kombu", "opentelemetry")  # below warnings
# What libraries say at every start, and nobody needs to know.
IDLE = ("Context impl ", "Will assume transactional DDL", "Waiting for application ", "Application startup complete")
FOR_TERMINALS = " (Press CTRL+C to quit)"  # uvicorn, which is a child
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
BARE = re.compile(r"[^\s\"'=\\]+")  # a value that needs no quotes
INDENT = "    | "


def configure(log_format: str, level: str, process: str) -> None:
    """Log on standard error, in this process; nothing happens if somebody has set up logging before, as tests do."""
    root = logging.getLogger()
    if root.handlers:
        return
    root.addHandler(handler(log_format, process))
    root.setLevel(level)
    logging.captureWarnings(True)
    for name in QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level) if level != "DEBUG" else logging.DEBUG)


def handler(log_format: str, process: str) -> logging.Handler:
    """What writes records of this process in one of the formats."""
    made = StandardError()
    made.setFormatter(formatter(log_format, process))
    made.addFilter(lambda record: not record.getMessage().startswith(IDLE))
    return made


class StandardError(logging.StreamHandler[TextIO]):
    """A handler that writes to what is standard error by then."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        """Where it writes to."""
        return sys.stderr


def formatter(log_format: str, process: str) -> logging.Formatter:
    """Makes a line of a record, `text` or `json`."""

    def add_process(_: Any, __: str, event: Event) -> Event:
        event["process"] = process
        return event

    return ProcessorFormatter(
        foreign_pre_chain=[structlog.contextvars.merge_contextvars, structlog.stdlib.add_log_level],
        processors=[
            add_process,
            add_record,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            ProcessorFormatter.remove_processors_meta,
            describe_exception,
            as_json if log_format == "json" else as_text,
        ],
    )


def add_record(_: Any, __: str, event: Event) -> Event:
    """Add what the record and its context say: the logger, the request, and the caller's own fields."""
    record: logging.LogRecord = event["_record"]
    event["logger"] = "uvicorn" if record.name == "uvicorn.error" else record.name
    event["event"] = str(event["event"]).removesuffix(FOR_TERMINALS)
    if (request_id := request_ids.current.get()) is not None:
        event["request_id"] = request_id
    event.update(getattr(record, "fields", {}))
    return event


def describe_exception(_: Any, __: str, event: Event) -> Event:
    """Put the exception, if there is one, into the event as it may be shown."""
    found = event.pop("exc_info", None)
    event.pop("stack_info", None)
    error = found[1] if isinstance(found, tuple) else found
    if isinstance(error, BaseException):
        event["exception"] = described(error)
    return event


def in_order(event: Event) -> dict[str, Any]:
    """The event with what all have in common first, and without what it has not."""
    first = {name: event[name] for name in FIRST if event.get(name) is not None}
    return first | {name: value for name, value in event.items() if name not in FIRST and value is not None}


def as_json(_: Any, __: str, event: Event) -> str:
    """The event as a JSON object in ASCII."""
    return json.dumps(in_order(event), default=str)


def as_text(_: Any, __: str, event: Event) -> str:
    """The event as a line; an exception follows, on lines that are indented."""
    told = in_order(event)
    exception = told.pop("exception", [])
    time, level, process, logger, sentence = (told.pop(name, "") for name in FIRST[:5])
    fields = "".join(f" {name}={quoted(value)}" for name, value in told.items())
    line = f"{time} {level.upper():<7} {process} {logger}: {escaped(sentence)}{fields}"
    return "\n".join([line, *(INDENT + escaped(part) for error in exception for part in told_error(error))])


def told_error(error: dict[str, Any]) -> list[str]:
    """An exception line by line."""
    return [f"{error['type']}: {error['message']}", *(f"  {frame}" for frame in error["frames"])]


def escaped(text: Any) -> str:
    """A text on one line."""
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))


def quoted(value: Any) -> str:
    """A value as it stands behind its name."""
    text = str(value)
    return text if BARE.fullmatch(text) and text.isprintable() else json.dumps(text)
