"""Where compiled kernels are kept, and that they are compiled once before jobs need them."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from app import cli
from app.core.settings import Settings
from app.processes import kernel_cache
from app.processes.kernel_cache import compile_first, kernels_are_compiled, mark_compiled, prepare_kernel_cache
from tests.waits import wait_for

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings with an empty cache in the data folder."""
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    return Settings(data_folder=tmp_path / "data", reap_seconds=0.05)


@pytest.mark.parametrize("package", kernel_cache.PACKAGES)
def test_each_version_of_the_sampler_has_a_folder_of_its_own_for_its_kernels(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    """Kernels of another version cannot be read, if a class that they take has moved."""
    present = kernel_cache.kernel_cache(settings)
    assert present.parent == settings.data_folder / "kernels"

    for each in kernel_cache.PACKAGES:
        shutil.copytree(ROOT / each, tmp_path / each, ignore=shutil.ignore_patterns("__pycache__"))
    copy = tmp_path / package
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: SimpleNamespace(submodule_search_locations=[str(tmp_path / name)])
    )
    versions = [kernel_cache.kernel_cache(settings)]
    assert versions == [present]

    nested = copy / "numerics" / "kernels"
    nested.mkdir(parents=True)
    (nested / "lanes.py").write_text("WIDTH = 4\n")
    versions.append(kernel_cache.kernel_cache(settings))
    (nested / "lanes.py").write_text("WIDTH = 8\n")
    versions.append(kernel_cache.kernel_cache(settings))
    (nested / "lanes.py").rename(nested / "vectors.py")
    versions.append(kernel_cache.kernel_cache(settings))
    with (copy / "chain.py").open("a") as source:
        source.write("# changed\n")
    versions.append(kernel_cache.kernel_cache(settings))
    assert len(set(versions)) == len(versions)


def test_another_compiler_makes_another_version(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    present = kernel_cache.kernel_cache(settings)
    monkeypatch.setattr(kernel_cache, "version", lambda _: "0.0")
    assert kernel_cache.kernel_cache(settings) != present


def test_the_environment_says_where_kernels_are_kept(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "elsewhere"))
    assert kernel_cache.kernel_cache(settings).parent == tmp_path / "elsewhere"


def test_a_process_that_inherits_the_folder_from_one_of_ours_takes_it_as_it_is(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "elsewhere"))
    folder = kernel_cache.kernel_cache(settings)
    prepare_kernel_cache(settings)
    assert os.environ["NUMBA_CACHE_DIR"] == str(folder)
    prepare_kernel_cache(settings)
    assert os.environ["NUMBA_CACHE_DIR"] == str(folder) == str(kernel_cache.kernel_cache(settings))


def test_all_processes_of_the_tests_share_one_folder() -> None:
    """Of a worker that a test starts, too: it once looked in a folder of that name within it, and compiled anew."""
    code = (
        "from app.processes.environment import read_settings as read; "
        "from app.processes.kernel_cache import kernel_cache as folder; "
    )
    told = subprocess.run([sys.executable, "-c", code + "print(folder(read()))"], cwd=ROOT, capture_output=True)
    assert told.stdout.decode().strip() == os.environ["NUMBA_CACHE_DIR"]
    assert Path(os.environ["NUMBA_CACHE_DIR"]).parent.name != Path(os.environ["NUMBA_CACHE_DIR"]).name


def test_kernels_count_as_compiled_once_they_are_marked_for_this_processor(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not kernels_are_compiled(settings)
    prepare_kernel_cache(settings)
    assert not kernels_are_compiled(settings)
    mark_compiled(settings)
    assert kernels_are_compiled(settings)
    assert kernel_cache.processor()
    monkeypatch.setattr(kernel_cache, "processor", lambda: "another one")
    assert not kernels_are_compiled(settings)


def test_kernels_of_sources_that_were_installed_anew_do_not_count_as_compiled(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numba would compile them again, job by job: it knows a source by its path and time."""
    source = tmp_path / "kernels.py"
    source.touch()
    monkeypatch.setattr(kernel_cache, "sources", lambda: [(tmp_path, source)])
    prepare_kernel_cache(settings)
    mark_compiled(settings)
    assert kernels_are_compiled(settings)
    os.utime(source, ns=(0, 0))
    assert not kernels_are_compiled(settings)


@pytest.mark.parametrize("command", ["serve", "worker", "compile"])
def test_a_cache_that_cannot_be_written_is_refused_in_one_line(
    command: str,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NEWFOUND_DATA_FOLDER", str(settings.data_folder))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "kernels"))
    assert cli.main([command]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"newfound: NUMBA_CACHE_DIR: the folder {tmp_path / 'file' / 'kernels'}")
    assert told.endswith("cannot be made: Not a directory\n")
    assert told.count("\n") == 1


FAKE_COMPILER = """
import sys, time
from types import SimpleNamespace

def compile_kernels():
    with open(sys.argv[1], "a") as file:
        file.write("compiled\\n")
    time.sleep(0.5)

sys.modules["worker.kernels"] = SimpleNamespace(compile_kernels=compile_kernels)
from app import cli
sys.exit(cli.main(["compile"]))
"""


def test_of_many_processes_that_compile_at_once_one_does_it(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEWFOUND_DATA_FOLDER", str(settings.data_folder))
    command = [sys.executable, "-c", FAKE_COMPILER, str(tmp_path / "told")]
    compilers = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) for _ in range(4)]
    assert [compiler.wait() for compiler in compilers] == [0] * 4
    assert (tmp_path / "told").read_text() == "compiled\n"
    assert kernels_are_compiled(settings)


def test_a_worker_waits_for_the_kernels_and_says_meanwhile_that_it_lives(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEWFOUND_DATA_FOLDER", str(settings.data_folder))
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(kernel_cache, "COMPILE", [sys.executable, "-c", FAKE_COMPILER, str(tmp_path / "told")])
    told: list[bool] = []
    compile_first(settings, lambda: told.append(kernels_are_compiled(settings)))
    assert kernels_are_compiled(settings)
    assert len(told) > 2
    assert told[0] is False


@pytest.mark.parametrize("seconds", [1800.0, 0.2])
def test_a_compiler_that_fails_or_never_ends_keeps_no_worker_from_its_jobs(
    seconds: float, settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(kernel_cache, "LONGEST_SECONDS", seconds)
    monkeypatch.setattr(kernel_cache, "COMPILE", ["sleep", "3600"] if seconds < 1 else ["false"])
    before = set(psutil.Process().children())  # servers that other tests have started
    compile_first(settings, lambda: None)
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == [
        "the kernels were not compiled ahead of time; jobs compile those that they need"
    ]
    assert set(psutil.Process().children()) <= before


def test_the_compiler_ends_with_the_worker_that_started_it(settings: Settings) -> None:
    code = (
        "from app.core.settings import Settings; from app.processes import kernel_cache; "
        "kernel_cache.COMPILE = ['sleep', '3600']; "
        "kernel_cache.compile_first(Settings(), lambda: print('waits', flush=True))"
    )
    worker = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    with worker:
        assert worker.stdout.readline() == "waits\n"
        [compiler] = psutil.Process(worker.pid).children()
        worker.send_signal(signal.SIGKILL)
    wait_for(lambda: not compiler.is_running(), "the compiler has ended")
