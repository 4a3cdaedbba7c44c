"""The embedding model that an operator names: who has it, and that a process without it does not start."""

import importlib.util
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app import cli
from app.core import embedding_models
from app.core.embedding_models import embedding_digest, embedding_model
from app.core.settings import Settings
from embedding.folder import UnusableModel
from embedding.model import EmbeddingModel
from tests.embedding.tiny_model import FOLDER


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the tiny model."""
    return Path(shutil.copytree(FOLDER, tmp_path / "model"))


def settings_with(folder: Path | None) -> Settings:
    return Settings(embedding_model_folder=folder)


def test_a_process_has_the_model_that_its_folder_holds() -> None:
    model = EmbeddingModel.open(FOLDER)
    assert embedding_digest(settings_with(FOLDER)) == model.digest
    found = embedding_model(settings_with(FOLDER))
    assert found is not None and found is embedding_model(settings_with(FOLDER)), "it stays in memory"
    np.testing.assert_array_equal(found.embed(["cat"]), model.embed(["cat"]))


def test_without_a_folder_there_is_no_model() -> None:
    assert (embedding_digest(settings_with(None)), embedding_model(settings_with(None))) == (None, None)


def test_a_model_whose_files_change_is_another_one_and_one_whose_files_go_is_none(copy: Path) -> None:
    settings = settings_with(copy)
    before, first = embedding_digest(settings), embedding_model(settings)
    (copy / "sentence_bert_config.json").write_text('{"max_seq_length": 5}')
    after, second = embedding_digest(settings), embedding_model(settings)
    assert first is not None and second is not None
    assert len({before, after}) == 2 and (first.digest, second.digest) == (before, after)
    (copy / "model.onnx").unlink()
    assert embedding_digest(settings) is None
    with pytest.raises(UnusableModel):
        embedding_model(settings)


@pytest.fixture
def refusal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., str]:
    """What a command says that is given a folder and does not start."""

    def run(command: str, folder: Path) -> str:
        monkeypatch.setenv("NEWFOUND_EMBEDDING_MODEL_FOLDER", str(folder))
        monkeypatch.setenv("NEWFOUND_DATA_FOLDER", str(tmp_path / "data"))
        monkeypatch.setattr(cli, command, lambda *_: pytest.fail("it was started"))
        assert cli.main([command]) == cli.WRONG_SETTING
        return capsys.readouterr().err

    return run


@pytest.fixture(autouse=True)
def no_kernels_and_no_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "prepare_kernel_cache", lambda settings: None)
    monkeypatch.setattr(cli, "check_listening", lambda settings: None)


@pytest.mark.parametrize("command", ["serve", "api", "worker"])
def test_no_process_starts_with_a_missing_folder(refusal: Callable[..., str], tmp_path: Path, command: str) -> None:
    expected = f"newfound: NEWFOUND_EMBEDDING_MODEL_FOLDER: there is no folder {tmp_path / 'nowhere'}\n"
    assert refusal(command, tmp_path / "nowhere") == expected


@pytest.mark.parametrize("command", ["api", "worker"])
def test_neither_the_api_nor_a_worker_starts_with_a_damaged_model(
    refusal: Callable[..., str], copy: Path, command: str
) -> None:
    (copy / "model.onnx").write_bytes(b"no graph")
    assert f"NEWFOUND_EMBEDDING_MODEL_FOLDER: {copy} holds a damaged file" in refusal(command, copy)


def test_the_service_does_not_start_with_a_model_but_without_the_extra(
    refusal: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    find_spec = importlib.util.find_spec

    def find_others(name: str, *rest: Any) -> Any:
        return None if name == "onnxruntime" else find_spec(name, *rest)

    monkeypatch.setattr(embedding_models, "find_spec", find_others)
    assert "pip install 'newfound[embed]'" in refusal("serve", FOLDER)
