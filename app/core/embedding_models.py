"""The embedding model that the operator has named, if any: with it this process can make vectors of texts."""

import logging
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from app.core.settings import Settings
from embedding.folder import UnusableModel, read_folder
from embedding.model import EmbeddingModel

logger = logging.getLogger(__name__)

PACKAGES = ("onnxruntime", "tokenizers")  # of the extra
SHOWN = 12  # characters of a digest, enough to tell models apart


def embedding_digest(settings: Settings) -> str | None:
    """The digest of the embedding model that this process has; None if it has none, or cannot read it any more.

    Cheap: files that have not changed are not read again. What the folder holds was tried when the process started.
    """
    if settings.embedding_model_folder is None:
        return None
    try:
        return read_folder(settings.embedding_model_folder).digest
    except UnusableModel as error:
        logger.warning("no vectors can be made: %s", error)
        return None


def embedding_model(settings: Settings) -> EmbeddingModel | None:
    """The embedding model itself, if there is one; the last one stays in memory. Raises UnusableModel."""
    if settings.embedding_model_folder is None:
        return None
    folder = settings.embedding_model_folder
    return opened(folder, read_folder(folder).digest)


def embedder_of(digest: str | None, settings: Settings) -> EmbeddingModel | None:
    """The embedding model with this digest, if it is the one that this process has."""
    return embedding_model(settings) if digest is not None and digest == embedding_digest(settings) else None


@lru_cache(maxsize=1)
def opened(folder: Path, digest: str) -> EmbeddingModel:
    """The model in a folder, whose files have this digest."""
    return EmbeddingModel.open(folder)


def check_folder(settings: Settings) -> None:
    """Raise UnusableModel if the folder is not there or the extra is not installed; its files are not tried."""
    if settings.embedding_model_folder is not None:
        read_folder(settings.embedding_model_folder)
        if not all(find_spec(package) for package in PACKAGES):
            raise UnusableModel("it needs the extra `embed`: pip install 'newfound[embed]'")


def try_model(settings: Settings) -> None:
    """Raise UnusableModel if a model is named that cannot make a vector. It does not stay in memory."""
    if settings.embedding_model_folder is not None:
        EmbeddingModel.open(settings.embedding_model_folder)


def waits_for(digest: str) -> str:
    """Why a unit that makes vectors is not progressing."""
    return (
        f"it needs a worker with the embedding model {digest[:SHOWN]}: "
        "set NEWFOUND_EMBEDDING_MODEL_FOLDER for a worker to the folder of that model"
    )
