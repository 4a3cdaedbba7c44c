"""Where compiled kernels are kept, whether they are there, and how they come there before a job needs them."""

import fcntl
import hashlib
import importlib.util
import logging
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path

from app.core.settings import Settings
from app.processes.folders import prepare
from app.processes.supervisor import end_with_parent
from app.processes.trust import check_files, check_trusted

logger = logging.getLogger(__name__)

VARIABLE = "NUMBA_CACHE_DIR"
PACKAGES = ("baselines", "sampler")  # whose kernels are kept: a change of one of their files makes a new version
COMPILERS = ("llvmlite", "numba", "numpy")
MARK, LOCK = "compiled", "lock"
COMPILE = [sys.executable, "-m", "app", "compile"]
LONGEST_SECONDS = 1800.0  # a worker waits for the compiler no longer, and lets its jobs compile what they need
CPU_LINES = ("vendor_id", "model name", "flags", "CPU implementer", "CPU part", "Features")


def kernel_cache(settings: Settings) -> Path:
    """The folder of this version's compiled kernels: in NUMBA_CACHE_DIR, or else in the data folder.

    Each version has a folder of its own there: numba's index of a file holds references into other files, and
    cannot be read at all once one of those has changed. A process that inherits NUMBA_CACHE_DIR from one of ours
    finds that folder in it, and takes it as it is.
    """
    base = Path(os.environ.get(VARIABLE) or settings.data_folder / "kernels").absolute()
    name = version_name()
    return base if base.name == name else base / name


def version_name() -> str:
    """A name for the sources of all kernels and for what compiles them."""
    found = hashlib.sha256()
    for folder, source in sources():
        found.update(f"{folder.name}/{source.relative_to(folder)}\0".encode())
        found.update(hashlib.sha256(source.read_bytes()).digest())
    found.update(" ".join([sys.implementation.cache_tag, platform.machine(), *map(version, COMPILERS)]).encode())
    return found.hexdigest()[:12]


def sources() -> Iterator[tuple[Path, Path]]:
    """The folders of the packages, with each of their sources."""
    for package in PACKAGES:
        [folder] = importlib.util.find_spec(package).submodule_search_locations  # type: ignore[union-attr, misc]
        for source in sorted(Path(folder).rglob("*.py")):
            yield Path(folder), source


def prepare_kernel_cache(settings: Settings) -> None:
    """Let numba, which is yet to be imported, use the folder.

    Raises WrongSetting if it cannot be written to, where numba itself would take another folder without a word, in
    which kernels of several versions mix, or none; or if another user can write to it, as kernels are code.
    """
    folder = kernel_cache(settings)
    setting = VARIABLE if os.environ.get(VARIABLE) else "NEWFOUND_DATA_FOLDER"
    prepare(setting, folder)
    check_trusted(setting, folder)
    check_files(setting, folder)
    os.environ[VARIABLE] = str(folder)


def kernels_are_compiled(settings: Settings) -> bool:
    """Whether a job finds all its kernels compiled, of these very files and for a processor such as this one."""
    with suppress(OSError):
        return (kernel_cache(settings) / MARK).read_text() == compiled_for()
    return False


def mark_compiled(settings: Settings) -> None:
    """Note that all kernels are there."""
    (kernel_cache(settings) / MARK).write_text(compiled_for())


def compiled_for() -> str:
    """Where kernels are found again: numba knows them by the paths and times of their sources, besides the processor.

    The same version may be installed twice over one data folder, or installed anew.
    """
    files = "".join(f"{source}\0{source.stat().st_mtime_ns}\0" for _, source in sources())
    return f"{processor()}\n{hashlib.sha256(files.encode()).hexdigest()}"


def processor() -> str:
    """What kernels are compiled for, in lines."""
    with suppress(OSError):
        core = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
        return "\n".join(line for line in core.splitlines() if line.startswith(CPU_LINES))
    return platform.processor()


@contextmanager
def turn_to_compile(settings: Settings) -> Iterator[None]:
    """Within this context no other process compiles into the folder; the lock goes with the process that holds it.

    The library filelock would look twenty times a second instead of being woken.
    """
    with (kernel_cache(settings) / LOCK).open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def compile_first(settings: Settings, meanwhile: Callable[[], None]) -> None:
    """Return when the kernels are compiled: by `newfound compile`, or by another worker's that came first.

    In a process of its own, which gives the compiler's memory back, and ends with this one. `meanwhile` is called
    every `reap_seconds`. Kernels that could not be compiled ahead are compiled by the jobs that need them.
    """
    logger.info("the sampler's kernels are being compiled, once per version, for about a minute; jobs wait meanwhile")
    until = time.monotonic() + LONGEST_SECONDS
    compiler = subprocess.Popen(
        COMPILE,
        stdin=subprocess.DEVNULL,
        preexec_fn=partial(end_with_parent, os.getpid()),
    )
    try:
        while compiler.poll() is None and time.monotonic() < until:
            meanwhile()
            with suppress(subprocess.TimeoutExpired):
                compiler.wait(timeout=settings.reap_seconds)
    finally:
        compiler.kill()
        compiler.wait()
    if not kernels_are_compiled(settings):
        logger.warning("the kernels were not compiled ahead of time; jobs compile those that they need")
