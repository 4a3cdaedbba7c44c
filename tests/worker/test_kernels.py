"""Compiling ahead: after it, a job finds every kernel compiled."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

COUNTED = """
import sys
from numba.core import event
from worker.kernels import compile_kernels

class Compilations(event.Listener):
    names = []
    def on_start(self, happened):
        self.names.append(str(happened.data["dispatcher"]))
    def on_end(self, happened):
        pass

event.register("numba:compile", Compilations())
compile_kernels()
print(len(Compilations.names), *Compilations.names[:5])
"""


@pytest.mark.slow
def test_what_was_compiled_ahead_is_not_compiled_again(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    counts = [
        subprocess.run([sys.executable, "-c", COUNTED], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    first, second = (int(run.stdout.split()[0]) for run in counts)
    assert first > 100
    assert second == 0, counts[1].stdout
