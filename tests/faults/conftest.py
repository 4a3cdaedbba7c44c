"""The stacks of this test run, healed before each test, and the report of what the faults cost."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.stack import Report, Stack

REPORT = "FAULTS_REPORT"  # a file that gets one JSON line a fault


@pytest.fixture(scope="package", params=["embedded", "deployed"])
def opened_stack(request: pytest.FixtureRequest) -> Iterator[Stack]:
    """A stack that runs; the tests of all files here take turns with it, and no other test has it beside itself."""
    stack = Stack(request.param)
    try:
        stack.open()
        yield stack
    finally:
        stack.close()


@pytest.fixture
def stack(opened_stack: Stack) -> Stack:
    """A stack with all its processes up and no job at work."""
    opened_stack.heal()
    return opened_stack


@pytest.fixture(scope="session")
def seen() -> dict[str, Any]:
    """What one stack leaves to be compared with the other's."""
    return {}


@pytest.fixture
def report(stack: Stack, request: pytest.FixtureRequest) -> Report:
    """Takes down what a fault cost, for the table of faults."""

    def write(**numbers: Any) -> None:
        path = os.environ.get(REPORT)
        line = {"fault": request.node.originalname, "stack": stack.kind, **numbers}
        if path:
            with Path(path).open("a") as file:
                file.write(json.dumps(line) + "\n")

    return write


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A failed test shows the ends of the service's logs."""
    report = yield
    stack = getattr(item, "funcargs", {}).get("opened_stack")
    if stack is not None and report.failed:  # type: ignore[attr-defined]
        report.sections.append(("logs of the service", stack.tails()))  # type: ignore[attr-defined]
    return report
