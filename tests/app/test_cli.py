"""Where the commands keep what they compile."""

import importlib.util
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

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


def test_the_environment_says_where_kernels_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    assert kernel_cache(Settings(data_folder=tmp_path / "data")).parent == tmp_path / "kernels"
