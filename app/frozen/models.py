"""Frozen models in memory: read from their parts when they are first asked, and kept while there is room."""

import threading
from collections import OrderedDict
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session

from app.core.errors import ModelDamaged, ModelNotFound, NoModel
from app.core.tables import MAX_NAME, FrozenModel, Job, ModelPart, is_visible_job
from app.core.vectors import LONGEST, SHORTEST
from sampler.frozen.model import FrozenModel as Arrays
from sampler.frozen.model import ModelError, load
from sampler.text import Reader, TextFacts, TextOptions

TEXT_CHOICES = ("language", "stemming")


class CategoryName(NamedTuple):
    """A category of a model."""

    name: str
    known: bool
    id: str | None


class Categorizer(NamedTuple):
    """A model that is ready to answer."""

    arrays: Arrays
    reader: Reader
    categories: list[CategoryName]
    job: str  # that it is of
    vector_length: int | None  # of the vectors that it learned from; None: it knows none
    embedding_model: str | None  # the digest of what made them; None: documents bring theirs

    @property
    def n_known(self) -> int:
        """How many categories are known; they come first."""
        return sum(category.known for category in self.categories)


def is_visible_model() -> ColumnElement[bool]:
    """The condition, in SQL, that a model is whole, and imported or that of a job's present results."""
    is_present = select(Job.id).where(Job.id == FrozenModel.job_id, Job.edition == FrozenModel.edition)
    is_used = or_(FrozenModel.job_id.is_(None), is_present.where(is_visible_job()).exists())
    return and_(FrozenModel.digest.is_not(None), is_used)


def find_model(session: Session, model_id: str) -> FrozenModel:
    """The model with this id. Raises ModelNotFound."""
    found = session.scalar(select(FrozenModel).where(FrozenModel.id == model_id, is_visible_model()))
    if found is None:
        raise ModelNotFound(f"there is no model {model_id}")
    return found


def model_of_job(session: Session, job: Job) -> FrozenModel:
    """The model of the job's present results. Raises NoModel."""
    found = session.scalars(
        select(FrozenModel).where(
            FrozenModel.job_id == job.id, FrozenModel.edition == job.edition, FrozenModel.digest.is_not(None)
        )
    ).one_or_none()
    if found is None:
        raise NoModel(
            f"job {job.id} has no model: none of its documents has a category, or it was concluded by an earlier "
            "version of the service; extend it by some sweeps, and it has one"
        )
    return found


def file_of(session: Session, model_id: str) -> bytes:
    """The file of a model, as it was frozen."""
    query = select(ModelPart.data).where(ModelPart.model_id == model_id).order_by(ModelPart.number)
    return b"".join(session.scalars(query))


def opened(data: bytes) -> Categorizer:
    """The model that a file holds, ready to answer. Raises ModelError."""
    file = load(data)
    try:
        job = checked_text(file.facts["job"])
        options = TextOptions(**file.facts["text"])
        facts = TextFacts(*read_facts(file.facts["texts"]))
        categories = [CategoryName(*read_category(each)) for each in file.facts["categories"]]
        reader = Reader(file.vocabulary, options, facts)
        reader.read("Any text at all, to see that its options go together.")
        vector_length = read_length(file.facts.get("vector_length"))
        made_by = file.facts.get("embedding_model")
        embedding_model = None if made_by is None else checked_text(made_by)
    except (KeyError, TypeError, ValueError, AttributeError, ImportError, RecursionError) as error:
        raise ModelError(f"what it says of its texts or categories cannot be used: {error}") from error
    if [category.known for category in categories] != sorted((c.known for c in categories), reverse=True):
        raise ModelError("its known categories do not come first")
    return Categorizer(file.model, reader, categories, job, vector_length, embedding_model)


def read_facts(told: dict[str, Any] | None) -> tuple[str | None, tuple[str, ...], str | None]:
    """What was chosen for the texts, as JSON has it. Raises TypeError, ValueError."""
    told = told or {}
    language, stemming = (None if told.get(name) is None else checked_text(told[name]) for name in TEXT_CHOICES)
    return language, tuple(map(checked_text, told.get("stop_words") or ())), stemming


def read_length(told: Any) -> int | None:
    """The length of vectors, as JSON has it. Raises TypeError, ValueError."""
    if told is not None and (isinstance(told, bool) or not isinstance(told, int)):
        raise TypeError("the length of vectors is not a whole number")
    if told is not None and not SHORTEST <= told <= LONGEST:
        raise ValueError(f"vectors of {told} numbers are not between {SHORTEST} and {LONGEST}")
    return told


def read_category(told: dict[str, Any]) -> tuple[str, bool, str | None]:
    """A category, as JSON has it. Raises TypeError."""
    known, short_id = told["known"], told.get("id")
    if not isinstance(known, bool):
        raise TypeError("whether a category is known is neither true nor false")
    return checked_text(told["name"]), known, None if short_id is None else checked_text(short_id)


def checked_text(value: Any) -> str:
    """A short text that a database and an answer can hold. Raises TypeError, ValueError."""
    if not isinstance(value, str):
        raise TypeError("a name is not a text")
    if len(value) > MAX_NAME or "\0" in value:
        raise ValueError(f"a name is longer than {MAX_NAME} characters, or has a NUL")
    value.encode()  # a lone surrogate is a ValueError
    return value


class OpenModels:
    """The models that were asked last, as many as fit into so many bytes, and always the very last."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.lock = threading.Lock()
        self.models: OrderedDict[str, tuple[int, Categorizer]] = OrderedDict()

    def get(self, session: Session, model: FrozenModel) -> Categorizer:
        """The model, ready to answer. Raises ModelDamaged."""
        digest = str(model.digest)
        with self.lock:
            if digest in self.models:
                self.models.move_to_end(digest)
                return self.models[digest][1]
        try:
            made = opened(file_of(session, model.id))
        except ModelError as error:
            raise ModelDamaged(f"model {model.id} cannot be used: {error}") from error
        with self.lock:
            self.models[digest] = (int(model.n_bytes), made)
            self.models.move_to_end(digest)
            while len(self.models) > 1 and sum(size for size, _ in self.models.values()) > self.max_bytes:
                self.models.popitem(last=False)
        return made
