"""Where the commands keep what they compile."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from app import cli
from app.cli import kernel_cache
from app.settings import Settings

SAMPLER = Path(__file__).parent.parent.parent / "sampler"


def test_each_version_of_the_sampler_has_a_folder_of_its_own_for_its_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels of another version cannot be read, if a class that they take has moved."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    settings = Settings(data_folder=tmp_path)
    present = kernel_cache(settings)
    assert kernel_cache(settings) == present
    assert present.is_relative_to(tmp_path)

    copy = tmp_path / "sampler"
    shutil.copytree(SAMPLER, copy, ignore=shutil.ignore_patterns("__pycache__"))
    spec = SimpleNamespace(submodule_search_locations=[str(copy)])
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: spec)
    assert kernel_cache(settings) == present
    with (copy / "chain.py").open("a") as source:
        source.write("# changed\n")
    assert kernel_cache(settings) != present


def loaded_by(modules: str) -> set[str]:
    """The packages that a new process has loaded after importing some modules."""
    program = f"import sys, {modules}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    )


def test_a_worker_starts_with_nothing_that_it_has_no_use_for() -> None:
    """It is ready within two seconds. And numba is not there before the command has said where its cache is."""
    assert not loaded_by("app.cli") & {"alembic", "celery", "fastapi", "numba", "uvicorn"}
    assert not loaded_by("app.cli, worker.tasks") & {"alembic", "click_repl", "fastapi", "redis", "uvicorn"}


def test_the_command_runs_a_worker_with_its_name_and_the_kernels_of_this_version(
    migrated_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []

    def run(name: str) -> int:
        told.append((name, os.environ["NUMBA_CACHE_DIR"]))
        return 3

    monkeypatch.setitem(sys.modules, "worker.tasks", SimpleNamespace(run=run))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setenv("NEWFOUND_DATABASE_URL", f"sqlite:///{migrated_file}")
    expected = str(kernel_cache(Settings()))
    assert cli.main(["worker", "--name", "w"]) == 3
    assert told == [("w@newfound", expected)]


def test_the_environment_says_where_kernels_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    assert kernel_cache(Settings(data_folder=tmp_path / "data")).parent == tmp_path / "kernels"
