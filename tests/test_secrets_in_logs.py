"""What the real processes print, in both formats: one line an event, never what clients sent or URLs keep secret."""

import json
import re
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.core.schema import migrate
from app.observation.logs import INDENT
from tests.client import Client
from tests.faults.programs import Program
from tests.waits import free_port, wait_for

MARK = "zqsecret"  # is in everything that is secret
LINE = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z (DEBUG|INFO|WARNING|ERROR) +\S+ [\w.]+: \S")
ROOT = Path(__file__).resolve().parent.parent


class Service(Client):
    """An API whose broker is away, and a worker with one of its own, whose reaper finds what the API could not say."""

    def __init__(self, folder: Path, log_format: str) -> None:
        port = free_port()
        shared = {
            "NEWFOUND_DATA_FOLDER": str(folder),
            "NEWFOUND_PORT": str(port),
            "NEWFOUND_LOG_FORMAT": log_format,
            "NEWFOUND_REAP_SECONDS": "0.5",
            "NEWFOUND_MAX_UPLOAD_BYTES": str(2**20),
            "NUMBA_CACHE_DIR": str(ROOT / "data" / "kernels"),
        }
        broken = {"NEWFOUND_BROKER_URL": f"redis://:{MARK}@127.0.0.1:1/0"}
        self.file = folder / "newfound.db"
        migrate(f"sqlite:///{self.file}")
        self.programs = [
            Program("api", ["api"], shared | broken, folder / "api.log"),
            Program("worker", ["worker", "--name", "w"], shared, folder / "worker.log"),
            Program("deaf", ["worker", "--name", "deaf"], shared | broken, folder / "deaf.log"),
        ]
        for program in self.programs:
            program.start()
        self.port = port
        super().__init__(f"http://127.0.0.1:{port}")

    def change(self, statement: str) -> None:
        """Do something to the database that nobody expects."""
        with closing(sqlite3.connect(self.file, timeout=20)) as connection, connection:
            connection.execute(statement)

    def printed(self) -> str:
        """All that the processes have printed."""
        return "".join(program.log.read_text() for program in self.programs)


@pytest.fixture(params=[pytest.param("json", marks=pytest.mark.slow), "text"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    """The service, with logs in one of the formats."""
    service = Service(tmp_path, request.param)
    try:
        wait_for(service.is_up, "the API is up")
        yield service
    finally:
        service.http.close()
        for program in service.programs:
            program.stop()


def say_strange_things(service: Service) -> None:
    """Requests with secrets in every part, many of which are refused."""
    http, headers = service.http, {"Authorization": f"Bearer {MARK}", "Cookie": f"key={MARK}", "X-Thing": MARK}
    headers["Idempotency-Key"] = MARK
    for path in (f"/{MARK}", f"/v1/jobs/{MARK}", f"/v1/jobs?search={MARK}", f"/%0A2026 ERROR {MARK}", f"/jobs/{MARK}"):
        http.get(path, headers=headers)
    http.post("/v1/corpora", content=f'{{"name": "{MARK}"', headers=headers | {"Content-Type": "application/json"})
    http.post("/v1/corpora", json={"name": {MARK: MARK}}, headers=headers)
    with socket.create_connection(("127.0.0.1", service.port)) as raw:
        raw.sendall(f"GET /{MARK} HTTP/1.1\r\nHost: localhost\r\n{MARK}\x00: \x01\r\n\r\n".encode())
        raw.recv(1000)


def upload(service: Service, n_documents: int = 60) -> str:
    """A corpus with secrets in texts, keys, labels, fields, names of files; returns its path."""
    corpus = service.http.post("/v1/corpora", json={"name": f"{MARK}\ncorpus"}).headers["Location"]
    documents = [
        {
            "key": f"{MARK}-{n}",
            "text": f"{MARK}{n % 7} apple pear plum {n} {MARK}{n % 5} cherry iron{n % 3}",
            "label": f"{MARK}-{n % 2}" if n % 3 else None,
            "field": f"{MARK}\n",
        }
        for n in range(n_documents)
    ]
    body = "".join(json.dumps(document) + "\n" for document in documents)
    answer = service.http.post(f"{corpus}/documents", files={"file": (f"{MARK}\n.ndjson", body.encode())})
    assert answer.json()["accepted"] == n_documents
    service.http.post(f"{corpus}/documents", content=f'{{"{MARK}": "{MARK}'.encode())
    service.http.post(f"{corpus}/documents", content=MARK.encode() * 2**18)
    return str(corpus)


def submit(service: Service, corpus: str) -> str:
    """A small job over the corpus."""
    job = {"corpus_id": corpus.rpartition("/")[2], "model": "lbpl-ntm", "sweeps": 4, "chains": 1, "name": MARK}
    answer = service.http.post("/v1/jobs", json=job | {"hyperparameters": {"n_topics": 4, "n_start": 2}})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def status(service: Service, job_id: str) -> str:
    """The status of a job."""
    return str(service.http.get(f"/v1/jobs/{job_id}").json()["status"])


def test_nothing_that_is_secret_is_ever_printed(service: Service) -> None:
    say_strange_things(service)
    corpus = upload(service)
    job_id = submit(service, corpus)
    wait_for(lambda: status(service, job_id) == "succeeded", "a job succeeds")
    documents = f"/v1/jobs/{job_id}/documents"
    assert service.http.get(f"{documents}/{MARK}-3").status_code == 200
    service.http.get(documents, params={"search": f'"{MARK}" OR (', "label": MARK})
    # A leg that fails over what it reads, with the text in the message of the error.
    failing = submit(service, corpus)
    service.change(f"UPDATE jobs SET settings = '{{\"{MARK}\": ' WHERE id = '{failing}'")
    wait_for(lambda: "cannot be read" in service.programs[1].log.read_text(), "a leg fails")
    assert failing in service.programs[1].log.read_text()
    # A statement that fails with texts among its parameters, and one that is wrong.
    service.change(f"CREATE TRIGGER no BEFORE INSERT ON documents BEGIN SELECT RAISE(ABORT, 'no\n{MARK}'); END")
    answer = service.http.post(f"{corpus}/documents", content=json.dumps({"text": MARK + " new"}).encode())
    assert answer.status_code == 500
    service.change("ALTER TABLE job_tags RENAME TO elsewhere")
    assert service.http.get("/v1/jobs", params={"tag": MARK}).status_code >= 500
    wait_for(lambda: "127.0.0.1:1" in service.programs[2].log.read_text(), "a worker misses its broker")

    for program in service.programs:
        for process in program.tree():
            assert MARK not in " ".join(process.cmdline())
        assert program.terminate()[0] == 0
    printed = service.printed()
    assert MARK not in printed
    for expected in ("the broker did not accept a call", "IntegrityError", "a leg of encode begins", "request"):
        assert expected in printed
    check_lines(printed.splitlines())


def check_lines(lines: list[str]) -> None:
    """Every line is of the one format; no banner, no warning of a library, no traceback of Python's."""
    told = [json.loads(line) for line in lines] if lines[0].startswith("{") else []
    for event in told:
        assert {"time", "level", "process", "logger", "event"} <= event.keys()
    for line in lines if not told else ():
        assert LINE.match(line) or line.startswith(INDENT), line
    text = "\n".join(lines)
    for noise in ("superuser", "prefork", "Warm shutdown", "hostname was supplied", "CTRL+C", "Traceback"):
        assert noise not in text
