"""What HTTP says of a job's results, with examples."""

from typing import Annotated, Any

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from app.schemas.common import example
from app.schemas.portraits import NEAREST, WORDS, CategoryWords, Cut, MapPlace, Nearest
from app.schemas.topics import TopicWeight

DRAW: dict[str, Any] = {
    "chain": 0,
    "sweep": 1,
    "n_categories": 11,
    "n_new": 5,
    "n_new_with_documents": 4,
    "n_tables": 6120,
    "alpha": 0.52,
    "gamma": 0.0011,
    "log_joint": -1204556.3,
    "setting": None,
}


class DrawOut(BaseModel):
    """What one sweep of a chain left in the trace."""

    model_config = example(**DRAW)

    chain: int
    sweep: int
    n_categories: int
    n_new: int = Field(description="Categories that no label names.")
    n_new_with_documents: int = Field(description="Of these, the ones that hold a document.")
    n_tables: int | None = Field(description="For lbpl-ntm only, like `alpha` and `gamma`; otherwise null.")
    alpha: float | None
    gamma: float | None
    log_joint: float = Field(
        description="For the paper's peers their objective, the higher the better: what they minimize has a minus sign."
    )
    setting: int | None = Field(description="For a calibrated job: the setting under which the sweep was made.")


class TracePage(BaseModel):
    """Some draws, by chain and sweep; `next` is the cursor of the next page, null on the last one.

    While the job runs, more draws follow the end of a trace: request them with `chain` and `after`.
    """

    model_config = example(draws=[DRAW], next="WzAsMV0")

    draws: list[DrawOut]
    next: str | None


STABILITY = "How far all chains agree on it, from 0 to 1; null where chains are not compared."


class TopWord(TypedDict):
    """A word, and how many documents of the category contain it."""

    word: str
    documents: int


class DescriptionChance(TypedDict):
    """A description, and how probable it is that a category is the one described."""

    name: str
    probability: float


class Described(TypedDict):
    """Which description of the corpus a new category fits."""

    name: Annotated[
        str | None, Field(description="Of the description that it fits with a probability of 0.5 or more, or null.")
    ]
    probability: Annotated[float, Field(description="That it fits this one; with null, that it fits none.")]
    others: Annotated[list[DescriptionChance], Field(description="Up to five with a probability of 0.01 or more.")]


class DescriptionFit(BaseModel):
    """Which category fits a description of the corpus."""

    name: str
    known: bool = Field(description="Documents bear it as their label, so it was not looked for.")
    category: int | None = Field(description="That fits with a probability of 0.5 or more; null if none does.")
    probability: float = Field(description="That this one fits; with null, that none does.")


class CategoryOut(BaseModel):
    """A category of the answer."""

    category: int
    id: str | None = Field(
        description="A short id that stays: a known category has it from its name alone, in all jobs; a new one keeps "
        "it from job to job, as long as it has about the same documents, and one that is promoted, or has another name "
        "by a decision, in all jobs that continue the job. Null for jobs from before there were ids, as "
        "`size_interval_90`, `words` and `nearest` are; and for a category of a cut that the answer has not."
    )
    name: str
    known: bool
    documents: int = Field(description="Unlabeled documents that were assigned to it.")
    size_interval_90: tuple[int, int] | None = Field(
        description="How many unlabeled documents are of it, with 90 % probability, by the probabilities of the answer."
    )
    labeled: int
    share: float
    top_words: list[TopWord]
    words: CategoryWords | None
    nearest: Nearest | None
    place: MapPlace | None = Field(
        description="On a map on which distances are as nearly as possible those that `nearest` reports, between any "
        "two categories; `map_fit` says how nearly. Null where there is no map, for jobs from before there was one, "
        "for a category without a word, and for categories that a cut or people have made."
    )
    stability: float | None = Field(description=STABILITY)
    topics: list[TopicWeight] | None = Field(
        description="Up to ten that it mostly consists of, heaviest first; null if the job's model has no topics."
    )
    origin: list[int] | None = Field(
        description="In a cut, or where people have decided something: the answer's categories that this one is, "
        "joins, or is a part of. Otherwise null."
    )
    described: Described | None = Field(
        description="Null for known categories, where the corpus has no description that could fit, and where a cut or "
        "people have made another category of it."
    )


