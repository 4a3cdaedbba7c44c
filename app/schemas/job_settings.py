"""What a job is asked to do: its settings, their defaults and limits."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, computed_field, field_validator, model_validator

from app.core.kinds import DEFAULT_MODEL, MODELS, Model, n_chains
from app.core.tables import MAX_SWEEPS
from app.schemas.common import CORPUS_ID, RequestBody, integer, request_example
from app.schemas.job_facts import JobFacts
from app.schemas.method_settings import ClutoIn, CoscIn, DldaIn, DpgmIn, SlIn, SskmIn
from app.schemas.text import TextIn
from app.schemas.webhooks import WebhookIn
from sampler.hyperparameters import (
    CALIBRATED_LIMITS,
    DEFAULT_ANSWER,
    DEFAULT_KERNEL,
    LIMITS,
    Answer,
    CalibratedHyperparameters,
    CategoryStep,
    Hyperparameters,
    Kernel,
    Start,
    check_kernel,
)

HYPERPARAMETERS = Hyperparameters()
CALIBRATED = CalibratedHyperparameters()
PAPER, OURS = MODELS[Model.LBPL_NTM], MODELS[Model.CALIBRATED]
ONLY = {name: Model(model) for model, facts in MODELS.items() for name in facts.own_settings}
MAX_GRID = 16  # smoothings or powers
MAX_NUMBERS = 64  # of categories that one job tries
MAX_CATEGORIES = 10_000  # that a model is told
MAX_CHAINS = 256  # of all numbers together

ABOUT_MODELS = (
    "`calibrated` learns from the labels which documents belong to a known category and how fine categories are, and "
    "says how far its answers can be trusted. `lbpl-ntm` is the paper's topic model. The others are our "
    "implementations of the methods that the paper compares it with, which are told the number of categories, but for "
    f"`dpgm`. Default: the one that a setting of one model alone goes with, if one is given; else {DEFAULT_MODEL}."
)
ABOUT_NUMBERS = (
    "For the models that are told the number of categories: how many there are, the known ones included; or several "
    "numbers, each of which is tried, and of which the answer has the one that `numbers` of the categories says."
)
ABOUT_ANSWERS = (
    "For lbpl-ntm: which draws the answers are from. `best_chain`: the kept draws of the chain with the highest mean "
    "log joint. `last`: the last sweep of that chain alone, as the paper evaluates it; such answers have no "
    f"probabilities. `pooled`: the kept draws of all chains, as a calibrated job pools them. Default: {DEFAULT_ANSWER}."
)
ABOUT_KERNELS = (
    "For lbpl-ntm: how chains draw from the posterior, which is the same for both. `blocked` is partially collapsed "
    "and fast: it moves whole documents. `collapsed` is Algorithm 1 of the paper, token by token; only it supports the "
    "category step "
    f"`as_printed`. Default: {DEFAULT_KERNEL}."
)
ABOUT_VECTORS = (
    "For the calibrated model: whether it uses vectors of documents beside their words. `auto`, the default: those "
    "that the documents brought; if there are none, those that the service makes, if it has a model. `none`: words."
)
ABOUT_SOURCES = (
    "For the calibrated model: the field of the documents that says where each comes from, such as `source`. Words "
    "that a source uses whatever its documents are about, such as footers of mails or a forum's mark-up, then count "
    "less."
)


ModelName = Annotated[Model, Field(strict=False)]  # a string in JSON
SourceField = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]+$")]
NumberOfCategories = Annotated[int, Field(ge=1, le=MAX_CATEGORIES)]
Numbers = Annotated[list[NumberOfCategories], Field(min_length=1, max_length=MAX_NUMBERS)]
BASELINES: dict[str, type[RequestBody]] = {
    "dlda": DldaIn,
    "sl": SlIn,
    "cosc": CoscIn,
    "sskm": SskmIn,
    "cluto": ClutoIn,
    "dpgm": DpgmIn,
}
Smoothing = Annotated[float, Field(ge=1e-3, le=1e3, allow_inf_nan=None)]
Power = Annotated[float, Field(ge=-10.0, le=10.0, allow_inf_nan=None)]


def limited(name: str) -> Any:
    """A field for a hyperparameter of LBPL-NTM, with the model's own default and limits."""
    low, high = LIMITS[name]
    return Field(default=getattr(HYPERPARAMETERS, name), ge=low, le=high, allow_inf_nan=None)


