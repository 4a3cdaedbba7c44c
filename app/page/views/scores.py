"""The answer against gold labels that somebody chooses, and the labels of the corpus that are probably wrong."""

from typing import Any

from fastapi import Request, Response

from app.page.addresses import address
from app.page.api import Api, Params, PublicApi, Refused
from app.page.figures import matrix_of
from app.page.rendering import page_router
from app.page.views.of_job import has_results, job_page
from app.page.views.result import to_chains

router = page_router()

AUDITED = 50  # a page

# The scores in the order in which they are read: what each is called, and what it says.
SCORES = {
    "accuracy": ("Accuracy", "right answers, where each new category stands for the gold label that fits it best"),
    "accuracy_of_known": ("of known labels", "right answers among documents whose gold label the job knew"),
    "accuracy_of_new": ("of new labels", "right answers among documents whose gold label is new to the job"),
    "new_precision": ("New: precision", "of the documents in new categories, those whose gold label is new"),
    "new_recall": ("New: recall", "of the documents whose gold label is new, those in new categories"),
    "new_f1": ("New: F1", "the harmonic mean of the two"),
    "mean_f1": ("Mean F1", "of the known categories"),
    "nmi": ("NMI", "normalized mutual information of categories and gold labels"),
    "ari": ("ARI", "adjusted Rand index: 0 by chance, 1 if they are the same"),
    "purity": ("Purity", "documents with the most frequent gold label of their category"),
    "matched_accuracy": ("Matched accuracy", "right answers if known categories, too, stand for what fits best"),
    "known_auroc": ("AUROC of known", "how well the probability of being known tells known from new"),
    "calibration_error": ("Calibration error", "how far probabilities are from the share of right answers: 0 is best"),
}


@router.get("/jobs/{job_id}/scores")
async def scores(
    request: Request, api: PublicApi, job_id: str, key: str = "", label: str = "", cursor: str = ""
) -> Response:
    """Where gold labels are chosen, and doubtful labels of the corpus."""
    job = await api.get(f"/v1/jobs/{job_id}")
    if not has_results(job):
        return to_chains(request, job_id)
    audit = await api.get(f"/v1/jobs/{job_id}/audit", {"limit": AUDITED, "cursor": cursor})
    following = address(request, {"cursor": audit["next"]}) if audit["next"] else ""
    told = {"audit": audit["documents"], "following": following, "is_first": not cursor}
    return await scores_page(request, api, job, {"key": key, "label": label}, **told)


@router.post("/jobs/{job_id}/scores")
async def score(request: Request, api: PublicApi, job_id: str, key: str = "", label: str = "") -> Response:
    """The scores against the gold labels of a file, which nobody stores: the API reads it as it comes."""
    columns = {"key": key, "label": label}
    # The body comes once, so the API is handed it before anything else is asked.
    try:
        told = await api.forward(f"/v1/jobs/{job_id}/score", {**columns, "all_cells": True})
    except Refused as refused:
        job = await api.get(f"/v1/jobs/{job_id}")
        return await scores_page(request, api, job, columns, refused=refused, status=refused.code)
    job = await api.get(f"/v1/jobs/{job_id}")
    return await scores_page(
        request, api, job, columns, score=told, matrix=matrix_of(told), names=SCORES, said=told_in_words(told)
    )  # fmt: skip


async def scores_page(request: Request, api: Api, job: dict[str, Any], columns: Params, **values: Any) -> Response:
    """The view with what there is to show: the audit, scores, or a refusal."""
    given = {"score": None, "audit": None, "refused": None, "is_first": True} | values
    return await job_page(
        request, api, job["id"], "scores.html", "Scores", job=job, columns=columns,
        sent_to=address(request, columns), **given,
    )  # fmt: skip


def told_in_words(score: dict[str, Any]) -> str:
    """What became of the labels in the file."""
    documents = score["documents"]
    parts = [
        (documents["missing"], "answered documents have no gold label in the file"),
        (documents["labeled"], "had a label that the job knew"),
        (documents["without_answer"], "have no category"),
        (documents["unknown"], "rows name a key that the job does not have"),
        (documents["contradictory"], "documents have several gold labels and are left out"),
        (documents["rejected"], "rows cannot be used"),
        (documents["unlabeled"], "rows have no label"),
    ]
    return "; ".join(f"{n:,} {what}" for n, what in parts if n)
