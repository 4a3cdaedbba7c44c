"""The first view: for newcomers what this is and two ways to begin, for all others their jobs and corpora."""

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Query, Request, Response

from app.page.api import Params, PublicApi, at_once
from app.page.assets import sample_files
from app.page.progress_words import is_live
from app.page.rendering import page, page_router

router = page_router()

N_CARDS = 12  # jobs, and corpora, a page
N_COMPARISONS = 5

From = Annotated[str, Query(max_length=500)]  # a cursor of the API


@router.get("/")
async def home(request: Request, api: PublicApi, jobs_from: From = "", corpora_from: From = "") -> Response:
    """The last jobs and corpora, each list with an address of what follows."""
    jobs, corpora, comparisons = await at_once(
        api.get("/v1/jobs", {"limit": N_CARDS, "cursor": jobs_from}),
        api.get("/v1/corpora", {"limit": N_CARDS, "cursor": corpora_from}),
        api.get("/v1/comparisons", {"limit": N_COMPARISONS}),
    )
    here = {"jobs_from": jobs_from, "corpora_from": corpora_from}
    return page(
        request,
        "home.html",
        jobs=jobs["jobs"],
        more_jobs=following(here, "jobs_from", jobs["next"], "#jobs"),
        corpora=corpora["corpora"],
        more_corpora=following(here, "corpora_from", corpora["next"], "#corpora"),
        comparisons=comparisons["comparisons"],
        is_first=not (jobs["jobs"] or corpora["corpora"] or any(here.values())),
        is_live=any(map(is_live, jobs["jobs"])),
        has_sample=bool(sample_files()),
    )


def following(here: Params, name: str, cursor: str | None, part: str) -> str | None:
    """The address of the next page of one of two lists; None on the last one. The other stays where it is."""
    if cursor is None:
        return None
    query: dict[str, Any] = {each: value for each, value in {**here, name: cursor}.items() if value}
    return f"?{urlencode(query)}{part}"
