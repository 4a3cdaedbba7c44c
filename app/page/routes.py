"""The addresses of the page: its views, and the files that they load."""

from fastapi import APIRouter

from app.page.assets import asset, sample
from app.page.views import chains, comparisons, corpora, home, job_form

router = APIRouter(include_in_schema=False)
router.add_api_route("/static/{digest}/{name:path}", asset)
router.add_api_route("/sample/{name}", sample)
for view in (home, corpora, job_form, chains, comparisons):
    router.include_router(view.router)
