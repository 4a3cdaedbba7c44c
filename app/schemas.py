"""What HTTP says: the bodies of requests and responses, with examples."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, computed_field, model_validator

from app.models import MAX_NAME, MAX_SWEEPS
from sampler.hyperparameters import LIMITS, CategoryStep, Hyperparameters
from sampler.state import DEFAULT_KERNEL, Kernel, check_kernel
from sampler.text import NO_STOP_WORDS, STOP_WORD_LANGUAGES, TextOptions

CORPUS_ID = "5f0c2c1e-6d0f-4c53-9f43-0d8c1c6ad3a7"
JOB_ID = "b9a1d7c2-1f6e-4a38-8f0b-6f2f4f1f7e15"
CURSOR = "WzE3NjQyODY0NDUuMTIsImI5YTFkN2MyIl0"

TEXT = TextOptions()
HYPERPARAMETERS = Hyperparameters()
SWEEPS, CHAINS = 500, 2
KERNELS = (
    "How chains draw from the posterior, which is the same. `blocked` is partially collapsed and fast: it moves whole "
    "documents. `collapsed` is Algorithm 1 of the paper, token by token; only it knows the category step `as_printed`."
)
MAX_INTEGER = 2**31 - 1  # of an INTEGER column

Status = Literal["queued", "running", "paused", "succeeded", "failed", "cancelled"]
UnitStatus = Literal["waiting", "ready", "running", "done"]
Stage = Literal["encode", "sample", "conclude", "done"]


def storable(text: str) -> str:
    """The text, if a database can hold it: PostgreSQL knows no NUL. Raises ValueError."""
    if "\0" in text:
        raise ValueError("the text holds a NUL character")
    return text


def stop_word_list(name: str) -> str:
    """The name, if there is such a list of stop words. Raises ValueError."""
    return TextOptions(stop_words=name).stop_words


Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(storable)]
StopWord = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(storable)]
StopWordList = Annotated[
    str,
    AfterValidator(stop_word_list),
    Field(json_schema_extra={"enum": [NO_STOP_WORDS, *STOP_WORD_LANGUAGES]}),
]


def example(**fields: Any) -> ConfigDict:
    """The configuration of a response body with an example."""
    return ConfigDict(from_attributes=True, json_schema_extra={"examples": [fields]})


def request_example(**fields: Any) -> ConfigDict:
    """The configuration of a request body with an example: what it does not name is refused."""
    return ConfigDict(extra="forbid", strict=True, json_schema_extra={"examples": [fields]})


def limited(name: str) -> Any:
    """A field for a hyperparameter, with the model's own default and limits."""
    low, high = LIMITS[name]
    return Field(default=getattr(HYPERPARAMETERS, name), ge=low, le=high, allow_inf_nan=None)


class Problem(BaseModel):
    """Why a request was refused (RFC 9457)."""

    class Fault(BaseModel):
        """A part of the request that is at fault."""

        where: str
        reason: str

    type: str
    title: str
    status: int
    detail: str
    instance: str
    errors: list[Fault] = []


class CorpusIn(BaseModel):
    """A corpus to be made."""

    model_config = request_example(name="arXiv abstracts")

    name: Name


CORPUS: dict[str, Any] = {
    "id": CORPUS_ID,
    "name": "arXiv abstracts",
    "version": 3,
    "created_at": "2026-11-27T23:30:45.120000Z",
}


class CorpusOut(BaseModel):
    """A corpus; its version grows with each batch of documents."""

    model_config = example(**CORPUS)

    id: str
    name: str
    version: int
    created_at: datetime


class CorpusPage(BaseModel):
    """Some corpora, newest first; `next` is the cursor of the page after, null on the last one."""

    model_config = example(corpora=[CORPUS], next=CURSOR)

    corpora: list[CorpusOut]
    next: str | None


class LabelCount(BaseModel):
    """A known category of a corpus."""

    name: str
    documents: int


class CorpusDetail(CorpusOut):
    """A corpus with its counts as they are now."""

    model_config = example(
        **CORPUS,
        documents=2000,
        labeled=480,
        unlabeled=1520,
        empty=0,
        categories=[{"name": "astronomy", "documents": 80}, {"name": "optics", "documents": 400}],
    )

    documents: int
    labeled: int
    unlabeled: int
    empty: int = Field(description="Documents without text, labeled or not.")
    categories: list[LabelCount]


class LineError(BaseModel):
    """A line that could not be used."""

    model_config = ConfigDict(from_attributes=True)

    line: int
    reason: str


class UploadOut(BaseModel):
    """What became of the lines of an upload."""

    model_config = example(
        accepted=1520,
        labeled=0,
        unlabeled=1520,
        empty=1,
        rejected=1,
        errors=[{"line": 17, "reason": "the key 'paper-16' is already in the corpus"}],
        ignored_fields=["year"],
    )

    accepted: int
    labeled: int
    unlabeled: int
    empty: int
    rejected: int
    errors: list[LineError] = Field(description="The first 1,000 of them, by line.")
    ignored_fields: list[str] = Field(description="Fields that no row has use for.")