def fixed(name: str) -> Any:
    """A field for a concentration of LBPL-NTM, which is sampled unless it is given."""
    low, high = LIMITS[name]
    about = f"Fixed at this value; null: sampled under its prior, from `{name}_shape` and `{name}_scale`."
    return Field(default=getattr(HYPERPARAMETERS, name), ge=low, le=high, allow_inf_nan=False, description=about)


def calibrated(name: str) -> Any:
    """A field for a constant of the calibrated model, with the model's own default and limits."""
    low, high = CALIBRATED_LIMITS[name]
    return Field(default=getattr(CALIBRATED, name), ge=low, le=high, allow_inf_nan=None)


class HyperparametersIn(RequestBody):
    """The constants of LBPL-NTM; the Gamma priors are given by shape and scale."""

    n_topics: int = limited("n_topics")
    gamma_shape: float = limited("gamma_shape")
    gamma_scale: float = limited("gamma_scale")
    alpha_shape: float = limited("alpha_shape")
    alpha_scale: float = limited("alpha_scale")
    zeta: float = limited("zeta")
    beta: float = limited("beta")
    category_step: CategoryStep = HYPERPARAMETERS.category_step
    n_start: int = limited("n_start")
    birth_share: float = limited("birth_share")
    alpha: float | None = fixed("alpha")
    gamma: float | None = fixed("gamma")
    start: Start = Field(
        default=HYPERPARAMETERS.start,
        description="Where a chain starts: with whole documents placed in categories by their topics, or, as in the "
        "paper, with each document in one at random, a known one or one of `n_start` new ones, and topics at random.",
    )

    def chosen(self) -> dict[str, Any]:
        """The constants alone."""
        return {name: getattr(self, name) for name in HyperparametersIn.model_fields}


class HyperparametersOut(HyperparametersIn):
    """The constants of LBPL-NTM, and the prior means that follow from them."""

    @computed_field(description="Prior mean of gamma, the concentration of categories in the corpus.")
    def gamma_mean(self) -> float:
        """Shape times scale."""
        return Hyperparameters(**self.chosen()).gamma_mean

    @computed_field(description="Prior mean of alpha, the concentration of tables in a document.")
    def alpha_mean(self) -> float:
        """Shape times scale."""
        return Hyperparameters(**self.chosen()).alpha_mean


class CalibratedIn(RequestBody):
    """The constants of the calibrated model."""

    effective_length: float = calibrated("effective_length")
    n_atoms: int = calibrated("n_atoms")
    n_atom_sweeps: int = calibrated("n_atom_sweeps")
    n_starts: int = calibrated("n_starts")
    smoothings: list[Smoothing] = Field(default=list(CALIBRATED.smoothings), min_length=1, max_length=MAX_GRID)
    powers: list[Power] = Field(default=list(CALIBRATED.powers), min_length=1, max_length=MAX_GRID)
    n_folds: int = calibrated("n_folds")
    known_penalty: float = calibrated("known_penalty")
    category_penalty: float = calibrated("category_penalty")
    balance: float = calibrated("balance")
    n_refinements: int = calibrated("n_refinements")
    power_center: float = calibrated("power_center")
    power_weight: float = calibrated("power_weight")
    stability_weight: float = calibrated("stability_weight")
    score_window: float = calibrated("score_window")
    score_scale: float = calibrated("score_scale")
    n_settings: int = calibrated("n_settings")
    n_topics: int = calibrated("n_topics")
    sample_size: int = calibrated("sample_size")

    @model_validator(mode="after")
    def check(self) -> Self:
        """Refuse what the model refuses."""
        CalibratedHyperparameters(
            **{**self.model_dump(), "smoothings": tuple(self.smoothings), "powers": tuple(self.powers)}
        )
        return self


