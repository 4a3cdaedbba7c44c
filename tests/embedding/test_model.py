"""An embedding model: its vectors against a forward pass by hand, and that nothing beside a text changes its vector."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.special import erf

from embedding.folder import UnusableModel
from embedding.model import EmbeddingModel, batches
from sampler.corpus import Array
from tests.embedding import tiny_model
from tests.embedding.tiny_model import FOLDER, INT8_FOLDER, LAYER, LENGTH, MAX_TOKENS, SHAPE, WORDS

TEXTS = ["cat", "a cat", "dog", "the cat and the dog", "cat", "x", "an end that is far behind the last token"]


def vector_by_hand(text: str) -> Array:
    """float64[p] of a text of single letters: BERT's equations, one head after the other."""
    given = {name: numbers.astype(np.float64) for name, numbers in tiny_model.weights().items()}

    def normed(x: Array, name: str) -> Array:
        centered = x - x.mean(axis=1, keepdims=True)
        scaled = centered / np.sqrt((centered**2).mean(axis=1, keepdims=True) + SHAPE.epsilon)
        return scaled * given[f"{name}.LayerNorm.weight"] + given[f"{name}.LayerNorm.bias"]

    def linear(x: Array, name: str) -> Array:
        return x @ given[f"{LAYER}.{name}.weight"].T + given[f"{LAYER}.{name}.bias"]

    tokens = [WORDS.index("[CLS]"), *(WORDS.index(letter) for letter in text.split()), WORDS.index("[SEP]")]
    x = given["embeddings.word_embeddings.weight"][tokens]
    x = x + given["embeddings.position_embeddings.weight"][: len(tokens)]
    x = normed(x + given["embeddings.token_type_embeddings.weight"][0], "embeddings")
    attended, width = np.empty_like(x), LENGTH // SHAPE.n_heads
    query, key, value = (linear(x, f"attention.self.{name}") for name in ("query", "key", "value"))
    for first in range(0, LENGTH, width):
        head = slice(first, first + width)
        scores = np.exp(query[:, head] @ key[:, head].T / np.sqrt(width))
        attended[:, head] = scores / scores.sum(axis=1, keepdims=True) @ value[:, head]
    x = normed(x + linear(attended, "attention.output.dense"), f"{LAYER}.attention.output")
    wide = linear(x, "intermediate.dense")
    x = normed(x + linear(wide * (1 + erf(wide / np.sqrt(2))) / 2, "output.dense"), f"{LAYER}.output")
    mean: Array = x.mean(axis=0)
    return mean / np.linalg.norm(mean)


@pytest.fixture(scope="module")
def model() -> EmbeddingModel:
    return EmbeddingModel.open(FOLDER)


@pytest.mark.parametrize("text", ["a", "c a t", "z y x w v u t s r q"])
def test_a_vector_is_that_of_a_forward_pass_by_hand(model: EmbeddingModel, text: str) -> None:
    [found] = model.embed([text])
    np.testing.assert_allclose(found.astype(np.float64), vector_by_hand(text), atol=4e-4)  # float16: 2^-11 of 1 at most


def test_the_first_token_is_the_vector_where_the_folder_asks_for_it(
    model: EmbeddingModel, copy: Callable[..., Path]
) -> None:
    first = EmbeddingModel.open(copy(**{"1_Pooling/config.json": '{"pooling_mode_cls_token": true}'}))
    [found], [mean] = first.embed(["c a t"]), model.embed(["c a t"])
    ids = np.array([model.tokens("c a t")])
    [hidden] = model.session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
    np.testing.assert_allclose(found, hidden[0, 0] / np.linalg.norm(hidden[0, 0]), atol=5e-4)
    assert not np.array_equal(found, mean)


@pytest.mark.parametrize("folder", [FOLDER, INT8_FOLDER], ids=["float32", "int8"])
def test_a_vector_depends_on_nothing_but_its_text(folder: Path) -> None:
    model = EmbeddingModel.open(folder)
    together, alone = model.embed(TEXTS), np.concatenate([model.embed([text]) for text in TEXTS])
    np.testing.assert_allclose(together.astype(float), alone.astype(float), atol=5e-4)  # one step of float16 at 1
    backwards = model.embed(TEXTS[::-1])[::-1]
    np.testing.assert_array_equal(together, backwards)
    np.testing.assert_array_equal(together[0], together[4])


def test_rounded_weights_give_nearly_the_same_vectors_and_their_texts_go_alone() -> None:
    model = EmbeddingModel.open(INT8_FOLDER)
    assert model.alone
    exact = EmbeddingModel.open(FOLDER).embed(TEXTS).astype(float)
    assert (model.embed(TEXTS).astype(float) * exact).sum(axis=1).min() > 0.95


def test_a_mask_hides_what_fills_a_text_up(model: EmbeddingModel) -> None:
    ids = np.array([model.tokens("c a t")])
    [hidden] = model.session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
    filled, mask = np.pad(ids, [(0, 0), (0, 3)]), np.pad(np.ones_like(ids), [(0, 0), (0, 3)])
    [masked] = model.session.run(None, {"input_ids": filled, "attention_mask": mask})
    np.testing.assert_allclose(masked[:, : ids.shape[1]], hidden, atol=1e-6)


