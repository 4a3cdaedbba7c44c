"""What a process loads at its start is out of the way of its work."""

import gc

import pytest

from app.core.loading import loading


def test_what_is_loaded_is_never_searched_for_garbage_whatever_goes_wrong() -> None:
    before = gc.get_freeze_count()
    try:
        with pytest.raises(ImportError), loading():
            assert not gc.isenabled()
            kept = [[] for _ in range(1_000)]  # type: ignore[var-annotated]
            raise ImportError
        assert gc.isenabled()
        assert gc.get_freeze_count() >= before + len(kept)
        assert not any(found is kept for found in gc.get_objects())
    finally:
        gc.unfreeze()
