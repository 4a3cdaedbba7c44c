"""Comparisons of methods: which one suits a corpus, by labels that were hidden from all of them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fastapi import Request, Response

from app.core.kinds import MODELS
from app.core.runs import LIVE, UNFINISHED
from app.page.api import PublicApi
from app.page.rendering import page, page_router
from app.plots.methods import Estimate, Method, plot_methods

router = page_router()

PAGE = 24


class Score(NamedTuple):
    """A column of the table: its name in the API, what it is called, its digits, and what it says."""

    name: str
    title: str
    digits: int
    what: str


SCORES = (
    Score("nmi", "NMI", 3, "how well categories and true labels match, from 0 to 1"),
    Score("ari", "ARI", 3, "how well they match pair by pair of documents, 0 by chance, 1 at best"),
    Score("mean_f1", "Mean F1", 3, "over the known categories, from 0 to 1"),
    Score("categories", "Categories", 1, "known and new, that documents were given"),
    Score("seconds", "Seconds", 1, "of work for one job"),
)
DRAWN = SCORES[:3]


@router.get("/comparisons")
async def comparisons(request: Request, api: PublicApi, cursor: str | None = None) -> Response:
    """All comparisons, newest first."""
    found = await api.get("/v1/comparisons", {"cursor": cursor, "limit": PAGE})
    return page(request, "comparisons.html", comparisons=found["comparisons"], next=found["next"])


@router.get("/comparisons/{comparison_id}")
async def comparison(request: Request, api: PublicApi, comparison_id: str) -> Response:
    """One comparison: its table, the scores of each split, and what can be done with it."""
    found = await api.get(f"/v1/comparisons/{comparison_id}")
    corpus = await api.get(f"/v1/corpora/{found['corpus_id']}")
    return page(
        request, "comparison.html",
        comparison=found,
        corpus=corpus,
        scores=SCORES,
        told=[i for i, row in enumerate(found["table"]) if not finds_number(row)],
        best={score.name: best_rows(found["table"], score.name, found["categories"]) for score in SCORES},
        plot=plot_methods([method_of(row) for row in found["table"]]),
        sentence=sentence_of(found),
        n_done=sum(n for status, n in found["jobs"].items() if status not in UNFINISHED),
        n_jobs=sum(found["jobs"].values()),
        live=found["status"] in LIVE,
        unfinished=found["status"] in UNFINISHED,
    )  # fmt: skip


def best_rows(table: Sequence[Mapping[str, Any]], score: str, n_true: int) -> set[int]:
    """The rows with the best mean of a score, several if they are equal; none where only one method has a mean."""
    counted = [score != "categories" or finds_number(row) for row in table]
    means = {i: row[score]["mean"] for i, row in enumerate(table) if row[score]["mean"] is not None and counted[i]}
    if len(means) < 2:
        return set()
    losses = {i: loss_of(score, mean, n_true) for i, mean in means.items()}
    least = min(losses.values())
    return {i for i, loss in losses.items() if loss == least}


def finds_number(row: Mapping[str, Any]) -> bool:
    """Whether a method finds the number of categories; one that is told it deserves no praise for it."""
    return MODELS[row["model"]].finds_number


def loss_of(score: str, mean: float, n_true: int) -> float:
    """What is better the smaller it is: for the number of categories how far it is from the true one."""
    if score == "categories":
        return abs(mean - n_true)
    return mean if score == "seconds" else -mean


def method_of(row: Mapping[str, Any]) -> Method:
    """A row of the table as the plot takes it."""
    return Method(row["method"], {score.title: Estimate(*(row[score.name][part] for part in PARTS)) for score in DRAWN})


PARTS = ("mean", "standard_error", "n")


def sentence_of(found: Mapping[str, Any]) -> str:
    """Which method is best so far, by NMI."""
    scored = [row for row in found["table"] if row["nmi"]["mean"] is not None]
    if not scored:
        return "No split has been scored yet."
    best = max(scored, key=lambda row: float(row["nmi"]["mean"]))
    if len(scored) == 1:
        return f"{best['method']} is the only method that has been scored so far: NMI {best['nmi']['mean']:.3f}."
    others = [row for row in scored if row is not best]
    close = [row["method"] for row in others if overlaps(best["nmi"], row["nmi"])]
    lead = f"{best['method']} matches the hidden labels best, with NMI {best['nmi']['mean']:.3f}"
    return f"{lead}; within the errors, {', '.join(close)} may be as good." if close else f"{lead}."


def overlaps(best: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two means are closer than two standard errors of their difference; one split says nothing of that."""
    if best["standard_error"] is None or other["standard_error"] is None:
        return False
    error = (best["standard_error"] ** 2 + other["standard_error"] ** 2) ** 0.5
    return bool(best["mean"] - other["mean"] < 2.0 * error)