class Frequency(BaseModel):
    """How often a number occurred among the kept draws of all chains."""

    n_new: int
    frequency: float
    draws: int


class PosteriorOut(BaseModel):
    """The posterior of a number of new categories, over the kept draws of all chains."""

    mode: int
    mean: float
    interval_90: tuple[int, int] = Field(description="From the 5 % to the 95 % quantile.")
    frequencies: list[Frequency]


POSTERIOR: dict[str, Any] = {
    "mode": 4,
    "mean": 4.25,
    "interval_90": [4, 5],
    "frequencies": [{"n_new": 4, "frequency": 0.75, "draws": 300}, {"n_new": 5, "frequency": 0.25, "draws": 100}],
}


class NewCategoriesOut(BaseModel):
    """How many new categories there are: the number that the answer has, and how far it may be off."""

    number: int = Field(description="New categories of the answer, all of them in `categories`.")
    interval_90: tuple[int, int] = Field(
        description="From the 5 % to the 95 % quantile of `n_new`, widened where it does not hold `number`. "
        "At least 1 where no category is known and some document has a category."
    )


class DiagnosticsOut(BaseModel):
    """How far the chains of a job can be trusted together."""

    verdict: str = Field(description="`sound`, `mixed` or `unreliable`.")
    reasons: list[str] = Field(description="The reasons for the verdict, in sentences; the decisive one comes first.")
    agreement: list[list[float]] = Field(description="Adjusted Rand index between the answers of every two chains.")
    mean_agreement: float | None = Field(description="Of all pairs; null with one chain.")
    r_hat: dict[str, float | None] = Field(
        description="Of each quantity's kept draws, near 1 where they have settled; null if there are too few, or "
        "if each chain stays at its own value."
    )
    effective_size: dict[str, float | None] = Field(description="How many independent draws they are worth.")


class SettingOut(BaseModel):
    """A setting under which a calibrated job grouped documents, and how it scored."""

    weighting: str
    background: bool = Field(description="Whether the prior of words is in proportion to the corpus' frequencies.")
    vectors: bool = Field(default=False, description="Whether vectors of documents counted beside their words.")
    smoothing: float
    power: float
    given_back: float = Field(
        description="How well it recovers the known categories with their labels hidden, up to 1."
    )
    stability: float = Field(description="How far its starts agree on the new ones, up to 1.")
    weight: float = Field(description="Share of the sweeps that are made under it.")


class VectorScalesOut(BaseModel):
    """How much vectors count in the regressions: how long they are beside the words of a document, which are 1 long."""

    known_or_new: float = Field(description="Where known documents are told from new ones; 0: words alone.")
    categories: float = Field(description="Where the documents of one category are told from those of another.")


class CalibrationOut(BaseModel):
    """What the labels taught a calibrated job."""

    labeling_rate: float | None = Field(description="Share of the known categories' documents that bear a label.")
    labeling_rates: dict[str, float | None] = Field(
        default={},
        description="The same of each known category, by name; null where the labels do not say it. Empty for jobs "
        "from before it was reported.",
    )
    vector_scales: VectorScalesOut | None = Field(
        default=None, description="What the labels say of the vectors; null for a job that uses none."
    )
    settings: list[SettingOut] = Field(description="The settings that chains use, the heaviest first.")


DIAGNOSTICS: dict[str, Any] = {
    "verdict": "sound",
    "reasons": ["R-hat, independent draws and agreement are within their limits."],
    "agreement": [[1.0, 0.94], [0.94, 1.0]],
    "mean_agreement": 0.94,
    "r_hat": {"n_categories": 1.005},
    "effective_size": {"n_categories": 240.5},
}
SETTING: dict[str, Any] = {
    "weighting": "flat", "background": False, "vectors": True, "smoothing": 0.4, "power": 1.5
}  # fmt: skip
CALIBRATION: dict[str, Any] = {
    "labeling_rate": 0.4,
    "labeling_rates": {"astronomy": 0.41, "optics": 0.38},
    "vector_scales": {"known_or_new": 0.5, "categories": 1.0},
    "settings": [{**SETTING, "given_back": 0.81, "stability": 0.9, "weight": 1.0}],
}


