"""Kernels that the tests have compiled already, laid where an installed copy of their packages looks for its own.

It takes two minutes of a core to compile them all. They are the same for the same sources: numba only names the folder
of a file's kernels by the path of the file's folder, and knows the file by its time and size.
"""

import compileall
import hashlib
import os
import shutil
from pathlib import Path

from tests.deployment.image import ROOT

PACKAGES = ("sampler", "baselines")


def lay_in(site: Path, cache: Path, all_but: str) -> None:
    """Copy what is compiled for the repository's packages, all but a subpackage's, into the cache of another copy."""
    compiled = Path(os.environ["NUMBA_CACHE_DIR"])
    for source in (source for package in PACKAGES for source in (ROOT / package).rglob("*.py")):
        path = source.relative_to(ROOT)
        os.utime(site / path, ns=(source.stat().st_atime_ns, source.stat().st_mtime_ns))
        kernels = compiled / folder_name(source.parent)
        if kernels.exists() and path.parent != Path(all_but):
            shutil.copytree(kernels, cache / compiled.name / folder_name((site / path).parent), dirs_exist_ok=True)
    for package in PACKAGES:
        compileall.compile_dir(site / package, quiet=2, force=True)  # byte code knows the time of its source too


def folder_name(folder: Path) -> str:
    """How numba names the folder that the kernels of a folder's sources are in."""
    return f"{folder.name}_{hashlib.sha1(str(folder).encode()).hexdigest()}"
