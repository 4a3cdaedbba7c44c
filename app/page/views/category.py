"""Everything of one category: its words, its documents, its history, and what people can decide about it."""

from typing import Any

from fastapi import Request, Response

from app.page.api import Answered, Api, PublicApi, at_once
from app.page.figures import Json, new_first
from app.page.rendering import page_router
from app.page.views.of_job import has_results, job_page
from app.page.views.result import agreement, to_chains

router = page_router()

TOPIC_WORDS = 6  # of each topic


@router.get("/jobs/{job_id}/categories/{category}")
async def category(request: Request, api: PublicApi, job_id: str, category: str, decisions: str = "") -> Response:
    """One category, by its index or its short id."""
    job = await api.get(f"/v1/jobs/{job_id}")
    if not has_results(job):
        return to_chains(request, job_id)
    as_computed = decisions == "false"
    decided = {"decisions": "false"} if as_computed else {}
    found = await api.get(f"/v1/jobs/{job_id}/categories/{category}", decided)
    answered, topics, lineage = await at_once(
        api.ask("GET", f"/v1/jobs/{job_id}/categories", decided),
        words_of_topics(api, job_id, found),
        lineage_of(api, found),
    )
    others = [each for each in new_first(answered.json()["categories"]) if each["category"] != found["category"]]
    return await job_page(
        request, api, job_id, "category.html", "Result", job=job,
        category=found, others=others, topics=topics, lineage=lineage, etag=answered.headers["etag"],
        as_computed=as_computed, agreement=agreement(found["stability"]), named=found["id"] or found["name"],
        highest=highest_of(found), rank=1 + sum(each["documents"] > found["documents"] for each in others),
    )  # fmt: skip


async def words_of_topics(api: Api, job_id: str, category: Json) -> list[Json]:
    """The topics of a category, each with its weight and its best words."""
    if not category["topics"]:
        return []
    told = await api.get_or_none(f"/v1/jobs/{job_id}/topics")
    words = {each["topic"]: [word["word"] for word in each["top_words"]] for each in (told or {"topics": []})["topics"]}
    return [{**each, "words": words.get(each["topic"], [])[:TOPIC_WORDS]} for each in category["topics"]]


async def lineage_of(api: Api, category: Json) -> list[Json]:
    """The jobs that have the category, newest first; none for one without an id, or that decisions have made."""
    if category["id"] is None:
        return []
    answered: Answered = await api.ask("GET", f"/v1/categories/{category['id']}/lineage")
    return [] if answered.code == 404 else list(reversed(answered.json()["jobs"]))


def highest_of(category: Json) -> dict[str, Any]:
    """What the longest bar of each list of words stands for."""
    words = category["words"] or {"by_probability": [], "by_lift": []}
    return {
        "share": max((each["share"] for each in words["by_probability"]), default=0) or 1,
        "lift": max((each["lift"] for each in words["by_lift"]), default=0) or 1,
        "documents": max((each["documents"] for each in category["top_words"]), default=0) or 1,
    }
