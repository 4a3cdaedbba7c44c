"""A backup of a service in mid-job, restored elsewhere: all is there, and what was at work ends with the same bytes."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.faults.programs import ROOT
from tests.faults.servers import PostgresServer
from tests.faults.service import WORKERS
from tests.faults.stack import ON_EMBEDDED, Stack
from tests.waits import PATIENCE

LONG = {"sweeps": 1_500}  # so that a backup that takes seconds finds it at work
OTHER_JOB = {"seed": 8, "sweeps": 200}


@ON_EMBEDDED
def test_a_backup_in_mid_job_restored_elsewhere_has_all_and_goes_on_to_the_same_bytes(
    stack: Stack, tmp_path: Path
) -> None:
    expected, finished = stack.undisturbed(**LONG), stack.undisturbed_job(**LONG)
    paused = stack.submit(**OTHER_JOB)
    stack.post(f"/v1/jobs/{paused}/pause")
    running = stack.submit(**LONG)
    stack.reach(running)
    back_up(stack, tmp_path / "backup")
    before = [stack.outcome(finished), stack.get(f"/v1/corpora/{stack.corpus_id}")]
    stack.post(f"/v1/jobs/{running}/cancel")  # the copy has the machine for itself
    with elsewhere(stack, tmp_path / "backup") as other:
        assert [other.outcome(finished), other.get(f"/v1/corpora/{stack.corpus_id}")] == before
        assert other.get(f"/v1/jobs/{paused}")["status"] == "paused"
        assert other.wait_for_end(running)["status"] == "succeeded"
        assert other.outcome(running) == expected
        other.post(f"/v1/jobs/{paused}/resume")
        assert other.wait_for_end(paused)["status"] == "succeeded"
        restored = other.outcome(paused)
    assert restored == stack.undisturbed(**OTHER_JOB)


def back_up(stack: Stack, file: Path) -> None:
    """Copy the database to a file while the service runs, as docs/operations.md says."""
    if isinstance(stack.server, PostgresServer):
        run_binary(stack.server, "pg_dump", "--format=custom", "--file", str(file), uri(stack.server))
    else:
        run_newfound(stack, "backup", str(file))


@contextmanager
def elsewhere(stack: Stack, backup: Path) -> Iterator[Stack]:
    """A service of its own over what a backup holds: another data folder, an empty broker, one worker."""
    other = Stack(stack.kind, WORKERS[:1])
    try:
        if isinstance(other.server, PostgresServer):
            run_binary(
                other.server, "pg_restore", "--no-owner", "--exit-on-error", "-d", uri(other.server), str(backup)
            )
            run_newfound(other, "migrate")
        else:
            run_newfound(other, "restore", str(backup))
        other.corpus_id = stack.corpus_id
        other.broker.start()
        other.heal_processes()
        yield other
    finally:
        other.close()


def uri(server: PostgresServer) -> str:
    """The address of a database as PostgreSQL's own programs take it."""
    return server.url.replace("+psycopg", "")


def run_binary(server: PostgresServer, name: str, *arguments: str) -> None:
    """Run a program of PostgreSQL to its end."""
    run([str(server.server.bin_path / name), *arguments], {})


def run_newfound(stack: Stack, *arguments: str) -> None:
    """Run a command of the service to its end."""
    run([sys.executable, "-m", "app", *arguments], stack.environment)


def run(command: Sequence[str], environment: dict[str, str]) -> None:
    """Run a program, which must succeed."""
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
