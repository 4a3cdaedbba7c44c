"""The demo's client: an API that hangs, or is gone, ends the demo with what it was asked."""

import socket

import pytest

from examples import demo


@pytest.mark.parametrize("size", [0, 2**25])  # the second is more than a connection takes that nobody reads from
def test_a_request_that_nobody_answers_is_given_up(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(demo, "ANSWER_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = demo.Client(f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(RuntimeError, match=r"POST /v1/jobs was not answered: .*timed out"):
            client.call("POST", "/v1/jobs", b"x" * size)
    with pytest.raises(RuntimeError, match=r"GET /health was not answered: .*refused"):
        client.call("GET", "/health")
