"""The face of the sampler: all that it promises is there, and nobody waits for a model that he does not use."""

import subprocess
import sys
from pathlib import Path

import pytest

import sampler
from sampler import calibrated

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("module", [sampler, calibrated])
def test_every_name_of_a_face_is_there(module: object) -> None:
    names: list[str] = module.__all__  # type: ignore[attr-defined]
    assert names == sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert all(getattr(module, name) is not None for name in names)


def test_numba_is_loaded_with_the_first_model_and_not_before_and_all_of_statistics_never() -> None:
    code = """
import sys
import sampler
assert sampler.encode and sampler.Corpus and "numba" not in sys.modules
assert sampler.calibrated.start and "numba" in sys.modules
assert "scipy.stats" not in sys.modules, "it takes a worker a quarter of its start"
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="surprise"):
        sampler.surprise  # noqa: B018