class TextIn(BaseModel):
    """How texts become words."""

    model_config = ConfigDict(extra="forbid", strict=True)

    stop_words: StopWordList = TEXT.stop_words
    extra_stop_words: list[StopWord] = Field(default=list(TEXT.extra_stop_words), max_length=10_000)
    min_word_length: int = Field(default=TEXT.min_word_length, ge=1, le=100)
    min_document_frequency: int = Field(default=TEXT.min_document_frequency, ge=1, le=MAX_INTEGER)

    def options(self) -> TextOptions:
        """The options as the sampler takes them."""
        return TextOptions(**{**self.model_dump(), "extra_stop_words": tuple(self.extra_stop_words)})


class HyperparametersIn(BaseModel):
    """The model's constants; the Gamma priors are given by shape and scale."""

    model_config = ConfigDict(extra="forbid", strict=True)

    n_topics: int = limited("n_topics")
    gamma_shape: float = limited("gamma_shape")
    gamma_scale: float = limited("gamma_scale")
    alpha_shape: float = limited("alpha_shape")
    alpha_scale: float = limited("alpha_scale")
    zeta: float = limited("zeta")
    beta: float = limited("beta")
    category_step: CategoryStep = HYPERPARAMETERS.category_step
    n_start: int = limited("n_start")

    def chosen(self) -> dict[str, Any]:
        """The constants alone."""
        return {name: getattr(self, name) for name in HyperparametersIn.model_fields}


class HyperparametersOut(HyperparametersIn):
    """The model's constants, and the prior means that follow from them."""

    @computed_field(description="Prior mean of gamma, the concentration of categories in the corpus.")
    def gamma_mean(self) -> float:
        """Shape times scale."""
        return Hyperparameters(**self.chosen()).gamma_mean

    @computed_field(description="Prior mean of alpha, the concentration of tables in a document.")
    def alpha_mean(self) -> float:
        """Shape times scale."""
        return Hyperparameters(**self.chosen()).alpha_mean


class SettingsIn(BaseModel):
    """What a job does with its corpus."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: TextIn = TextIn()
    model: Literal["lbpl-ntm"] = "lbpl-ntm"
    kernel: Kernel = Field(default=DEFAULT_KERNEL, description=KERNELS)
    hyperparameters: HyperparametersIn = HyperparametersIn()
    sweeps: int = Field(default=SWEEPS, ge=1, le=MAX_SWEEPS)
    burn_in: int | None = Field(
        default=None, ge=0, lt=MAX_SWEEPS, description="Sweeps whose draws are dropped; default: half of the sweeps."
    )
    chains: int = Field(default=CHAINS, ge=1, le=64)
    seed: int = Field(default=0, ge=0, le=2**63 - 1)

    @model_validator(mode="after")
    def keep_a_draw(self) -> Self:
        """Choose the burn-in, and refuse one that leaves no draw."""
        if self.burn_in is None:
            self.burn_in = self.sweeps // 2
        if self.burn_in >= self.sweeps:
            raise ValueError(f"burn_in = {self.burn_in} is not below sweeps = {self.sweeps}")
        return self

    @model_validator(mode="after")
    def match_kernel(self) -> Self:
        """Refuse a kernel that cannot draw from the model."""
        check_kernel(self.kernel, Hyperparameters(**self.hyperparameters.chosen()))
        return self


class JobIn(SettingsIn):
    """A job to be queued; all but the corpus has a default."""

    model_config = request_example(
        corpus_id=CORPUS_ID,
        text={"stop_words": "en", "extra_stop_words": ["abstract"], "min_word_length": 3, "min_document_frequency": 5},
        model="lbpl-ntm",
        kernel="blocked",
        hyperparameters={"n_topics": 64, "category_step": "exact"},
        sweeps=400,
        burn_in=200,
        chains=2,
        seed=7,
    )

    corpus_id: str

    def settings(self) -> dict[str, Any]:
        """The settings in full, as a job keeps them."""
        return self.model_dump(exclude={"corpus_id"})


class ExtensionIn(BaseModel):
    """What a succeeded job is to do besides."""

    model_config = request_example(sweeps=200)

    sweeps: int = Field(ge=1, lt=MAX_SWEEPS, description="Sweeps to be added to each chain.")


class HealthOut(BaseModel):
    """The service answers, and so does its database."""

    model_config = example(status="ok", version="0.1.0", schema="0002", workers=2)

    status: str
    version: str
    schema_: str = Field(serialization_alias="schema", description="Revision of the database schema.")
    workers: int = Field(description="Workers that were seen of late.")
