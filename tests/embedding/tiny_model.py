"""A tiny embedding model, whose words are letters: its weights follow from a formula, its files lie beside this one.

    python -m tests.embedding.tiny_model

writes the files again, and those of the same model with weights of a byte each. That takes the package `onnx`, which
the tests do not need.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.embedding_model import Shape, graph, quantize
from sampler.corpus import Array

FOLDER = Path(__file__).parent / "tiny"
INT8_FOLDER = Path(__file__).parent / "tiny_int8"
SHAPE = Shape(n_layers=1, n_heads=2, epsilon=1e-12)
LENGTH, WIDTH, MAX_TOKENS = 16, 32, 12
LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *LETTERS, *(f"##{letter}" for letter in LETTERS)]
LAYER = "encoder.layer.0"


def weights() -> dict[str, Array]:
    """Weights by the names that BERT's have, without a pattern that a mistake could hide in."""
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), LENGTH),
        "embeddings.position_embeddings.weight": (MAX_TOKENS, LENGTH),
        "embeddings.token_type_embeddings.weight": (2, LENGTH),
    }
    linear = dict.fromkeys(("self.query", "self.key", "self.value", "output.dense"), (LENGTH, LENGTH))
    maps = {f"attention.{name}": shape for name, shape in linear.items()}
    for name, (n_out, n_in) in {**maps, "intermediate.dense": (WIDTH, LENGTH), "output.dense": (LENGTH, WIDTH)}.items():
        shapes[f"{LAYER}.{name}.weight"], shapes[f"{LAYER}.{name}.bias"] = (n_out, n_in), (n_out,)
    for name in ("embeddings", f"{LAYER}.attention.output", f"{LAYER}.output"):
        shapes[f"{name}.LayerNorm.weight"] = shapes[f"{name}.LayerNorm.bias"] = (LENGTH,)
    return {name: numbers(i, shape) for i, (name, shape) in enumerate(shapes.items())}


def numbers(seed: int, shape: tuple[int, ...]) -> Array:
    """float32 between -1 and 1, from the fractional parts of multiples of an irrational number, squared."""
    places = np.arange(1, int(np.prod(shape)) + 1, dtype=np.float64) + 1_000 * seed
    return (2.0 * (places * places * np.sqrt(2.0) % 1.0) - 1.0).astype(np.float32).reshape(shape)


def tokenizer() -> dict[str, Any]:
    """A tokenizer as the library `tokenizers` keeps it: letters, between [CLS] and [SEP]."""
    special = {name: {"id": name, "ids": [WORDS.index(name)], "tokens": [name]} for name in ("[CLS]", "[SEP]")}
    first, last = ({"SpecialToken": {"id": name, "type_id": 0}} for name in special)
    single = [first, {"Sequence": {"id": "A", "type_id": 0}}, last]
    letters = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "BertNormalizer", **letters},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": single,
            "pair": [*single, {"Sequence": {"id": "B", "type_id": 0}}, last],
            "special_tokens": special,
        },
        "decoder": None,
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {word: i for i, word in enumerate(WORDS)},
        },
    }


def write() -> None:
    """Write the folders."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "model.onnx").write_bytes(graph(weights(), SHAPE))
    (FOLDER / "tokenizer.json").write_text(json.dumps(tokenizer()), encoding="utf-8")
    (FOLDER / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": MAX_TOKENS}), encoding="utf-8")
    shutil.copytree(FOLDER, INT8_FOLDER, dirs_exist_ok=True)
    quantize(INT8_FOLDER / "model.onnx")


if __name__ == "__main__":
    write()