class SettingsIn(RequestBody):
    """What a job does with its corpus. Settings of other models stay null, in the answer too."""

    default_kernel: ClassVar[Kernel] = DEFAULT_KERNEL
    other_number: ClassVar[str | None] = None  # what may stand for a number of categories

    text: TextIn = TextIn()
    model: ModelName | None = Field(default=None, description=ABOUT_MODELS)
    kernel: Kernel | None = Field(default=None, description=ABOUT_KERNELS)
    hyperparameters: HyperparametersIn | None = Field(default=None, description="For lbpl-ntm only.")
    answer: Answer | None = Field(default=None, description=ABOUT_ANSWERS)
    calibrated: CalibratedIn | None = Field(default=None, description="For the calibrated model only.")
    vectors: Literal["auto", "none"] | None = Field(default=None, description=ABOUT_VECTORS)
    source_field: SourceField | None = Field(default=None, description=ABOUT_SOURCES)
    dlda: DldaIn | None = Field(default=None, description="For dlda only.")
    sl: SlIn | None = Field(default=None, description="For sl only.")
    cosc: CoscIn | None = Field(default=None, description="For cosc only.")
    sskm: SskmIn | None = Field(default=None, description="For sskm only.")
    cluto: ClutoIn | None = Field(default=None, description="For cluto only.")
    dpgm: DpgmIn | None = Field(default=None, description="For dpgm only.")
    n_categories: NumberOfCategories | Numbers | None = Field(default=None, description=ABOUT_NUMBERS)
    sweeps: int | None = Field(
        default=None,
        ge=1,
        le=MAX_SWEEPS,
        description=f"Of each chain; default: {PAPER.sweeps}, for the calibrated model {OURS.sweeps}, for the others "
        "as many as they usually need: one that has settled takes no time for the rest.",
    )
    burn_in: int | None = Field(
        default=None,
        ge=0,
        lt=MAX_SWEEPS,
        description="Sweeps whose draws are dropped; default: half of the sweeps, for the calibrated model a fifth, "
        "for models that do not sample all but the last.",
    )
    chains: int | None = Field(
        default=None,
        ge=1,
        le=64,
        description=f"Default: {PAPER.chains}, for the calibrated model {OURS.chains}, 10 for cluto, 5 for dpgm. With "
        "several numbers of categories, for each.",
    )
    seed: int = Field(default=0, ge=0, lt=2**63)  # 2^63 is exact as a float, 2^63 - 1 is not: see `main`

    @field_validator("n_categories", mode="before")
    @classmethod
    def read_numbers(cls, value: Any) -> Any:
        """A number of categories, or several in order and each once; all else is refused in one sentence."""
        if value is None or value == cls.other_number:
            return value
        numbers = [integer(each) for each in value] if isinstance(value, list) else [value]
        are_numbers = all(type(each) is int and 1 <= each <= MAX_CATEGORIES for each in numbers)
        if not are_numbers or not 1 <= len(numbers) <= MAX_NUMBERS:
            raise ValueError(f"give a number from 1 to {MAX_CATEGORIES}, or a list of up to {MAX_NUMBERS} such numbers")
        return sorted(set(numbers)) if isinstance(value, list) else value

    @model_validator(mode="after")
    def match_model(self) -> Self:
        """Refuse what goes with another model, and a kernel that cannot draw from this one; fill in the rest."""
        given = {name: model for name, model in ONLY.items() if getattr(self, name) is not None}
        if self.model is None:
            self.model = next(iter(given.values()), DEFAULT_MODEL)
        for name, model in given.items():
            if model != self.model:
                raise ValueError(f"{name} belongs to model = {model.value!r} only, not to {self.model.value!r}")
        facts = MODELS[self.model]
        if facts.finds_number and self.n_categories is not None:
            raise ValueError(f"model = {self.model.value!r} finds the number of categories: leave n_categories out")
        if not facts.finds_number and self.n_categories is None:
            raise ValueError(f"model = {self.model.value!r} is told the number of categories: give n_categories")
        if self.model == Model.CALIBRATED:
            self.calibrated = self.calibrated or CalibratedIn()
        elif facts.is_baseline:
            [own] = facts.own_settings
            setattr(self, own, getattr(self, own) or BASELINES[own]())
        else:
            self.kernel = self.kernel or self.default_kernel
            self.hyperparameters = self.hyperparameters or HyperparametersIn()
            self.answer = self.answer or DEFAULT_ANSWER
            check_kernel(self.kernel, Hyperparameters(**self.hyperparameters.chosen()))
        return self

    @model_validator(mode="after")
    def keep_a_draw(self) -> Self:
        """Choose chains, sweeps and burn-in, and refuse one that leaves no draw."""
        facts = MODELS[self.model or DEFAULT_MODEL]
        if self.chains is None:
            self.chains = facts.chains
        if self.sweeps is None:
            self.sweeps = facts.sweeps
        if self.burn_in is None:
            self.burn_in = min(int(self.sweeps * facts.burn_in), self.sweeps - 1)
        if self.burn_in >= self.sweeps:
            raise ValueError(f"burn_in = {self.burn_in} is not below sweeps = {self.sweeps}")
        if (together := n_chains(self.model_dump())) > MAX_CHAINS:
            raise ValueError(f"{together} chains for all numbers of categories are more than {MAX_CHAINS}")
        return self


