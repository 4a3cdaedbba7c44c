"""Measurements on real corpora, which are not in this repository: each takes --data DIR."""

import os
from pathlib import Path

from app.cli import kernel_cache
from app.settings import Settings

# Kernels of this version and no other, as in the service: numba's own cache would mix them after an edit.
# Before numba is imported.
os.environ.setdefault("NUMBA_CACHE_DIR", str(kernel_cache(Settings(data_folder=Path(__file__).parent.parent / "data"))))
