"""A frozen model, and the file that holds it.

    newfound-model | format uint32 | header bytes uint64 | header, JSON | arrays | SHA-256 of all that stands before it

Little-endian; each array begins at a multiple of 64 bytes. The header has facts, and of each array its name, type,
shape and first byte, counted from the end of the header. Nothing in the file is code.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sampler.corpus import NO_CATEGORY, Array

MAGIC = b"newfound-model"
FORMAT, WITH_VECTORS = 1, 2  # the latter of a model that knows vectors
ALIGNMENT = 64  # bytes
NUMBERS = len(MAGIC) + 4 + 8  # bytes before the header
DIGEST_BYTES = 32
MAX_HEADER = 2**26  # bytes

# Type and axes of each array.
ARRAYS: dict[str, tuple[str, int]] = {
    "vocabulary": ("<u1", 1),
    "weights": ("<f4", 2),
    "inverse_frequency": ("<f8", 1),
    "unlabeled": ("<f8", 1),
    "chance": ("<f8", 1),
    "sizes": ("<i8", 1),
    "starts": ("<i8", 1),
    "reference": ("<f4", 1),
    "marks": ("<u8", 1),
    "text_of_mark": ("<i4", 1),
    "category": ("<i4", 1),
    "probability": ("<f8", 1),
    "known": ("<f8", 1),
    "runner_up": ("<i4", 1),
    "runner_up_probability": ("<f8", 1),
    "others": ("<i4", 2),
    "other_probability": ("<f8", 2),
}
# Of a model whose job had vectors, in files of format 2.
OF_VECTORS: dict[str, tuple[str, int]] = {"vector_mean": ("<f8", 1), "vector_axes": ("<f8", 2)}
SCALARS = ("temperature", "expected_novel")


class ModelError(ValueError):
    """These bytes are not a model that this version reads."""


class VectorsOf(NamedTuple):
    """How a model sees a document's vector of n numbers, see `sampler.vectors` and `directions.Columns`."""

    mean: Array  # float64[n]
    axes: Array  # float64[n, p]
    scale: float


class FrozenModel(NamedTuple):
    """What answers a document: a regression, and the answers that the job gave to its own texts."""

    weights: Array  # float32[V + 1, K], or [V + p + 1, K] if vectors count; the intercepts are the last row
    inverse_frequency: Array  # float64[V], see `bags.inverse_frequency`
    temperature: float  # of the probabilities
    unlabeled: Array  # float64[K], the chance that a document of the category bears no label
    chance: Array  # float64[K], that the category is as the answer has it
    sizes: Array  # int64[B], ascending from 1: numbers of distinct words
    starts: Array  # int64[B + 1], where in the reference those of each size begin
    reference: Array  # float32[N], of each size ascending: energies of known documents, see `freeze.energies_by_size`
    expected_novel: float  # share of the job's own unlabeled documents that are novel
    marks: Array  # uint64[M], ascending: of the job's own documents, see `sampler.text.tokens.mark_of`
    text_of_mark: Array  # int32[M], into what follows
    category: Array  # int32[T], the answers, as `Consensus` has them
    probability: Array  # float64[T]
    known: Array  # float64[T]
    runner_up: Array  # int32[T]
    runner_up_probability: Array  # float64[T]
    others: Array  # int32[T, L]
    other_probability: Array  # float64[T, L]
    vectors: VectorsOf | None = None

    @property
    def n_axes(self) -> int:
        """p: the columns of vectors, behind those of words; 0 if they do not count."""
        return 0 if self.vectors is None or self.vectors.scale == 0.0 else int(self.vectors.axes.shape[1])


class ModelFile(NamedTuple):
    """What a file holds."""

    model: FrozenModel
    vocabulary: list[str]
    facts: dict[str, Any]  # JSON: what the model is told of by whoever froze it


def dump(model: FrozenModel, vocabulary: list[str], facts: Mapping[str, Any]) -> bytes:
    """The model as a file: the same model, the same bytes."""
    arrays = {name: value for name, value in model._asdict().items() if name in ARRAYS}
    arrays["vocabulary"] = np.frombuffer(json.dumps(vocabulary, ensure_ascii=True).encode(), np.uint8)
    kinds, number, scalars = ARRAYS, FORMAT, {name: getattr(model, name) for name in SCALARS}
    if model.vectors is not None:
        kinds, number = ARRAYS | OF_VECTORS, WITH_VECTORS
        arrays |= {"vector_mean": model.vectors.mean, "vector_axes": model.vectors.axes}
        scalars["vector_scale"] = model.vectors.scale
    described, pieces, start = [], [], 0
    for name, (code, _) in kinds.items():
        array = np.ascontiguousarray(arrays[name], code)
        described.append({"name": name, "type": code, "shape": list(array.shape), "start": start})
        pieces.append(array.tobytes() + bytes(-array.nbytes % ALIGNMENT))
        start += len(pieces[-1])
    header = json.dumps({"facts": facts, "scalars": scalars, "arrays": described}, sort_keys=True).encode()
    header += b" " * (-(NUMBERS + len(header)) % ALIGNMENT)
    body = MAGIC + number.to_bytes(4, "little") + len(header).to_bytes(8, "little") + header + b"".join(pieces)
    return body + hashlib.sha256(body).digest()


