"""Requests that cost the service more than the client: jobs, heads, lists, and clients that say little."""

import select
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import chain, repeat

from benchmarks.load import documents
from benchmarks.load.client import HOST, NO_ANSWER, at_once, left, well
from benchmarks.load.scenarios import Figures, Scenario, named, slowest, statuses
from tests.waits import REQUEST_SECONDS

IMPOSSIBLE = 2**31 - 1  # documents that a word must occur in
HEAD_LIMIT = 2**16  # bytes, beyond which a head is refused
PIECE = 2**16
TOO_LARGE = (414, 431)  # of the request's line, of its headers
MOST_ROUNDS = 10  # of submits, if jobs are made of them
MAKERS = 4  # clients that submit jobs before the measurement
PAUSE_SECONDS = 1.0  # between two bytes of a client that drips
JUDGED_SECONDS = 60.0  # a service may keep silent clients for less than that


class ImpossibleFrequency(Scenario):
    """Jobs, all at once, that no document is usable for; only who reads the whole corpus knows."""

    name = "impossible-frequency"

    def prepare(self) -> None:
        """A corpus of some length."""
        n = self.scale.searched_documents
        self.corpus_id = self.full_corpus(n, documents.texts(n, seed=1, n_words=60))

    def load(self, until: float) -> Figures:
        """Submit, and again when all are answered."""
        body = {"corpus_id": self.corpus_id, "text": {"min_document_frequency": IMPOSSIBLE}}
        submits = [partial(self.client.post, until, "/v1/jobs", body)] * self.scale.submits
        answers = list(chain(*self.repeated(until, lambda: at_once(submits), MOST_ROUNDS)))
        return {"answers": statuses(answers), "slowest s": slowest(answers)}

    def misses(self, figures: Figures) -> list[str]:
        """Every submit is answered."""
        late = figures["answers"].get("not in time", 0)
        return [f"{late} submits were not answered within {self.scale.limit:.0f} s"] if late else []


class LongHead(Scenario):
    """Requests whose head never ends, or nearly so."""

    name = "long-head"

    def load(self, until: float) -> Figures:
        """Heads a little beyond the limit in three forms, then much longer ones."""
        over = HEAD_LIMIT + 2**12
        figures = {
            "68 KiB in one header": self.send(until, one_header(over)),
            "in many": self.send(until, many_headers(over)),
            "in the path": self.send(until, long_path(over)),
        }
        for n_bytes in self.scale.head_bytes:
            name = f"{n_bytes >> 20} MB"
            try:
                figures[name] = self.repeated(until, lambda n=n_bytes: self.send(until, one_header(n)))[-1]  # type: ignore[misc]
            except TimeoutError:
                figures[name] = "not in time"
        return figures

    def send(self, until: float, pieces: Iterator[bytes]) -> str:
        """How a head is answered, after how many bytes and seconds."""
        began, n_bytes, status = time.monotonic(), 0, NO_ANSWER
        with socket.create_connection((HOST, self.service.port), timeout=left(until)) as connection:
            with suppress(ConnectionError):
                for piece in pieces:
                    if select.select([connection], [], [], 0)[0]:
                        break  # an answer before the end of the head
                    connection.settimeout(left(until))
                    connection.sendall(piece)
                    n_bytes += len(piece)
            connection.settimeout(left(until))
            with suppress(ConnectionError):
                status = status_of(connection.recv(PIECE))
        return f"{named(status)} after {n_bytes >> 10:,} KiB, {time.monotonic() - began:.2f} s"

    def misses(self, figures: Figures) -> list[str]:
        """All of them are refused, with a status that says why."""
        well_refused = tuple(str(status) for status in TOO_LARGE)
        return [
            f"a head that is too long ({name}) was answered {answer}"
            for name, answer in figures.items()
            if not answer.startswith(well_refused)
        ]


