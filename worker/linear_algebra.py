"""Linear algebra whose results do not depend on the machine."""

from contextlib import AbstractContextManager
from typing import Any, cast

from threadpoolctl import ThreadpoolController


def one_thread(libraries: ThreadpoolController) -> AbstractContextManager[Any]:
    """One thread for each of the libraries: on several, sums are made in other orders, and a seed gives other bytes."""
    return cast(AbstractContextManager[Any], libraries.limit(limits=1))