def load(data: bytes) -> ModelFile:
    """The model that a file holds; its arrays are views of these bytes. Raises ModelError, whatever the bytes are."""
    if not data.startswith(MAGIC) or len(data) < NUMBERS + DIGEST_BYTES:
        raise ModelError("these bytes do not begin like a model of Newfound")
    number = int.from_bytes(data[len(MAGIC) : len(MAGIC) + 4], "little")
    if number not in (FORMAT, WITH_VECTORS):
        raise ModelError(f"its format is {number}, and this version reads formats {FORMAT} and {WITH_VECTORS}")
    if hashlib.sha256(memoryview(data)[:-DIGEST_BYTES]).digest() != data[-DIGEST_BYTES:]:
        raise ModelError("its checksum does not match: it is damaged or not complete")
    header_end = NUMBERS + int.from_bytes(data[len(MAGIC) + 4 : NUMBERS], "little")
    if header_end - NUMBERS > MAX_HEADER or header_end > len(data) - DIGEST_BYTES:
        raise ModelError("its header does not end")
    try:
        header = json.loads(data[NUMBERS:header_end])
        parts: dict[str, Any] = {each["name"]: array_of(data, header_end, each) for each in header["arrays"]}
        vocabulary = json.loads(parts.pop("vocabulary").tobytes())
        parts.update({name: float(header["scalars"][name]) for name in SCALARS})
        if number == WITH_VECTORS:
            mean, axes = (parts.pop(name) for name in OF_VECTORS)
            parts["vectors"] = VectorsOf(mean, axes, float(header["scalars"]["vector_scale"]))
        model = FrozenModel(**parts)
        facts = header["facts"]
        check(model, vocabulary, facts)
    except ModelError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
        raise ModelError(f"what it holds is not a model: {type(error).__name__}") from error
    return ModelFile(model, vocabulary, facts)


def array_of(data: bytes, base: int, described: Mapping[str, Any]) -> Array:
    """An array of the file, as its header describes it. Raises ModelError if it does not lie within."""
    name, code, shape = described["name"], described["type"], tuple(described["shape"])
    expected, n_axes = (ARRAYS | OF_VECTORS)[name]
    if code != expected or len(shape) != n_axes or any(type(size) is not int or size < 0 for size in shape):
        raise ModelError(f"its array {name} is not of the kind that a model has")
    count, first = int(np.prod(shape, dtype=object)), base + described["start"]
    if type(described["start"]) is not int or first < base or first + count * int(code[2]) > len(data) - DIGEST_BYTES:
        raise ModelError(f"its array {name} does not lie within the file")
    array = np.frombuffer(data, code, count, first).reshape(shape)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def check(model: FrozenModel, vocabulary: Any, facts: Any) -> None:
    """Raise ModelError unless sizes agree, indices lie within, and numbers are numbers."""
    n_categories, n_texts = model.chance.size, model.category.size
    if not isinstance(vocabulary, list) or not all(isinstance(word, str) for word in vocabulary):
        raise ModelError("its vocabulary is not a list of words")
    "".join(vocabulary).encode()  # a lone surrogate, which no answer can hold, is a ValueError
    categories = facts["categories"]
    sizes = {
        "weights": (len(vocabulary) + model.n_axes + 1, n_categories),
        "inverse_frequency": (len(vocabulary),),
        "unlabeled": (n_categories,),
        "text_of_mark": model.marks.shape,
        "probability": (n_texts,),
        "known": (n_texts,),
        "runner_up": (n_texts,),
        "runner_up_probability": (n_texts,),
        "others": model.other_probability.shape,
        "other_probability": (n_texts, model.others.shape[1]),
    }
    wrong = [name for name, shape in sizes.items() if getattr(model, name).shape != shape]
    if wrong or len(categories) != n_categories:
        raise ModelError(f"its sizes do not agree: {', '.join(wrong) or 'categories'}")
    for name, limit in (("category", n_categories), ("runner_up", n_categories), ("others", n_categories)):
        values = getattr(model, name)
        if values.size and (values.min() < NO_CATEGORY or values.max() >= limit):
            raise ModelError(f"its array {name} names categories that it does not have")
    if model.text_of_mark.size and (model.text_of_mark.min() < 0 or model.text_of_mark.max() >= n_texts):
        raise ModelError("its array text_of_mark names texts that it does not have")
    for name in ("weights", "inverse_frequency", "unlabeled", "chance", "reference"):
        if not np.isfinite(getattr(model, name)).all():
            raise ModelError(f"its array {name} has values that are no numbers")
    if not (np.isfinite(model.temperature) and model.temperature > 0 and 0 <= model.expected_novel <= 1):
        raise ModelError("its temperature or its share of novel documents is out of range")
    check_vectors(model, facts)
    check_order(model)


def check_vectors(model: FrozenModel, facts: Any) -> None:
    """Raise ModelError unless what it says of vectors goes together and is numbers."""
    if model.vectors is None:
        return
    mean, axes, scale = model.vectors
    if axes.shape[0] != mean.size or facts.get("vector_length") != mean.size:
        raise ModelError("its axes are not of vectors as long as it says")
    if not (np.isfinite(mean).all() and np.isfinite(axes).all() and np.isfinite(scale) and scale >= 0):
        raise ModelError("its axes of vectors have values that are no numbers")


def check_order(model: FrozenModel) -> None:
    """Raise ModelError unless all that is searched in is in order."""
    sizes, starts, reference = model.sizes, model.starts, model.reference
    if starts.size != sizes.size + 1 or sizes.size == 0 or sizes[0] != 1 or (np.diff(sizes) <= 0).any():
        raise ModelError("its sizes of documents do not ascend from 1")
    if starts[0] != 0 or starts[-1] != reference.size or (np.diff(starts) <= 0).any():
        raise ModelError("its energies do not belong to its sizes of documents")
    falls = np.flatnonzero(np.diff(reference) < 0) + 1
    if not np.isin(falls, starts).all() or (model.marks[1:] < model.marks[:-1]).any():
        raise ModelError("its marks or energies do not ascend")
