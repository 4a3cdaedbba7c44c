"""The events of a job as they come: server-sent events, parsed, with another connection where one breaks off."""

import json
import time
from collections.abc import Iterable, Iterator
from typing import Any

from newfound_client.calls import Calls
from newfound_client.errors import NoAnswer, Refused

PATIENCE = 120.0  # seconds for which the service may not answer, as when it is restarted
RETRY = 2.0  # seconds until the next connection, unless the service says otherwise


class Events(Calls):
    """Listens to jobs."""

    def events(self, job_id: str, *, draws: bool = True) -> Iterator[tuple[str, Any]]:
        """The events of a job until it has ended: `progress` with the job, `draws` with new draws, and `end`.

        Where a connection breaks off, the next one goes on: no draw is missed, and none comes twice. Raises Refused,
        and NoAnswer if the service does not answer for PATIENCE seconds.
        """
        last_id, retry, answered = "", RETRY, time.monotonic()
        while True:
            headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last_id} if last_id else {})}
            path = f"/v1/jobs/{job_id}/events"
            try:
                with self.connection.opened("GET", path, {"draws": draws}, None, headers) as response:
                    for event in parsed(response):
                        answered = time.monotonic()
                        last_id = event.get("id", last_id)
                        retry = int(event["retry"]) / 1000 if event.get("retry", "").isdigit() else retry
                        if event.get("event") in ("progress", "draws", "end"):
                            yield event["event"], json.loads(event["data"])
                        if event.get("event") == "end":
                            return
            except (NoAnswer, Refused) as error:
                is_passing = isinstance(error, NoAnswer) or error.status >= 500
                if not is_passing or time.monotonic() - answered > PATIENCE:
                    raise
            time.sleep(retry)


def parsed(lines: Iterable[bytes]) -> Iterator[dict[str, str]]:
    """The events of a stream by the names of their fields; comments and what breaks off are left out."""
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.decode().rstrip("\r\n").partition(":")
        value = value.removeprefix(" ")
        if name:
            fields[name] = f"{fields['data']}\n{value}" if name == "data" and "data" in fields else value
        elif not line.strip() and fields:
            yield fields
            fields = {}
