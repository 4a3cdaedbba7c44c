"""The embedded service as a user meets it: real processes, real signals, HTTP."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.client import Client
from tests.waits import PATIENCE, free_port, slowness, wait_for

ROOT = Path(__file__).resolve().parent.parent
LEASE_SECONDS = 4.0 * slowness()
FAST_RECOVERY = {
    "LEASE_SECONDS": str(LEASE_SECONDS),
    "HEARTBEAT_SECONDS": str(LEASE_SECONDS / 4),
    "REAP_SECONDS": "1",
    "SAVE_SECONDS": "0.2",
}
SMALL_JOB = {"sweeps": 30, "chains": 2, "hyperparameters": {"n_topics": 8, "n_start": 3}}


class Service(Client):
    """`newfound serve` in a process of its own."""

    def __init__(self, folder: Path, port: int | None = None) -> None:
        self.folder, self.port = folder, port or free_port()
        environment = {f"NEWFOUND_{name}": value for name, value in FAST_RECOVERY.items()}
        environment |= {"NEWFOUND_DATA_FOLDER": str(folder), "NEWFOUND_PORT": str(self.port)}
        self.log = folder / "service.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "app", "serve"],
                cwd=ROOT,
                env=os.environ | environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        super().__init__(f"http://127.0.0.1:{self.port}")

    def is_up(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        return super().is_up()

    def descendants(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def workers(self) -> list[psutil.Process]:
        """The workers, and the processes that they have started."""
        return [process for process in self.descendants() if "worker" in process.cmdline()]


@contextmanager
def ended_at_last(service: Service) -> Iterator[Service]:
    """Within this context the service may run; the kernel ends its children with it."""
    try:
        yield service
    finally:
        service.http.close()
        if service.process.poll() is None:
            service.process.kill()
            service.process.wait()


def end(service: Service, number: signal.Signals) -> None:
    """End all of the service by a signal, which leaves no process."""
    children = service.descendants()
    service.process.send_signal(number)
    assert service.process.wait(timeout=PATIENCE) == 0, service.log.read_text()
    _, alive = psutil.wait_procs(children, timeout=30 * slowness())
    assert alive == []


@contextmanager
def running(folder: Path) -> Iterator[Service]:
    """Within this context the service is up; at its end Ctrl-C ends all of it."""
    with ended_at_last(Service(folder)) as service:
        wait_for(service.is_up, "the service is up")
        yield service
        end(service, signal.SIGINT)


@dataclass
class Place:
    """Where a service runs, over one folder and at one port: the one that runs now, and those before it."""

    service: Service
    stack: ExitStack


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A service that the tests do things to by turns; told to end after them, it leaves no process, whatever it was."""
    with ExitStack() as stack:
        place = Place(stack.enter_context(ended_at_last(Service(tmp_path_factory.mktemp("place")))), stack)
        wait_for(place.service.is_up, "the service is up")
        yield place
        end(place.service, signal.SIGHUP)


@pytest.fixture
def service(place: Place) -> Service:
    """The service, up: what was done to it before, it has come back from."""
    wait_for(place.service.is_up, "the service is up")
    return place.service


def test_a_killed_serve_leaves_no_process_and_another_takes_its_place_at_once(place: Place) -> None:
    first = place.service
    children = first.descendants()
    assert len(children) >= 3
    first.process.kill()
    first.process.wait()
    place.service = place.stack.enter_context(ended_at_last(Service(first.folder, first.port)))
    wait_for(place.service.is_up, "the next one is up")
    wait_for(lambda: not any(child.is_running() for child in children), "the first one's children have ended")


def test_a_job_survives_the_kill_of_its_workers_and_ends_as_an_undisturbed_one(service: Service) -> None:
    corpus_id = service.upload_sample()
    body = {**SMALL_JOB, "corpus_id": corpus_id, "sweeps": 400}
    calm = service.post("/v1/jobs", **body)["id"]
    assert service.wait_until_ended(calm)["status"] == "succeeded"

    killed = service.post("/v1/jobs", **body)["id"]
    wait_for(lambda: service.sweeps_done(killed) >= 50, "50 sweeps")
    victims = service.workers()
    assert len(victims) >= 2
    for victim in victims:
        victim.kill()
    assert service.job(killed)["status"] == "running", "the job was over before its workers were killed"
    job = service.wait_until_ended(killed)
    assert (job["status"], job["error"]) == ("succeeded", None)
    assert service.results(killed) == service.results(calm)


