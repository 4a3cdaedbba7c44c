"""Facts and arrays as bytes and back, exactly.

The format has a version, the shapes and a checksum; it is zlib-compressed little-endian arrays behind a JSON header.
"""

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from sampler.corpus import Array

MAGIC = b"newfound"
FORMAT = 1
HEADER_BYTES = 4  # length of the JSON header, little-endian, behind the magic
CHECKSUM_BYTES = 4  # CRC-32 of all that stands before it, at the end


class CheckpointError(Exception):
    """These bytes are not a checkpoint of this corpus in this format."""


def pack(facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """Facts (JSON values) and arrays (integers or floats, any shape) as bytes."""
    parts, described = [], []
    for name, array in arrays.items():
        array = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
        described.append({"name": name, "dtype": array.dtype.str, "shape": array.shape})
        parts.append(array.tobytes())
    header = json.dumps({"format": FORMAT, "facts": facts, "arrays": described}).encode()
    body = MAGIC + len(header).to_bytes(HEADER_BYTES, "little") + header + zlib.compress(b"".join(parts), 1)
    return body + zlib.crc32(body).to_bytes(CHECKSUM_BYTES, "little")


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, Array]]:
    """The facts and arrays that `pack` was given. Raises CheckpointError for anything else."""
    body, checksum = data[:-CHECKSUM_BYTES], data[-CHECKSUM_BYTES:]
    if not body.startswith(MAGIC):
        raise CheckpointError("these bytes do not begin like a checkpoint")
    if zlib.crc32(body).to_bytes(CHECKSUM_BYTES, "little") != checksum:
        raise CheckpointError("the checksum does not match: the checkpoint is damaged")
    header_start = len(MAGIC) + HEADER_BYTES
    header_end = header_start + int.from_bytes(body[len(MAGIC) : header_start], "little")
    header = json.loads(body[header_start:header_end])
    if header["format"] != FORMAT:
        raise CheckpointError(f"format {header['format']} is not {FORMAT}, the one this version reads")
    raw, arrays, position = zlib.decompress(body[header_end:]), {}, 0
    for described in header["arrays"]:
        dtype, shape = np.dtype(described["dtype"]), tuple(described["shape"])
        size = int(np.prod(shape))
        array = np.frombuffer(raw, dtype, size, position).reshape(shape)
        arrays[described["name"]] = array.astype(dtype.newbyteorder("="))  # a copy: writable, native
        position += size * dtype.itemsize
    return header["facts"], arrays


def smallest(array: Array) -> Array:
    """The same non-negative integers in the smallest unsigned type that holds them."""
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))
