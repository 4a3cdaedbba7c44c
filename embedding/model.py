"""An embedding model at work: texts to vectors, on one thread, the same whatever else is embedded with a text."""

import mmap
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from embedding.folder import ModelFolder, UnusableModel, read_folder

Array = npt.NDArray[Any]

NEEDED, OPTIONAL = ("input_ids", "attention_mask"), "token_type_ids"  # inputs; the last one is zeros
OUTPUTS = ("last_hidden_state", "token_embeddings")  # by either name the vectors of a text's tokens
INTEGERS: dict[str, type[np.signedinteger[Any]]] = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
BATCH_TOKENS = 512  # more at once are not faster
# Such operators scale by the largest number of a whole batch: what else is in it would change a text's vector.
SCALES_BY_BATCH = (b"DynamicQuantizeLinear", b"DynamicQuantizeMatMul")
CHARACTERS = 64  # of a text for each token that counts: what is behind them is not even cut into tokens


def nothing() -> None:
    """Go on."""


class EmbeddingModel:
    """A graph and its tokenizer."""

    def __init__(self, files: ModelFolder) -> None:
        """Raises UnusableModel."""
        self.files = files
        try:
            self.tokenizer = import_module("tokenizers").Tokenizer.from_file(str(files.tokenizer))
            self.session = session_over(files.graph)
        except ImportError as error:
            raise UnusableModel(f"it needs the extra `embed`: pip install 'newfound[embed]' ({error})") from error
        except UnusableModel:
            raise
        except Exception as error:  # the two libraries' own, which have no class in common
            raise UnusableModel(f"{files.graph.parent} holds a damaged file: {told(error)}") from error
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(files.max_tokens)
        self.integers = inputs_of(self.session, files.graph)
        self.output = output_of(self.session, files.graph)
        self.alone = scales_by_batch(files.graph)
        self.length = self.tried()

    @classmethod
    def open(cls, folder: Path) -> Self:
        """The model in a folder. Raises UnusableModel."""
        return cls(read_folder(folder))

    @property
    def digest(self) -> str:
        """SHA-256, in hex: the same files give the same vectors."""
        return self.files.digest

    @property
    def n_characters(self) -> int:
        """How many characters of a text are looked at."""
        return CHARACTERS * self.files.max_tokens

    def embed(self, texts: Sequence[str], check: Callable[[], None] = nothing) -> Array:
        """float16[n, p]: the vectors of texts, 1 long; zeros for a text without a token.

        `check` is called every few milliseconds, and may break it off by raising something. Room for the tokens of all
        texts: give a few hundred at a time.
        """
        tokens = [self.tokens(text) for text in texts]
        vectors = np.zeros((len(texts), self.length), np.float16)
        for rows in batches([len(ids) for ids in tokens], 1 if self.alone else BATCH_TOKENS):
            check()
            vectors[rows] = self.pooled(np.array([tokens[row] for row in rows], self.integers))
        return vectors

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text that count, with those at its ends; none if there are only these."""
        encoded = self.tokenizer.encode(text[: self.n_characters])
        ids: list[int] = encoded.ids
        return [] if all(encoded.special_tokens_mask) else ids

    def pooled(self, ids: Array) -> Array:
        """float64[n, p]: the vectors of n texts of as many tokens each, 1 long. Raises UnusableModel."""
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), OPTIONAL: np.zeros_like(ids)}
        names = [each.name for each in self.session.get_inputs()]
        [hidden] = self.session.run([self.output], {name: given[name] for name in names})
        if hidden.ndim != 3 or hidden.shape[:2] != ids.shape:
            raise UnusableModel(f"{self.output} has the shape {hidden.shape}, not one vector a token")
        found = hidden.mean(axis=1, dtype=np.float64) if self.files.pooling == "mean" else hidden[:, 0].astype(float)
        if not np.isfinite(found).all():
            raise UnusableModel(f"{self.output} has numbers that are not finite")
        lengths = np.sqrt((found * found).sum(axis=1, keepdims=True))
        unit: Array = np.divide(found, lengths, out=np.zeros_like(found), where=lengths > 0.0)
        return unit

    def tried(self) -> int:
        """The length of vectors, found with a text as long as any that counts. Raises UnusableModel."""
        longest = np.full((1, self.files.max_tokens), 1, self.integers)
        try:
            return int(self.pooled(longest).shape[1])
        except UnusableModel:
            raise
        except Exception as error:
            raise UnusableModel(
                f"{self.files.graph} does not take texts of {self.files.max_tokens} tokens: {told(error)}"
            ) from error


def session_over(graph: Path) -> Any:
    """A graph, ready to be run on one thread."""
    onnxruntime = import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # batches have many shapes, and each would keep a plan
    options.log_severity_level = 3  # errors, which are raised as well
    return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])


def inputs_of(session: Any, graph: Path) -> type[np.signedinteger[Any]]:
    """The integers that the graph takes. Raises UnusableModel if it has other inputs than those of a text."""
    found = {each.name: each.type for each in session.get_inputs()}
    kinds = set(found.values())
    if not set(NEEDED) <= found.keys() <= {*NEEDED, OPTIONAL} or len(kinds) > 1 or not kinds <= INTEGERS.keys():
        raise UnusableModel(
            f"{graph} takes {', '.join(sorted(found)) or 'nothing'}; "
            f"it should take the integers {', '.join(NEEDED)}, and {OPTIONAL} if it likes"
        )
    return INTEGERS[kinds.pop()]


def output_of(session: Any, graph: Path) -> str:
    """The output with the vectors of tokens. Raises UnusableModel."""
    found = [each.name for each in session.get_outputs()]
    for name in OUTPUTS:
        if name in found:
            return name
    raise UnusableModel(f"{graph} gives {', '.join(found)}; it should give {' or '.join(OUTPUTS)}")


def scales_by_batch(graph: Path) -> bool:
    """Whether a text's vector would depend on what else is embedded with it: then each goes alone."""
    with graph.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return any(data.find(name) >= 0 for name in SCALES_BY_BATCH)


def batches(lengths: Sequence[int], most_tokens: int) -> Iterator[list[int]]:
    """Places of texts of as many tokens each, the short ones first; at least one a batch, none without a token."""
    by_length: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        by_length.setdefault(length, []).append(place)
    for length, places in sorted(by_length.items()):
        if length > 0:
            size = max(most_tokens // length, 1)
            yield from (places[first : first + size] for first in range(0, len(places), size))


def told(error: Exception) -> str:
    """What an error of a library says, on one line."""
    return " ".join(str(error).split())[:300]
