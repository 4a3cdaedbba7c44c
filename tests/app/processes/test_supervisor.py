"""The supervisor over children that end in every way, in place of the API and the workers."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from app.core.settings import Settings
from app.processes import supervisor
from app.processes.address import AddressError, check_address
from app.processes.supervisor import API, ApiEnded, Supervisor, environment, pause
from tests.waits import free_port, wait_for

ROOT = Path(__file__).resolve().parents[3]
LISTEN = "import socket, sys, time; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); time.sleep(3600)"
SLEEP = "import time; time.sleep(3600)"


class Children(Supervisor):
    """A supervisor whose children run these pieces of Python."""

    def __init__(self, folder: Path, api: str = LISTEN, worker: str = SLEEP) -> None:
        super().__init__(Settings(data_folder=folder, port=free_port(), workers=1), log_folder=folder / "logs")
        self.code = {API: api, "worker-1": worker}

    def command(self, name: str) -> list[str]:
        return [sys.executable, "-c", self.code[name], str(self.settings.port)]

    def pid(self, name: str) -> int | None:
        """The process of a child; None while there is none."""
        process = self.children[name].process
        return None if process is None else process.pid

    def check_until_another(self, name: str, than: int | None) -> int:
        """Check until a child runs under another process id."""

        def another() -> int | None:
            self.check()
            return self.pid(name) if self.pid(name) != than else None

        return int(wait_for(another, f"{name} is started again"))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
@pytest.mark.parametrize("name", [API, "worker-1"])
def test_a_child_that_is_killed_is_started_again(name: str, number: signal.Signals, tmp_path: Path) -> None:
    with Children(tmp_path) as service:
        service.wait_until_listening()
        others = {other: service.pid(other) for other in service.children if other != name}
        before = service.pid(name)
        assert before is not None
        os.kill(before, number)
        service.check_until_another(name, before)
        assert {other: service.pid(other) for other in others} == others


def test_a_service_without_workers_is_the_api_alone(tmp_path: Path) -> None:
    settings = Settings(data_folder=tmp_path, workers=2)
    assert list(Supervisor(settings, has_workers=False).children) == [API]
    assert list(Supervisor(settings).children) == [API, "worker-1", "worker-2"]


def test_an_api_that_is_killed_before_it_listens_is_started_again(tmp_path: Path) -> None:
    with Children(tmp_path, api=SLEEP) as service:
        before = service.pid(API)
        assert before is not None
        os.kill(before, signal.SIGKILL)
        service.check_until_another(API, before)
        assert not service.api_has_listened


def test_an_api_that_fails_after_it_has_listened_is_started_again(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    second_fails = LISTEN.replace("import ", f"import os; os.mkdir({str(marks)!r}); import ", 1)
    with Children(tmp_path, api=second_fails) as service:
        service.wait_until_listening()
        before = service.pid(API)
        assert before is not None
        os.kill(before, signal.SIGKILL)
        # The folder is there already, so the next one ends with code 1.
        wait_for(lambda: service.check() or service.children[API].quick_ends == 2, "it has failed")
        marks.rmdir()
        assert service.check_until_another(API, None) > 0


def test_an_api_that_fails_before_it_listens_ends_the_service_with_its_code(tmp_path: Path) -> None:
    with pytest.raises(ApiEnded, match="the API exited with code 3 before it listened"):  # noqa: SIM117
        with Children(tmp_path, api="raise SystemExit(3)") as service:
            service.wait_until_listening()
    assert service.pid(API) is None


def test_a_port_that_is_taken_is_blamed_by_name(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(AddressError, match=f"port {port} of 127.0.0.1: it is in use .* set NEWFOUND_PORT"):
            check_address("127.0.0.1", port)
        service = Children(tmp_path, api="raise SystemExit(1)")
        service.settings = service.settings.model_copy(update={"port": port})
        with pytest.raises(AddressError, match="in use"), service:
            service.check_until_another(API, service.pid(API))
    check_address("127.0.0.1", port)


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("no-such-host.invalid", "NEWFOUND_HOST: 'no-such-host.invalid' is not an address or the name of a host"),
        ("x" * 300, "is not an address or the name of a host"),
        ("192.0.2.1", "this host has no such address; set NEWFOUND_HOST"),
    ],
)
def test_a_host_that_is_not_this_one_is_refused_with_the_reason(host: str, reason: str) -> None:
    with pytest.raises(AddressError, match=reason):
        check_address(host, 8000)


def test_localhost_is_an_address_of_this_host() -> None:
    check_address("localhost", free_port())


def test_a_child_that_ends_at_once_each_time_is_started_with_growing_pauses(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert [pause(n) for n in range(9)] == [0.0, 0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
    with Children(tmp_path, worker="raise SystemExit(1)") as service:
        began = time.monotonic()
        wait_for(lambda: service.check() or service.children["worker-1"].quick_ends >= 4, "it has ended four times")
        assert time.monotonic() - began >= pause(2) + pause(3)
        service.wait_until_listening()
        assert service.pid(API) is not None
    told = [record.message for record in caplog.records]
    assert told[:4] == [f"worker-1 ended with code 1 and is restarted {when}" for when in WHEN]


WHEN = ("at once", "in 0.5 s", "in 1 s", "in 2 s")


def test_a_child_that_was_steady_is_started_again_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "STEADY_SECONDS", 0.0)
    with Children(tmp_path, worker="raise SystemExit(1)") as service:
        for _ in range(5):
            service.check_until_another("worker-1", service.pid("worker-1"))
        assert service.children["worker-1"].quick_ends == 0


def test_what_a_dead_child_has_started_is_ended_too(tmp_path: Path) -> None:
    starts = "import subprocess, sys, time; subprocess.Popen(['sleep', '3600']); time.sleep(3600)"
    with Children(tmp_path, worker=starts) as service:
        before = service.pid("worker-1")
        assert before is not None
        [grandchild] = wait_for(psutil.Process(before).children, "it has a child")
        os.kill(before, signal.SIGKILL)
        service.check_until_another("worker-1", before)
        wait_for(lambda: not grandchild.is_running() or grandchild.status() == "zombie", "the child's child has ended")


def test_a_system_that_has_no_room_for_a_process_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "LONGEST_PAUSE", 0.1)
    with Children(tmp_path) as service:
        before = service.pid("worker-1")
        assert before is not None
        command = service.command
        monkeypatch.setattr(service, "command", lambda _: ["/no/such/program"])
        os.kill(before, signal.SIGKILL)
        wait_for(lambda: service.check() or service.pid("worker-1") is None, "it could not be started")
        monkeypatch.setattr(service, "command", command)
        service.check_until_another("worker-1", None)


SUPERVISE = """
import signal, sys
from pathlib import Path
from tests.app.processes.test_supervisor import Children
from app.processes.supervisor import stop_on_signals

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests themselves may run under nohup
stop_on_signals()
try:
    with Children(Path(sys.argv[1])) as service:
        service.wait_until_listening()
        print("up", flush=True)
        service.watch()
