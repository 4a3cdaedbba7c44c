"""A listener to the events of a job over a raw connection, with a parser of its own, and a chain that it listens to."""

import http.client
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlalchemy import insert, select, update

from app.core.db import Database
from app.core.kinds import UnitKind
from app.core.tables import Draw, Unit
from tests.waits import REQUEST_SECONDS


class Event(NamedTuple):
    """An event as it came; None for a comment."""

    name: str
    data: Any
    id: str | None


class Listener:
    """One connection that listens, until it is closed."""

    def __init__(
        self, port: int, job_id: str, last_event_id: str | None = None, query: str = "", key: str | None = None
    ) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REQUEST_SECONDS)
        headers = {} if last_event_id is None else {"Last-Event-ID": last_event_id}
        headers |= {} if key is None else {"Authorization": f"Bearer {key}"}
        self.connection.request("GET", f"/v1/jobs/{job_id}/events{query}", headers=headers)
        self.response = self.connection.getresponse()
        self.last_event_id = last_event_id

    def __enter__(self) -> "Listener":
        return self

    def __exit__(self, *_: object) -> None:
        self.response.close()
        self.connection.close()

    def __iter__(self) -> Iterator[Event]:
        """Events and comments (named `comment`), until the server ends the stream."""
        fields: dict[str, str] = {}
        while line := self.response.readline():
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "" and value:
                yield Event("comment", value, None)
            elif name:
                fields[name] = value
            elif "data" in fields:
                self.last_event_id = fields.get("id", self.last_event_id)
                yield Event(fields["event"], json.loads(fields["data"]), fields.get("id"))
                fields = {}


def draws_of(events: list[Event]) -> list[tuple[int, int]]:
    """The chain and the sweep of each draw that came."""
    return [(draw["chain"], draw["sweep"]) for event in events if event.name == "draws" for draw in event.data]


def sweep(database: Database, job_id: str, chain: int, n_more: int) -> int:
    """A chain goes on, as a leg saves it: draws and progress in one transaction. Returns its sweeps."""
    is_mine = (Unit.job_id == job_id, Unit.kind == UnitKind.CHAIN, Unit.chain == chain)
    with database.sessions.begin() as session:
        last = session.scalars(select(Unit.n_sweeps).where(*is_mine)).one()
        rows = [
            {
                "job_id": job_id,
                "chain": chain,
                "sweep": number,
                "n_categories": 5,
                "n_new": 3,
                "n_new_with_documents": 2,
                "log_joint": -1.5 * number,
            }
            for number in range(last + 1, last + n_more + 1)
        ]
        session.execute(insert(Draw), rows)
        session.execute(update(Unit).where(*is_mine).values(n_sweeps=last + n_more, n_categories=5))
    return last + n_more