def one_header(n_bytes: int) -> Iterator[bytes]:
    """A head with one header of so many bytes."""
    yield b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: "
    yield from repeat(b"a" * PIECE, n_bytes // PIECE)
    yield b"a" * (n_bytes % PIECE) + b"\r\n\r\n"


def many_headers(n_bytes: int) -> Iterator[bytes]:
    """A head with short headers, so many bytes together."""
    line = b"X-Short: %s\r\n" % (b"a" * 100)
    yield b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
    yield line * (n_bytes // len(line) + 1)
    yield b"\r\n"


def long_path(n_bytes: int) -> Iterator[bytes]:
    """A head whose path is of so many bytes."""
    yield b"GET /" + b"a" * n_bytes + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"


def status_of(head: bytes) -> int:
    """The status in the first bytes of an answer."""
    return int(head.split()[1]) if head.startswith(b"HTTP/") else NO_ANSWER


class ListJobs(Scenario):
    """Long lists of jobs with large settings."""

    name = "list-jobs"

    def prepare(self) -> None:
        """Jobs with many stop words of their own, cancelled at once."""
        until = time.monotonic() + 10 * REQUEST_SECONDS
        corpus_id = self.full_corpus(10, documents.texts(10, seed=1, n_words=20))
        text = {
            "extra_stop_words": [f"stopword{number}" for number in range(self.scale.stop_words)],
            "min_document_frequency": 1,
        }

        def make() -> None:
            for _ in range(self.scale.jobs // MAKERS):
                job = well(self.client.post(until, "/v1/jobs", {"corpus_id": corpus_id, "text": text})).fields
                well(self.client.post(until, f"/v1/jobs/{job['id']}/cancel"))

        at_once([make] * MAKERS)

    def load(self, until: float) -> Figures:
        """One list after the other."""
        answers = self.repeated(until, lambda: self.client.get(until, "/v1/jobs?limit=1000"))
        return {
            "answers": statuses(answers),
            "slowest s": slowest(answers),
            "MB each": max(len(answer.body) for answer in answers) / 1e6,
        }


class Drips(Scenario):
    """Many clients that send nothing, or the beginning of a head or a body and then nothing or a byte now and then."""

    name = "drips"
    kinds = ("nothing", "silent heads", "dripping heads", "silent bodies", "dripping bodies")

    def prepare(self) -> None:
        """A corpus, for the bodies."""
        self.corpus_id = self.client.make_corpus(time.monotonic() + REQUEST_SECONDS)

    def load(self, until: float) -> Figures:
        """Wait until the service has closed all of them, or for the whole time."""
        began = time.monotonic()
        open_, closed_after = self.connections(until), dict.fromkeys(self.kinds, 0.0)
        next_drip = began
        while open_ and time.monotonic() < until:
            for connection in select.select(list(open_), [], [], 0.1)[0]:
                kind = open_.pop(connection)  # an answer, or its end: the service waits no longer
                connection.close()
                closed_after[kind] = time.monotonic() - began
            if time.monotonic() >= next_drip:
                next_drip += PAUSE_SECONDS
                for connection, kind in open_.items():
                    if kind.startswith("dripping"):
                        with suppress(ConnectionError):
                            connection.send(b"a")
        for connection in open_:
            connection.close()
        kept = list(open_.values())
        return {kind: told(kept.count(kind), closed_after[kind]) for kind in self.kinds} | {"kept": len(kept)}

    def connections(self, until: float) -> dict[socket.socket, str]:
        """Connections by kind, each with the beginning of a request sent."""
        head = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
        upload = (
            f"POST /v1/corpora/{self.corpus_id}/documents HTTP/1.1\r\nHost: localhost\r\n"
            'Content-Type: application/x-ndjson\r\nContent-Length: 1000000\r\n\r\n{"text": "'
        ).encode()
        beginnings = {"nothing": b"", "heads": head, "bodies": upload}
        made = {}
        for kind in self.kinds:
            for _ in range(self.scale.drips):
                connection = socket.create_connection((HOST, self.service.port), timeout=left(until))
                connection.sendall(beginnings[kind.split()[-1]])
                made[connection] = kind
        return made

    def misses(self, figures: Figures) -> list[str]:
        """Nobody is kept for ever."""
        if not figures["kept"] or self.scale.limit < JUDGED_SECONDS:
            return []
        return [f"{figures['kept']} clients that send nothing, or a byte a second, were kept {self.scale.limit:.0f} s"]


def told(n_kept: int, closed_after: float) -> str:
    """What became of the connections of a kind."""
    return f"{n_kept} kept" if n_kept else f"closed after {closed_after:.0f} s"