class SplitOut(RequestBody):
    """Which labels of its corpus a job of a comparison of methods sees."""

    seed: int
    known: list[str] = Field(description="The categories of which it sees labels.")
    labeled_share: float = Field(description="Share of the documents of each that it sees the label of.")


class SettingsOut(SettingsIn):
    """The full settings of a job, including defaults."""

    default_kernel: ClassVar[Kernel] = "collapsed"  # of a job from before there was a choice

    model: ModelName
    vectors: Literal["brought", "made"] | None = Field(  # type: ignore[assignment]
        default=None, description="Whose vectors it uses beside the words, if any; see `embedding_model`."
    )
    embedding_model: str | None = Field(default=None, description="The digest of the model that makes the vectors.")
    hyperparameters: HyperparametersOut | None = Field(default=None, description="For lbpl-ntm only.")
    split: SplitOut | None = Field(
        default=None, description="Of a job of a comparison of methods: all other labels are hidden from it."
    )


class JobIn(SettingsIn, JobFacts):
    """A job to be queued; everything but the corpus has a default."""

    model_config = request_example(
        corpus_id=CORPUS_ID,
        name="Tickets of autumn",
        tags=["tickets"],
        text={"stop_words": "en", "extra_stop_words": ["abstract"], "min_word_length": 3, "min_document_frequency": 5},
        model=Model.LBPL_NTM,
        kernel="blocked",
        hyperparameters={"n_topics": 64, "category_step": "exact"},
        sweeps=400,
        burn_in=200,
        chains=2,
        seed=7,
        discover=False,
    )

    corpus_id: str
    discover: bool = Field(
        default=False,
        description="Take a corpus without any label, too, in which all categories are new; without it such a job is "
        "refused, since a label column of another name is the usual reason.",
    )
    webhook: WebhookIn | None = Field(default=None, description="Who is told when the job has ended.")

    def settings(self) -> dict[str, Any]:
        """The settings that go with the model in full, as a job keeps them."""
        return self.model_dump(
            exclude={"corpus_id", "discover", "vectors", "webhook", *JobFacts.model_fields}, exclude_none=True
        )


class ContinuationIn(JobFacts):
    """How a job goes on as another one."""

    model_config = request_example(name="Tickets of the second week")

    sweeps: int | None = Field(
        default=None,
        ge=1,
        le=MAX_SWEEPS,
        description="Of each chain, from where it is. By default as many as the job had; the burn-in is as large a "
        "part of them as it was.",
    )
    wait: bool = Field(
        default=False,
        description="Queue the job also while this one is queued, running, paused or being extended: it begins when "
        "this one has succeeded, with the documents of now and with what is decided until then, and it fails if this "
        "one fails or is cancelled. Without it such a job is refused.",
    )
    webhook: WebhookIn | None = Field(default=None, description="Who is told when the new job has ended.")


class ExtensionIn(RequestBody):
    """Further sweeps of a succeeded job."""

    model_config = request_example(sweeps=200)

    sweeps: int = Field(ge=1, lt=MAX_SWEEPS, description="Sweeps to be added to each chain.")
