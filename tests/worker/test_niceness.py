"""How much a worker gives way, in a process of its own: it cannot be taken back."""

import subprocess
import sys

import pytest

from worker.niceness import AUTOGROUP

CODE = """
import os, sys
from worker.niceness import give_way
os.nice(int(sys.argv[1]))
give_way(int(sys.argv[2]))
print(os.getpriority(os.PRIO_PROCESS, 0))
"""


@pytest.mark.parametrize(("before", "wanted", "found"), [(0, 5, 5), (3, 5, 5), (7, 5, 7), (0, 0, 0)])
def test_a_worker_is_as_nice_as_it_should_be_or_was_already(before: int, wanted: int, found: int) -> None:
    assert run(CODE, str(before), str(wanted)) == [str(found)]


@pytest.mark.skipif(not AUTOGROUP.exists(), reason="this kernel has no groups of sessions")
def test_the_session_of_a_worker_gives_way_and_one_that_it_shares_does_not() -> None:
    code = f"{CODE}print(open({str(AUTOGROUP)!r}).read().split()[-1])"
    assert run(code, "0", "5", is_leader=True) == ["5", "5"]
    assert run(code, "0", "5") == ["5", "0"]


def run(code: str, *arguments: str, is_leader: bool = False) -> list[str]:
    """The lines that a process prints, in a session of its own or in one with another process."""
    if not is_leader:
        code = f"import os\nif os.fork():\n    os._exit(os.waitpid(-1, 0)[1])\n{code}"
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, start_new_session=True, capture_output=True, text=True, check=True)
    return done.stdout.split()