NEW_CATEGORY: dict[str, Any] = {
    "category": 6,
    "id": "c-7q3kx9",
    "name": "new 1: plasma, electron, laser",
    "known": False,
    "documents": 203,
    "size_interval_90": [181, 225],
    "labeled": 0,
    "share": 203 / 1519,
    "top_words": [{"word": "plasma", "documents": 177}],
    "words": WORDS,
    "nearest": NEAREST,
    "place": {"x": 0.31, "y": -0.12},
    "stability": 0.97,
    "topics": [{"topic": 0, "weight": 0.38}],
    "origin": None,
    "described": {"name": None, "probability": 0.74, "others": [{"name": "plasma physics", "probability": 0.26}]},
}


class NumberOut(BaseModel):
    """What a model that is told the number of categories answers with one of several numbers."""

    n_categories: int = Field(description="That it was told, the known ones included.")
    with_documents: int = Field(description="Categories that hold an unlabeled document.")
    objective: float = Field(
        description="Of its best run, the higher the better. With more categories most objectives rise by themselves."
    )
    silhouette: float | None = Field(
        description="How well the categories are told apart, from -1 to 1: the mean silhouette of up to 2,000 "
        "unlabeled documents, by the cosines of their tf-idf rows. Null with a single category."
    )
    chosen: bool = Field(description="Whether it is the one of the answer, which has the best silhouette.")


class CategoriesOut(BaseModel):
    """The categories that a job found, and how sure it is of their number."""

    model_config = example(
        summary="6 known categories and 4 new ones; with 90 % probability there are 4 to 5 new ones.",
        new_categories={"number": 4, "interval_90": [4, 5]},
        categories=[
            {
                "category": 0,
                "id": "c-4rv0dt",
                "name": "astronomy",
                "known": True,
                "documents": 118,
                "size_interval_90": [104, 132],
                "labeled": 80,
                "share": 118 / 1519,
                "top_words": [{"word": "galaxy", "documents": 61}],
                "words": WORDS,
                "nearest": NEAREST,
                "place": {"x": -0.08, "y": 0.02},
                "stability": 0.97,
                "topics": [{"topic": 2, "weight": 0.44}, {"topic": 9, "weight": 0.07}],
                "origin": None,
                "described": None,
            },
            NEW_CATEGORY,
        ],
        n_new=POSTERIOR,
        n_new_with_documents=POSTERIOR,
        diagnostics=DIAGNOSTICS,
        calibration=CALIBRATION,
        best_chain=None,
        unsure=141,
        numbers=None,
        map_fit=0.64,
        descriptions=[
            {"name": "astronomy", "known": True, "category": 0, "probability": 1.0},
            {"name": "plasma physics", "known": False, "category": None, "probability": 0.74},
        ],
        cut=None,
    )

    summary: str = Field(
        description="The answer in a sentence, and in a second one how far to trust it if the verdict is not `sound`."
    )
    new_categories: NewCategoriesOut
    categories: list[CategoryOut]
    n_new: PosteriorOut = Field(description="Of the number that there are.")
    n_new_with_documents: PosteriorOut = Field(description="Of the number that hold a document in a draw.")
    diagnostics: DiagnosticsOut | None = Field(description="Null for a job whose chains are not compared.")
    calibration: CalibrationOut | None = Field(description="Null if the job's model has none.")
    best_chain: int | None = Field(
        description="The chain that categories and documents come from, the one with the highest mean log joint; null "
        "for a job that pools all chains."
    )
    unsure: int = Field(
        description="Unlabeled documents whose answer is unsure, with a probability below one half or without one, by "
        "what the job computed: those that the list of documents has with `unsure=true`, but for decisions."
    )
    numbers: list[NumberOut] | None = Field(
        description="For a job that was asked for several numbers of categories: what each of them gave. "
        "`POST /v1/jobs/{id}/score` scores each of them against gold labels. Otherwise null."
    )
    map_fit: float | None = Field(
        description="Of the map of the answer's categories, their `place`: the share of their squared distances that a "
        "plane shows, from 0 to 1. Null if there is no map: with fewer than two categories that have a word, and for "
        "jobs from before."
    )
    descriptions: list[DescriptionFit] | None = Field(
        description="What became of the descriptions that the corpus had, in the order of their names; null if it had "
        "none. `category` is null, too, where decisions or a cut have parted or dissolved the one that fits."
    )
    cut: Cut | None = Field(
        description="What is lost by the number of new categories that the request wanted; null if it named none."
    )


