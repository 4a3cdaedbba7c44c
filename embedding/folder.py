"""The folder of an embedding model: which files it has, what they say of how texts become vectors, and its digest.

It is as sentence-transformers exports one: model.onnx, or onnx/model.onnx, and tokenizer.json; and where they are there
1_Pooling/config.json, sentence_bert_config.json and modules.json. Nothing here needs the extra.
"""

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

GRAPHS = ("model.onnx", "onnx/model.onnx")
TOKENIZER, POOLING, LIMITS, MODULES = (
    "tokenizer.json", "1_Pooling/config.json", "sentence_bert_config.json", "modules.json"
)  # fmt: skip
BESIDE = ("model.onnx_data", "onnx/model.onnx_data", POOLING, LIMITS, MODULES)  # files that may be missing
MAX_TOKENS = 128  # of a text, where no file says so
KNOWN_MODULES = {"Transformer", "Pooling", "Normalize"}
RECIPE = "1"  # raise it when the same files come to give other vectors

Pooling = Literal["mean", "cls"]
POOLINGS: dict[str, Pooling] = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}


class UnusableModel(ValueError):
    """The embedding model cannot be used; the message says why, and what to do."""


class ModelFolder(NamedTuple):
    """What the files of a folder say."""

    graph: Path
    tokenizer: Path
    max_tokens: int  # of a text: what is behind them is not looked at
    pooling: Pooling  # of the vectors of a text's tokens: their mean, or that of the first one
    digest: str  # SHA-256, in hex, of all that the vectors follow from


def read_folder(folder: Path) -> ModelFolder:
    """What there is. Raises UnusableModel."""
    try:
        found = files_of(folder)
        return ModelFolder(
            graph=found[0],
            tokenizer=folder / TOKENIZER,
            max_tokens=max_tokens(folder),
            pooling=pooling(folder),
            digest=digest(folder, found),
        )
    except OSError as error:
        raise UnusableModel(f"{error.filename or folder} cannot be read: {error.strerror}") from error


def files_of(folder: Path) -> list[Path]:
    """The files that vectors follow from, the graph first. Raises UnusableModel if one is missing."""
    if not folder.is_dir():
        raise UnusableModel(f"there is no folder {folder}")
    graph = next((folder / name for name in GRAPHS if (folder / name).is_file()), None)
    if graph is None:
        raise UnusableModel(f"{folder} has no file {' or '.join(GRAPHS)}")
    if not (folder / TOKENIZER).is_file():
        raise UnusableModel(f"{folder} has no file {TOKENIZER}")
    return [graph, folder / TOKENIZER, *(folder / name for name in BESIDE if (folder / name).is_file())]


def digest(folder: Path, files: list[Path]) -> str:
    """SHA-256 of names and contents; a file that has not changed is read once in the life of a process."""
    found = hashlib.sha256(f"embedding {RECIPE}\n".encode())
    for path in files:
        status = path.stat()
        contents = file_digest(str(path), status.st_mtime_ns, status.st_size)
        found.update(f"{path.relative_to(folder)} {contents}\n".encode())
    return found.hexdigest()


@lru_cache(maxsize=64)
def file_digest(path: str, modified: int, size: int) -> str:
    """SHA-256 of a file that has this time and size."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def max_tokens(folder: Path) -> int:
    """How many tokens of a text count: as sentence-transformers has it, or else as the tokenizer has it."""
    found = contents(folder / LIMITS).get("max_seq_length")
    if found is None:
        found = (contents(folder / TOKENIZER).get("truncation") or {}).get("max_length", MAX_TOKENS)
    if not isinstance(found, int) or found < 3:
        raise UnusableModel(f"{folder}: texts are cut at {found!r} tokens, which should be a number of at least 3")
    return found


def pooling(folder: Path) -> Pooling:
    """How the vectors of a text's tokens become one. Raises UnusableModel if that is not known here."""
    types = {str(module.get("type")).rpartition(".")[2] for module in listed(folder / MODULES)}
    if unknown := sorted(types - KNOWN_MODULES):
        raise UnusableModel(
            f"{folder / MODULES} names {', '.join(unknown)}; known are {', '.join(sorted(KNOWN_MODULES))}"
        )
    found = contents(folder / POOLING)
    chosen = [name for name, value in found.items() if name.startswith("pooling_mode_") and value is True]
    if isinstance(found.get("pooling_mode"), str):  # as newer versions write it
        chosen = [
            {"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token"}.get(
                found["pooling_mode"], found["pooling_mode"]
            )
        ]
    if not chosen:
        return "mean"
    if len(chosen) > 1 or chosen[0] not in POOLINGS:
        raise UnusableModel(f"{folder / POOLING} asks for {', '.join(chosen)}; one of {', '.join(POOLINGS)} is known")
    return POOLINGS[chosen[0]]


def contents(path: Path) -> dict[str, Any]:
    """The object in a JSON file, empty without the file. Raises UnusableModel."""
    found = json_of(path, {})
    if not isinstance(found, dict):
        raise UnusableModel(f"{path} holds no JSON object")
    return found


def listed(path: Path) -> list[dict[str, Any]]:
    """The objects of a list in a JSON file, none without the file. Raises UnusableModel."""
    found = json_of(path, [])
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise UnusableModel(f"{path} holds no list of JSON objects")
    return found


def json_of(path: Path, absent: Any) -> Any:
    """What a JSON file holds, or something else without it. Raises UnusableModel."""
    if not path.is_file():
        return absent
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UnusableModel(f"{path} is not JSON: {error}") from error
