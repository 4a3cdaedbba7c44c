"""What HTTP says of a job's answers against gold labels, with examples."""

from pydantic import BaseModel, Field

from app.schemas.common import example
from app.schemas.uploads import ColumnsOut, FileChoices, Format, LineError


class GoldChoices(FileChoices):
    """How a file of gold labels is to be read, and how much is to be reported."""

    all_cells: bool = Field(default=False, description="Report the whole confusion table, not its 100 largest cells.")
    decisions: bool = Field(default=True, description="With what people have decided, which `false` leaves out.")


class MatchedOut(BaseModel):
    """What became of the labels in the file, and of the documents that the job was to categorize."""

    labels: int = Field(description="Documents with a gold label in the file that the job was to categorize or knew.")
    scored: int = Field(description="Of these, documents that the job has given a category: all scores are over them.")
    without_answer: int = Field(description="Of these, documents that have no category, since no word was left.")
    labeled: int = Field(description="Of these, documents whose label the job knew: they have no answer to be scored.")
    missing: int = Field(description="Documents that the job has given a category, without a gold label in the file.")
    unlabeled: int = Field(description="Rows without a label: they say nothing.")
    unknown: int = Field(description="Rows whose key no document of the job has.")
    contradictory: int = Field(description="Documents with more than one gold label: left out.")
    rejected: int = Field(description="Rows that cannot be used.")


class ScoresOut(BaseModel):
    """The scores, each from 0 to 1 but for `ari`; null where one is not defined."""

    nmi: float | None = Field(description="Normalized mutual information, 2 I / (H + H'), as in the paper.")
    ari: float | None = Field(description="Adjusted Rand index: 0 is expected by chance, 1 for equal partitions.")
    mean_f1: float | None = Field(
        description="Mean of F1 over the known categories that a scored document has, by its gold label or its answer."
    )
    accuracy: float | None = Field(
        description="Share of right answers: a known category is itself, a new one stands for at most one gold label "
        "that is new to the job, so that most answers are right."
    )
    accuracy_of_known: float | None = Field(description="The same among documents whose gold label the job knew.")
    accuracy_of_new: float | None = Field(description="The same among documents whose gold label is new to the job.")
    matched_accuracy: float | None = Field(
        description="Share of right answers if known categories, too, stand for whichever gold label fits best: the "
        "accuracy of clustering."
    )
    purity: float | None = Field(description="Share of documents with the most frequent gold label of their category.")
    known_auroc: float | None = Field(
        description="Probability that a document whose gold label the job knew has a higher `known_probability` than "
        "one whose gold label is new."
    )
    new_precision: float | None = Field(description="Of the documents with a new category, those whose gold is new.")
    new_recall: float | None = Field(description="Of the documents whose gold label is new, those with a new category.")
    new_f1: float | None = Field(description="Harmonic mean of the two.")
    calibration_error: float | None = Field(
        description="How far `probability` is from the share of right answers, on average, in ten bins of probability."
    )


class NumbersOut(BaseModel):
    """How many categories the scored documents have."""

    known: int
    new: int


class NumbersOfCategories(BaseModel):
    """The same by gold labels and by answers."""

    gold: NumbersOut
    answer: NumbersOut


class KnownScore(BaseModel):
    """How well a known category was answered."""

    category: int
    name: str
    gold: int = Field(description="Scored documents with this gold label.")
    answered: int = Field(description="Scored documents that were answered with it.")
    right: int
    precision: float | None
    recall: float | None
    f1: float | None = Field(description="Null if no scored document has the category.")


class NewMatch(BaseModel):
    """Which gold label a new category stands for."""

    category: int
    name: str
    documents: int = Field(description="Scored documents that were answered with it.")
    stands_for: str | None = Field(
        description="The gold label, new to the job, by the matching of `accuracy`; null if none is left for it."
    )
    right: int = Field(description="Documents that have both.")
    gold: int = Field(description="Scored documents with that gold label.")


class CellOut(BaseModel):
    """A cell of the confusion table."""

    label: str = Field(description="The gold label.")
    label_known: bool = Field(description="Whether the job knew it.")
    category: int
    name: str
    known: bool
    documents: int


class NumberScore(BaseModel):
    """What an answer with one of several numbers of categories is worth; null where it is not defined."""

    n_categories: int
    nmi: float | None
    ari: float | None
    mean_f1: float | None


class ScoreOut(BaseModel):
    """A job's answers against gold labels."""

    model_config = example(
        documents={
            "labels": 1519,
            "scored": 1517,
            "without_answer": 1,
            "labeled": 1,
            "missing": 2,
            "unlabeled": 0,
            "unknown": 1,
            "contradictory": 0,
            "rejected": 0,
        },
        scores={
            "nmi": 0.82,
            "ari": 0.79,
            "mean_f1": 0.9,
            "accuracy": 0.88,
            "accuracy_of_known": 0.91,
            "accuracy_of_new": 0.84,
            "matched_accuracy": 0.89,
            "purity": 0.9,
            "known_auroc": 0.95,
            "new_precision": 0.93,
            "new_recall": 0.9,
            "new_f1": 0.915,
            "calibration_error": None,
        },
        undefined={"calibration_error": "the answers of the job have no probabilities"},
        categories={"gold": {"known": 6, "new": 4}, "answer": {"known": 6, "new": 4}},
        known_categories=[
            {
                "category": 0,
                "name": "astronomy",
                "gold": 120,
                "answered": 118,
                "right": 110,
                "precision": 110 / 118,
                "recall": 110 / 120,
                "f1": 220 / 238,
            }
        ],
        new_categories=[
            {
                "category": 6,
                "name": "new 1: plasma, electron, laser",
                "documents": 203,
                "stands_for": "plasma",
                "right": 190,
                "gold": 210,
            }
        ],
        numbers=None,
        confusion=[
            {
                "label": "plasma",
                "label_known": False,
                "category": 6,
                "name": "new 1: plasma, electron, laser",
                "known": False,
                "documents": 190,
            }
        ],
        cells=31,
        unknown_keys=["paper-9999"],
        contradictory_keys=[],
        errors=[],
        format="csv",
        charset="utf-8",
        delimiter=",",
        columns={"text": [], "label": "label", "key": "key", "fields": []},
        warnings=[],
    )

    documents: MatchedOut
    scores: ScoresOut
    undefined: dict[str, str] = Field(description="Why each score that is null is not defined, by name.")
    categories: NumbersOfCategories
    known_categories: list[KnownScore]
    new_categories: list[NewMatch] = Field(description="The largest first.")
    numbers: list[NumberScore] | None = Field(
        description="For a job that was asked for several numbers of categories: the scores with each. Otherwise null."
    )
    confusion: list[CellOut] = Field(description="Gold label by answer: the largest cells, or all if requested.")
    cells: int = Field(description="How many cells of the confusion table hold a document.")
    unknown_keys: list[str] = Field(description="The first ten keys that no document of the job has.")
    contradictory_keys: list[str] = Field(description="Ten keys of documents with more than one gold label.")
    errors: list[LineError] = Field(description="The first 100 rows that cannot be used.")
    format: Format
    charset: str | None
    delimiter: str | None
    columns: ColumnsOut
    warnings: list[str]
