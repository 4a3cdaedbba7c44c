"""A chain's state to bytes and back, exactly.

Only what a kernel cannot count again, concentrations, the position in the random streams and the tally of kept draws
are stored; counts are recounted on loading. The format has a version, the shapes and a checksum; it is
zlib-compressed little-endian arrays behind a JSON header.
"""

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from sampler.corpus import Array, Corpus, fingerprint
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm.chain import KERNELS
from sampler.lbpl_ntm.state import Course, State, Tally, check_kernel

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


def dump(corpus: Corpus, state: State) -> bytes:
    """The state as bytes; equal states give equal bytes."""
    facts = {
        "corpus": state.fingerprint,
        "kernel": state.kernel,
        "n_topics": state.n_topics,
        "seed": state.seed,
        "chain": state.chain,
        "n_sweeps": state.n_sweeps,
        "n_born": state.n_born,
        "alpha": state.alpha.hex(),
        "gamma": state.gamma.hex(),
        "n_draws": state.tally.n_draws,
        "digest": state.digest,
    }
    tally = {
        "tally_document": state.tally.document,
        "tally_identity": state.tally.identity,
        "tally_hits": state.tally.hits,
    }
    return pack(facts, {**state.arrays(corpus), **tally})


def load(corpus: Corpus, hyperparameters: Hyperparameters, data: bytes) -> State:
    """The state that was dumped, of the kernel that it had.

    Raises CheckpointError for another corpus, another model or damaged bytes.
    """
    facts, arrays = unpack(data)
    if facts["corpus"] != fingerprint(corpus):
        raise CheckpointError("the checkpoint belongs to another corpus")
    if facts.get("n_topics") != hyperparameters.n_topics:
        raise CheckpointError(f"{facts.get('n_topics')} topics are not {hyperparameters.n_topics}")
    kernel = facts.get("kernel", "collapsed")  # checkpoints from before there was another name none
    if kernel not in KERNELS:
        raise CheckpointError(f"the kernel {kernel!r} is none of {', '.join(KERNELS)}, which this version has")
    try:
        check_kernel(kernel, hyperparameters)
        return KERNELS[kernel].restore(corpus, hyperparameters, course(facts, arrays), arrays)
    except KeyError as error:
        raise CheckpointError(f"the checkpoint has no {error}") from error
    except ValueError as error:
        raise CheckpointError(str(error)) from error


def course(facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> Course:
    """The part of a state that all kernels share."""
    return Course(
        fingerprint=facts["corpus"],
        n_topics=facts["n_topics"],
        seed=facts["seed"],
        chain=facts["chain"],
        n_sweeps=facts["n_sweeps"],
        n_born=facts["n_born"],
        alpha=float.fromhex(facts["alpha"]),
        gamma=float.fromhex(facts["gamma"]),
        tally=Tally(facts["n_draws"], arrays["tally_document"], arrays["tally_identity"], arrays["tally_hits"]),
        digest=facts["digest"],
    )
