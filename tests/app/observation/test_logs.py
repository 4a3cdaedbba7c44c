"""What a log line is, in both formats: one line an event, with what belongs to it and nothing that clients wrote."""

import json
import logging
import sys
import threading
from contextvars import copy_context
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy.exc import DataError, IntegrityError
from structlog.contextvars import bound_contextvars

from app.core import request_ids
from app.observation.exceptions import MAX_FRAMES, WITHHELD, described
from app.observation.logs import INDENT, formatter, handler

EVIL = 'x\n2026-01-01T00:00:00Z ERROR forged\r\x1b[31m\u2028"level": "critical"\x00'


def line(log_format: str, message: str, *arguments: Any, error: BaseException | None = None, **fields: Any) -> str:
    """What a record becomes."""
    info = None if error is None else (type(error), error, error.__traceback__)
    record = logging.LogRecord("app.somewhere", logging.WARNING, __file__, 1, message, arguments, info)
    record.fields = fields
    return formatter(log_format, "worker-1").format(record)


def raised(error: BaseException) -> BaseException:
    """The error as it is after it was raised, by a function whose local variable is a secret."""
    secret_variable = "a secret"
    try:
        raise error
    except BaseException as caught:
        assert secret_variable
        return caught


def test_an_event_is_a_json_object_with_its_time_level_process_logger_and_sentence() -> None:
    told = json.loads(line("json", "unit %d waits", 7, status=3))
    assert list(told)[:5] == ["time", "level", "process", "logger", "event"]
    time = datetime.fromisoformat(told.pop("time"))
    assert time.utcoffset() == timedelta(0)
    assert told == {
        "level": "warning",
        "process": "worker-1",
        "logger": "app.somewhere",
        "event": "unit 7 waits",
        "status": 3,
    }


def test_a_text_line_tells_the_same() -> None:
    time, rest = line("text", "unit %d waits", 7, status=3, path="/v1/jobs", why="it is full").split(" ", 1)
    assert datetime.fromisoformat(time).utcoffset() == timedelta(0)
    assert rest == 'WARNING worker-1 app.somewhere: unit 7 waits status=3 path=/v1/jobs why="it is full"'


@pytest.mark.parametrize("log_format", ["json", "text"])
def test_ids_of_the_request_the_job_and_the_unit_come_from_where_it_happens(log_format: str) -> None:
    told: list[str] = []

    def speak() -> None:
        token = request_ids.current.set("r-1")
        with bound_contextvars(job_id="j-1", unit_id=4):
            thread = threading.Thread(target=copy_context().run, args=(lambda: told.append(line(log_format, "a")),))
            thread.start()
            thread.join()
        told.append(line(log_format, "b"))
        request_ids.current.reset(token)

    copy_context().run(speak)
    if log_format == "json":
        inside, outside = map(json.loads, told)
        assert (inside["request_id"], inside["job_id"], inside["unit_id"]) == ("r-1", "j-1", 4)
        assert outside["request_id"] == "r-1" and "job_id" not in outside
    else:
        assert told[0].endswith("a request_id=r-1 job_id=j-1 unit_id=4")
        assert told[1].endswith("b request_id=r-1")


@pytest.mark.parametrize("log_format", ["json", "text"])
def test_nothing_that_is_logged_makes_a_line_of_its_own(log_format: str) -> None:
    with bound_contextvars(job_id=EVIL):
        told = line(log_format, "%s " + EVIL, EVIL, path=EVIL)
    assert len(told.splitlines()) == 1  # also by separators that are none in a file
    assert told.isprintable()
    if log_format == "json":
        found = json.loads(told)
        assert (found["level"], found["path"], found["job_id"]) == ("warning", EVIL, EVIL)


def test_the_message_of_an_exception_cannot_pass_for_a_line() -> None:
    first, *rest = line("text", "it failed", error=raised(OSError(EVIL))).split("\n")
    assert first.endswith("it failed")
    assert rest and all(each.startswith(INDENT) and each.isprintable() for each in rest)
    assert len(line("json", "it failed", error=raised(OSError(EVIL))).splitlines()) == 1


@pytest.mark.parametrize("log_format", ["json", "text"])
@pytest.mark.parametrize(
    "error",
    [
        ValueError("could not convert string to float: 'a secret'"),
        KeyError("a secret"),
        RuntimeError("a secret"),
        UnicodeEncodeError("ascii", "a secret", 0, 1, "not in range"),
        ExceptionGroup("a secret", [ValueError("a secret")]),
        DataError("INSERT 'a secret'", {"text": "a secret"}, Exception('invalid input: "a secret"')),
        IntegrityError("INSERT", {"a": "a secret"}, Exception("it is not unique\nDETAIL: (a secret) is there")),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_traceback_has_modules_and_lines_but_neither_variables_nor_messages_that_may_quote(
    log_format: str, error: BaseException
) -> None:
    outer = RuntimeError("a secret")
    outer.__cause__ = raised(error)
    told = line(log_format, "it failed", error=raised(outer))
    assert "secret" not in told
    assert "in raised" in told and type(error).__name__ in told


def test_harmless_messages_are_told() -> None:
    found = described(raised(FileNotFoundError(2, "No such file or directory", "/data/x")))
    assert found[0]["message"] == "[Errno 2] No such file or directory: '/data/x'"
    assert described(raised(ZeroDivisionError("division by zero")))[0]["message"] == "division by zero"
    assert described(raised(ValueError("x")))[0]["message"] == WITHHELD


def test_an_endless_recursion_is_told_in_some_lines() -> None:
    def again(n: int) -> int:
        return again(n + 1)

    with pytest.raises(RecursionError) as caught:
        again(0)
    [found] = described(caught.value)
    assert len(found["frames"]) == MAX_FRAMES


def test_an_exception_that_causes_itself_is_told_once() -> None:
    first, second = ValueError("a"), KeyError("b")
    first.__cause__, second.__cause__ = second, first
    assert [each["type"] for each in described(first)] == ["ValueError", "KeyError"]


def test_lines_go_to_what_is_standard_error_then(capsys: pytest.CaptureFixture[str]) -> None:
    made = handler("text", "api")
    record = logging.LogRecord("app.x", logging.INFO, __file__, 1, "said", (), None)
    made.handle(record)
    assert capsys.readouterr().err.endswith(" INFO    api app.x: said\n")
    for idle in ("Waiting for application startup.", "Will assume transactional DDL."):
        made.handle(logging.LogRecord("uvicorn.error", logging.INFO, __file__, 1, idle, (), None))
    assert capsys.readouterr().err == ""
    assert sys.stderr is made.stream  # type: ignore[attr-defined]