class RunnerUp(BaseModel):
    """The second choice."""

    category: int
    name: str
    probability: float


class LikelyCategory(BaseModel):
    """A category that matters for a document."""

    category: int
    name: str
    probability: float


class EvidenceWord(BaseModel):
    """A word of a document."""

    word: str
    weight: float = Field(description="By how much it speaks for the category and against the runner-up, in nats.")


class DocumentOut(BaseModel):
    """The answer for one unlabeled document; if it has no category, with the reason."""

    key: str
    text: str = Field(description="Empty if it has been erased.")
    category: int | None
    name: str | None
    known: bool | None
    probability: float | None = Field(description="Of being of this category.")
    known_probability: float | None = Field(
        description="Of being of a known category, whichever. Null without a category, and for jobs from before it was "
        "reported; so is `category_probability`."
    )
    category_probability: float | None = Field(
        description="Of being of this category if the document is of a known one, or of a new one, as this category "
        "is: `probability` divided by `known_probability` or by one minus that, at most 1."
    )
    unsure: bool = Field(
        description="The probability is below the threshold for known or for new categories, or there is no category."
    )
    runner_up: RunnerUp | None = Field(description="The second choice, never more probable than the first.")
    likely: list[LikelyCategory] = Field(
        description="The category, the runner-up, and others of 1 % or more; none is more probable than the one before."
    )
    evidence: list[EvidenceWord] | None = Field(
        description="The words that speak for the category, the strongest first; null unless the request asks for them."
    )
    reason: str | None
    stability: float | None = Field(description=STABILITY)
    copy_of: str | None = Field(
        description="Key of the first document with the same text, or nearly the same, labeled or not; null if there "
        "is none before this one."
    )
    fields: dict[str, Any] = Field(description="All other columns that the document came with.")
    erased: bool = Field(description="The text and the fields of the document have been erased since.")
    decision: int | None = Field(
        description="Number of the decision by which a person gave it its category, or none; otherwise null. Its "
        "probability is 1 then; ranges and orders of probabilities go by what the job computed."
    )


DOCUMENT: dict[str, Any] = {
    "key": "paper-812",
    "text": "Tokamak plasmas near the density limit",
    "category": 6,
    "name": "new 1: plasma, electron, laser",
    "known": False,
    "probability": 0.93,
    "known_probability": 0.06,
    "category_probability": 0.93 / (1 - 0.06),
    "unsure": False,
    "runner_up": {"category": 2, "name": "optics", "probability": 0.05},
    "likely": [
        {"category": 6, "name": "new 1: plasma, electron, laser", "probability": 0.93},
        {"category": 2, "name": "optics", "probability": 0.05},
    ],
    "evidence": [{"word": "plasmas", "weight": 2.2}],
    "reason": None,
    "stability": 0.95,
    "copy_of": "paper-44",
    "fields": {"year": 2024},
    "erased": False,
    "decision": None,
}


class DocumentPage(BaseModel):
    """Some documents, in the order that was asked for; `next` is the cursor of the next page, null on the last one."""

    model_config = example(
        documents=[
            DOCUMENT,
            {
                "key": "paper-813",
                "text": "",
                "category": None,
                "name": None,
                "known": None,
                "probability": None,
                "known_probability": None,
                "category_probability": None,
                "unsure": True,
                "runner_up": None,
                "likely": [],
                "evidence": [],
                "reason": "no word is left after applying the text options",
                "stability": None,
                "copy_of": None,
                "fields": {},
                "erased": False,
                "decision": None,
            },
        ],
        next="ODEy",
    )

    documents: list[DocumentOut]
    next: str | None