def test_whatever_is_killed_newborns_too_the_service_comes_back_and_its_job_ends(service: Service) -> None:
    corpus_id = service.upload_sample()
    before = len(service.log.read_text())
    job_id = service.post("/v1/jobs", **{**SMALL_JOB, "corpus_id": corpus_id})["id"]
    killed: set[int] = set()
    for _ in range(3):  # everything, then whatever has taken its place, a moment old
        newborn = wait_for(
            lambda: [process for process in service.descendants() if process.pid not in killed], "a process is started"
        )
        for process in newborn:
            killed.add(process.pid)
            with suppress(psutil.NoSuchProcess):
                process.kill()
    wait_for(service.is_up, "the API is back")
    assert service.wait_until_ended(job_id)["status"] == "succeeded"
    assert all(not psutil.pid_exists(pid) for pid in killed)
    assert "was ended by SIGKILL and is restarted" in service.log.read_text()[before:]


@pytest.mark.slow
def test_the_service_goes_on_with_a_job_after_it_was_ended_and_started_again(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        corpus_id = service.upload_sample()
        body = {**SMALL_JOB, "corpus_id": corpus_id, "sweeps": 600}
        calm = service.post("/v1/jobs", **body)["id"]
        service.wait_until_ended(calm)
        job_id = service.post("/v1/jobs", **body)["id"]
        wait_for(lambda: service.get(f"/v1/jobs/{job_id}")["progress"]["sweeps_done"], "a first save")
    with running(tmp_path) as service:
        assert service.wait_until_ended(job_id)["status"] == "succeeded"
        assert service.results(job_id) == service.results(calm)


def test_the_readmes_commands_work_when_pasted(service: Service, tmp_path: Path) -> None:
    [script] = re.findall(r"```bash\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    script = script.replace("http://127.0.0.1:8000", f"http://127.0.0.1:{service.port}")
    path = os.environ["PATH"]
    if shutil.which("curl") is None:
        curl = tmp_path / "bin" / "curl"
        curl.parent.mkdir()
        curl.write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT / "tests" / "curl.py"} "$@"\n')
        curl.chmod(0o755)
        path = f"{curl.parent}:{path}"
    pasted = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=ROOT,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert pasted.returncode == 0, pasted.stderr
    decoder, answers, rest = json.JSONDecoder(), [], pasted.stdout
    while rest:
        answer, end = decoder.raw_decode(rest)
        answers.append(answer)
        rest = rest[end:].lstrip()
    labeled, unlabeled, job, categories, documents, trace, score, audit, power_test = answers
    assert (labeled["accepted"], labeled["labeled"], unlabeled["accepted"]) == (480, 480, 1520)
    assert job["status"] == "succeeded"
    assert len([category for category in categories["categories"] if category["known"]]) == 6
    low, high = categories["new_categories"]["interval_90"]
    assert low <= categories["new_categories"]["number"] <= high
    assert categories["summary"].startswith("6 known categories and ")
    assert len(documents["documents"]) == 5
    second = [
        (row["runner_up"]["probability"], row["probability"]) for row in documents["documents"] if row["runner_up"]
    ]
    assert all(runner_up <= answer for runner_up, answer in second)
    assert [draw["sweep"] for draw in trace["draws"]] == [1, 2, 3, 4, 5]
    assert score["documents"]["scored"] > 1500
    assert score["scores"]["nmi"] > 0.8
    assert all(document["probability"] < 0.5 for document in audit["documents"])
    assert (power_test["id"], power_test["power_test"]["progress"]["stage"]) == (job["id"], "power")


def test_an_interrupted_demo_leaves_no_process() -> None:
    demo = subprocess.Popen(
        [sys.executable, "-m", "examples.demo"],
        cwd=ROOT,
        env=os.environ | {"NEWFOUND_WORKERS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert demo.stdout is not None
    try:
        for line in demo.stdout:
            if line.startswith("Uploaded unlabeled.ndjson"):
                break
        started = psutil.Process(demo.pid)
        wait_for(lambda: len(started.children(recursive=True)) >= 2, "the API and a worker run")
        children = started.children(recursive=True)
        demo.send_signal(signal.SIGINT)
        output, _ = demo.communicate(timeout=PATIENCE)
        assert demo.returncode == 130
        assert "Interrupted" in output
        _, alive = psutil.wait_procs(children, timeout=30 * slowness())
        assert alive == []
    finally:
        if demo.poll() is None:
            os.killpg(demo.pid, signal.SIGKILL)
            demo.communicate()
