"""The first view: what this is, what there is, and the two ways to begin."""

from fastapi import Request, Response

from app.page.api import PublicApi
from app.page.assets import sample_files
from app.page.rendering import page, page_router

router = page_router()


@router.get("/")
async def home(request: Request, api: PublicApi) -> Response:
    """The corpora and the last jobs."""
    corpora, jobs = await api.get_all("/v1/corpora", "/v1/jobs")
    return page(request, "home.html", corpora=corpora, jobs=jobs["jobs"], has_sample=bool(sample_files()))
