"""However the tests are ended, nothing that they have started lives on, and no folder is left."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests import guard
from tests.waits import slowness, wait_for

ROOT = Path(__file__).resolve().parent.parent
SOON = 30.0 * slowness()  # seconds
PLUGINS = ["-p", "tests.conftest", "-p", "tests.faults.conftest"]

# Of each kind one: a server that leaves its starter, one that writes over its environment, a process with an
# environment of its own that leaves a child behind, and the service.
TESTS = """
import json, os, time
from pathlib import Path
import psutil
from app.core.schema import migrate
from tests import guard
from tests.deployment.processes import Process
from tests.faults.programs import Program
from tests.faults.servers import ValkeyBroker
from tests.waits import free_port, wait_for

def test_that_never_ends(postgres, tmp_path):
    broker = ValkeyBroker(guard.make_folder("broker"))
    broker.start()
    shell = Process("shell", ["setsid", "sh", "-c", "sleep 3600 & echo $!"], {"PATH": os.defpath}, tmp_path)
    orphan = wait_for(lambda: shell.log().strip(), "the shell has started another process")
    migrated = "sqlite:///" + str(tmp_path / "newfound.db")
    migrate(migrated)
    settings = {"DATABASE_URL": migrated, "DATA_FOLDER": str(tmp_path), "PORT": str(free_port())}
    api = Program("api", ["api"], {f"NEWFOUND_{k}": v for k, v in settings.items()}, tmp_path / "api.log")
    api.start()
    wait_for(lambda: "running on" in api.tail() or not api.is_running(), "the API runs")
    assert api.is_running(), api.tail()
    [folder] = [folder for folder in guard.folders(guard.start()) if (folder / "postmaster.pid").exists()]
    postmaster = int((folder / "postmaster.pid").read_text().split()[0])
    started = [os.getpid(), postmaster, broker.process.pid, int(orphan), api.pid]
    assert all(psutil.pid_exists(pid) for pid in started)
    told = Path(os.environ["TOLD"])
    told.with_suffix(".part").write_text(json.dumps({"mark": guard.start(), "pids": started}))
    told.with_suffix(".part").rename(told)
    time.sleep(3600)
"""


@pytest.mark.parametrize(
    ("number", "to_all", "options"),
    [
        (signal.SIGINT, True, ["-n", "1"]),  # Ctrl-C reaches all that is in the foreground
        pytest.param(signal.SIGTERM, False, [], marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, False, ["-n", "1"], marks=pytest.mark.slow),
    ],
    ids=["Ctrl-C", "SIGTERM", "SIGKILL"],
)
def test_nothing_that_tests_start_outlives_them(
    number: signal.Signals, to_all: bool, options: list[str], tmp_path: Path
) -> None:
    told, log = tmp_path / "told.json", tmp_path / "log"
    (tmp_path / "test_endless.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-c", "pyproject.toml", "--rootdir", str(ROOT), *PLUGINS, *options]
    with log.open("wb") as output:
        tests = subprocess.Popen(
            [*command, str(tmp_path / "test_endless.py")],
            cwd=ROOT,
            env=os.environ | {"TOLD": str(told)},
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=heed_interrupts,
        )
    wait_for(lambda: told.exists() or tests.poll() is not None, "the test runs")
    assert tests.poll() is None, log.read_text()
    started = json.loads(told.read_text())
    processes = [psutil.Process(pid) for pid in started["pids"]]
    processes += [child for process in processes for child in process.children(recursive=True)]
    assert len(guard.folders(started["mark"])) == 2
    if to_all:
        os.killpg(tests.pid, number)
    else:
        tests.send_signal(number)
    tests.wait()
    wait_for(lambda: not any(is_there(process) for process in processes), "all is gone", SOON)
    wait_for(lambda: guard.folders(started["mark"]) == [], "no folder is left", SOON)


def heed_interrupts() -> None:
    """Let Ctrl-C end the process: what a script starts in the background inherits that it is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def is_there(process: psutil.Process) -> bool:
    """Whether a process still runs; one that nobody waits for does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
