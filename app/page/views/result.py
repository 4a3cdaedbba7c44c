"""The answer of a job: how many new categories, how far to trust it, and what each category is."""

from collections.abc import Sequence
from typing import Any

from fastapi import Request, Response
from starlette.responses import RedirectResponse

from app.page.addresses import address, number_in
from app.page.api import Api, PublicApi
from app.page.figures import Json, new_first, posterior_of, sizes_of, words_of
from app.page.rendering import page_router
from app.page.views.chains import diagnosis_of
from app.page.views.of_job import has_results, job_page

router = page_router()

CARDS = 24  # a page


@router.get("/jobs/{job_id}")
async def result(
    request: Request, api: PublicApi, job_id: str, kind: str = "", q: str = "", page: str = "", decisions: str = ""
) -> Response:
    """The number of new categories, the verdict, and a card for each category."""
    job = await api.get(f"/v1/jobs/{job_id}")
    if not has_results(job):
        return to_chains(request, job_id)
    as_computed = decisions == "false"
    decided = {"decisions": "false"} if as_computed else {}
    answer = await api.get(f"/v1/jobs/{job_id}/categories", decided)
    ordered = new_first(answer["categories"])
    found = [each for each in ordered if is_wanted(each, kind, q)]
    first = (number_in(page, 1) - 1) * CARDS
    shown = found[first : first + CARDS]
    details = await portraits_of(api, job_id, shown, decided)
    chosen = {"kind": kind, "q": q, **decided}
    return await job_page(
        request, api, job_id, "result.html", "Result", job=job,
        answer=answer, diagnosis=diagnosis_of(job, answer), categories=answer["categories"], as_computed=as_computed,
        has_decisions=any(each["origin"] is not None for each in answer["categories"]),
        cards=[card(each, detail) for each, detail in zip(shown, details, strict=True)],
        n_found=len(found), first=first, kind=kind, q=q, facts=facts(answer),
        posterior=posterior_of(answer), sizes=sizes_of(answer["categories"]),
        following=address(request, {**chosen, "page": number_in(page, 1) + 1}) if first + CARDS < len(found) else "",
        previous=address(request, {**chosen, "page": number_in(page, 1) - 1}) if first else "",
    )  # fmt: skip


def to_chains(request: Request, job_id: str) -> Response:
    """Where a job without results yet is followed."""
    base = request.app.state.settings.root_path
    return RedirectResponse(f"{base}/jobs/{job_id}/chains", 303)


def is_wanted(category: Json, kind: str, q: str) -> bool:
    """Whether a category is of the wanted kind, and has every word of `q` in its name or among its words."""
    if kind in ("new", "known") and category["known"] != (kind == "known"):
        return False
    words = [each["word"] for each in category["top_words"]]
    ranked = category["words"] or {"by_probability": [], "by_lift": []}
    words += [each["word"] for ranking in ranked.values() for each in ranking]
    has = " ".join([category["name"], category["id"] or "", *words]).casefold()
    return all(part in has for part in q.casefold().split())


async def portraits_of(api: Api, job_id: str, shown: Sequence[Json], decided: Json) -> list[Json]:
    """Categories with the documents that stand for them."""
    if not shown:
        return []
    params = {"category": [each["category"] for each in shown], **decided}
    return list((await api.get(f"/v1/jobs/{job_id}/portraits", params))["categories"])


def card(category: Json, detail: Json) -> Json:
    """What a card shows: the category, its words as bars, and up to three typical documents."""
    return {
        **category,
        "address": category["id"] or category["category"],
        "bars": words_of(category, f"words-{category['category']}"),
        "examples": (detail["representative"] or [])[:3],
        "agreement": agreement(category["stability"]),
    }


def facts(answer: Json) -> dict[str, Any]:
    """What there is to say of all documents together; nothing is unsure where the method has no probabilities."""
    categories = answer["categories"]
    documents = sum(each["documents"] for each in categories)
    new = sum(each["documents"] for each in categories if not each["known"])
    has_probabilities = any(each["size_interval_90"] is not None for each in categories)
    return {
        "documents": documents,
        "unsure": answer["unsure"] if has_probabilities else None,
        "new": new,
        "known": documents - new,
        "new_share": new / documents if documents else None,
        "known_share": (documents - new) / documents if documents else None,
    }


def agreement(stability: float | None) -> str:
    """How far chains agree on a category, in words."""
    if stability is None:
        return ""
    for least, words in ((0.95, "all chains agree"), (0.8, "chains mostly agree"), (0.6, "chains partly agree")):
        if stability >= least:
            return words
    return "chains disagree"
