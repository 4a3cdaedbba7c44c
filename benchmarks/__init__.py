"""Measurements on real corpora, which are not in this repository: each takes --data DIR."""

from pathlib import Path

from app.core.settings import Settings
from app.processes.kernel_cache import prepare_kernel_cache

# Kernels of this version and no other, as in the service: numba's own cache would mix them after an edit.
# Before numba is imported.
prepare_kernel_cache(Settings(data_folder=Path(__file__).parent.parent / "data"))
