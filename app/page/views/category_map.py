"""The map of the categories, and the topics that they share."""

from fastapi import Request, Response

from app.page.addresses import address, number_in
from app.page.api import PublicApi
from app.page.figures import map_of, new_first, topics_of
from app.page.rendering import page_router
from app.page.views.of_job import has_results, job_page
from app.page.views.result import to_chains

router = page_router()

TOPICS = 50  # a page


@router.get("/jobs/{job_id}/map")
async def category_map(request: Request, api: PublicApi, job_id: str, page: str = "") -> Response:
    """Categories by the distance of their words, and by their topics."""
    job = await api.get(f"/v1/jobs/{job_id}")
    if not has_results(job):
        return to_chains(request, job_id)
    answer = await api.get(f"/v1/jobs/{job_id}/categories")
    told = await api.get_or_none(f"/v1/jobs/{job_id}/topics")
    topics = None if told is None else told["topics"]
    first = (number_in(page, 1) - 1) * TOPICS
    following = address(request, {"page": number_in(page, 1) + 1}) if first + TOPICS < len(topics or []) else ""
    return await job_page(
        request, api, job_id, "category_map.html", "Map and topics", job=job,
        categories=new_first(answer["categories"]), plot=map_of(answer["categories"]), fit=answer["map_fit"],
        has_map=any(each["place"] is not None for each in answer["categories"]),
        topics=None if topics is None else topics[first : first + TOPICS],
        heat=topics_of(answer["categories"], topics) if topics else None,
        following=following,
    )  # fmt: skip
