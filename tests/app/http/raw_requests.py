"""Requests byte by byte, and refusals that end their connection."""

from app.core.errors import PROBLEM
from tests.app.server import Reply

HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
JSON = b"POST /v1/corpora HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def check_refusal(reply: Reply, status: int, type_: str) -> None:
    """Check that an answer is a problem that ends the connection."""
    assert reply.status == status
    assert reply.headers["content-type"] == PROBLEM
    assert reply.headers["connection"] == "close"
    assert reply.json()["type"] == type_
    assert {"type", "title", "status", "detail", "instance"} <= reply.json().keys()
