"""The tree over the new categories: from coarse to fine, and what each number of them loses."""

from typing import Any

from fastapi import Request, Response

from app.page.addresses import number_in
from app.page.api import PublicApi
from app.page.figures import new_first, tree_of
from app.page.rendering import page_router, percent, plural
from app.page.views.of_job import has_results, job_page
from app.page.views.result import to_chains

router = page_router()


@router.get("/jobs/{job_id}/tree")
async def tree(request: Request, api: PublicApi, job_id: str, categories: str = "") -> Response:
    """The dendrogram, and the categories that one cut of it makes."""
    job = await api.get(f"/v1/jobs/{job_id}")
    if not has_results(job):
        return to_chains(request, job_id)
    own = f"/v1/jobs/{job_id}"
    told = await api.get(f"{own}/tree")
    number = min(number_in(categories, told["categories"]), told["leaves"])
    answer = await api.get(f"{own}/categories", {"decisions": False})
    is_answer = number == told["categories"]
    # The answer is a cut of the tree, too; what it loses is said of cuts alone.
    shown = await api.get(f"{own}/categories", {"categories": number}) if told["leaves"] else answer
    return await job_page(
        request, api, job_id, "tree.html", "Tree", job=job, tree=told, number=number, is_answer=is_answer,
        plot=tree_of(told, answer["categories"], number), said=said_of(shown["cut"]) if shown["cut"] else "",
        cut=shown["cut"], found=[each for each in new_first(shown["categories"]) if not each["known"]],
    )  # fmt: skip


def said_of(cut: dict[str, Any]) -> str:
    """A cut in a sentence."""
    loss, answer = cut["loss"], cut["answer"]
    n = plural(loss["categories"], "new category", "new categories")
    if loss["categories"] == answer["categories"]:
        return f"{n}, as in the answer: {lost(loss)}."
    return f"{n}: {lost(loss)}. The answer has {answer['categories']}: {lost(answer)}."


def lost(loss: dict[str, Any]) -> str:
    """What the draws say against a division of the documents."""
    parts = []
    if loss["joined_apart"] is not None:
        parts.append(f"draws keep apart {percent(loss['joined_apart'], 1)} of the pairs of documents that it joins")
    if loss["parted_together"] is not None:
        parts.append(f"draws join {percent(loss['parted_together'], 1)} of the pairs that it keeps apart")
    return ", and ".join(parts) or "there is no pair of documents to judge it by"