except KeyboardInterrupt:
    print("ended", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_no_process_outlives_the_supervisor_however_it_ends(number: signal.Signals, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SUPERVISE, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == "up\n"
        children = psutil.Process(process.pid).children()
        assert len(children) == 2
        process.send_signal(number)
        rest = process.stdout.read()
    assert (process.returncode, rest) == ((-9, "") if number == signal.SIGKILL else (0, "ended\n"))
    wait_for(lambda: not any(child.is_running() for child in children), "the children have ended")


def test_a_child_whose_parent_died_before_it_could_ask_ends() -> None:
    """The parent that the child is told of is another process, as if it had died and init had taken the child over."""
    code = "from app.processes.supervisor import end_with_parent; end_with_parent(1); print('goes on')"
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (answer.returncode, answer.stdout) == (1, "")


def test_children_get_the_settings_and_nothing_else_of_that_prefix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEWFOUND_DATABASE_URL", "postgresql://elsewhere/another")
    monkeypatch.setenv("OTHER", "kept")
    found = environment(Settings(data_folder=tmp_path, database_url=None, port=1234))
    assert "NEWFOUND_DATABASE_URL" not in found
    assert (found["NEWFOUND_PORT"], found["NEWFOUND_DATA_FOLDER"], found["OTHER"]) == ("1234", str(tmp_path), "kept")