def test_vectors_are_one_long_and_those_of_texts_without_a_token_are_zeros(model: EmbeddingModel) -> None:
    found = model.embed(["cat", "", " \n", "\x00", "dog"])
    assert (found.dtype, found.shape) == (np.dtype(np.float16), (5, LENGTH))
    np.testing.assert_allclose((found.astype(float) ** 2).sum(axis=1), [1, 0, 0, 0, 1], atol=2e-3)
    assert model.embed([]).shape == (0, LENGTH)


def test_what_is_behind_the_last_token_does_not_count(model: EmbeddingModel) -> None:
    begins = " ".join("abcdefghij")
    assert len(model.tokens(begins)) == MAX_TOKENS
    [short], [long] = model.embed([begins]), model.embed([f"{begins} " + "k l m " * 100_000])
    np.testing.assert_array_equal(short, long)


def test_embedding_can_be_broken_off_between_two_batches(model: EmbeddingModel) -> None:
    calls = []

    def check() -> None:
        calls.append(None)
        if len(calls) == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        model.embed(["a", "a b", "a b c"], check)
    assert len(calls) == 2


def test_a_batch_holds_texts_of_one_length_and_each_is_in_one() -> None:
    lengths = [3, 0, 5, 3, 3, 900, 5]
    found = list(batches(lengths, 6))
    assert found == [[0, 3], [4], [2], [6], [5]]
    assert list(batches(lengths, 1)) == [[0], [3], [4], [2], [6], [5]]


@pytest.fixture
def copy(tmp_path: Path) -> Callable[..., Path]:
    """Makes a folder with the tiny model, and some files with other contents, or without them."""

    def make(**others: str | bytes | None) -> Path:
        for path in FOLDER.iterdir():
            (tmp_path / path.name).write_bytes(path.read_bytes())
        for name, contents in others.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            if contents is None:
                (tmp_path / name).unlink()
            else:
                (tmp_path / name).write_bytes(contents.encode() if isinstance(contents, str) else contents)
        return tmp_path

    return make


GRAPH = (FOLDER / "model.onnx").read_bytes()


@pytest.mark.parametrize(
    ("others", "reason"),
    [
        ({"model.onnx": None}, r"has no file model\.onnx or onnx/model\.onnx"),
        ({"tokenizer.json": None}, r"has no file tokenizer\.json"),
        ({"model.onnx": GRAPH[:5_000]}, "holds a damaged file"),
        ({"model.onnx": b""}, "holds a damaged file"),
        ({"tokenizer.json": "{}"}, "holds a damaged file"),
        ({"tokenizer.json": "{", "sentence_bert_config.json": None}, "is not JSON"),
        ({"model.onnx": GRAPH.replace(b"attention_mask", b"attention_musk")}, "takes attention_musk, input_ids;"),
        ({"model.onnx": GRAPH.replace(b"last_hidden_state", b"last_hidden_stuff")}, "gives last_hidden_stuff;"),
        ({"sentence_bert_config.json": '{"max_seq_length": 13}'}, "does not take texts of 13 tokens"),
        ({"sentence_bert_config.json": '{"max_seq_length": "many"}'}, "cut at 'many' tokens"),
        ({"sentence_bert_config.json": "[1]"}, "holds no JSON object"),
        ({"1_Pooling/config.json": '{"pooling_mode_max_tokens": true}'}, "asks for pooling_mode_max_tokens"),
        ({"1_Pooling/config.json": '{"pooling_mode": "max"}'}, "asks for max"),
        (
            {"1_Pooling/config.json": '{"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true}'},
            "asks for pooling_mode_mean_tokens, pooling_mode_cls_token",
        ),
        ({"modules.json": '[{"type": "sentence_transformers.models.Dense"}]'}, "names Dense"),
        ({"modules.json": "[1]"}, "holds no list of JSON objects"),
    ],
)  # fmt: skip
def test_a_folder_that_cannot_be_used_is_refused_with_the_reason(
    copy: Callable[..., Path], others: dict[str, str | bytes | None], reason: str
) -> None:
    with pytest.raises(UnusableModel, match=reason):
        EmbeddingModel.open(copy(**others))


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnusableModel, match=r"there is no folder .*nowhere"):
        EmbeddingModel.open(tmp_path / "nowhere")


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_without_the_extra_a_model_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UnusableModel, match=r"pip install 'newfound\[embed\]'"):
        EmbeddingModel.open(FOLDER)


def test_the_layout_of_a_repository_works_as_well(copy: Callable[..., Path], model: EmbeddingModel) -> None:
    folder = copy(**{
        "model.onnx": None,
        "onnx/model.onnx": GRAPH,
        "modules.json": '[{"type": "a.models.Transformer"}, {"type": "a.models.Pooling"}, {"type": "a.Normalize"}]',
        "1_Pooling/config.json": '{"pooling_mode": "mean"}',
    })  # fmt: skip
    np.testing.assert_array_equal(EmbeddingModel.open(folder).embed(TEXTS), model.embed(TEXTS))


def test_the_digest_is_that_of_all_that_vectors_follow_from(copy: Callable[..., Path], model: EmbeddingModel) -> None:
    folder = copy()
    assert EmbeddingModel.open(folder).digest == model.digest
    assert len({EmbeddingModel.open(folder).digest for folder in (FOLDER, INT8_FOLDER)}) == 2
    (folder / "README.md").write_text("nothing follows from this")
    assert EmbeddingModel.open(folder).digest == model.digest
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 8}')
    assert EmbeddingModel.open(folder).digest != model.digest
