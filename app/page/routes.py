"""The addresses of the page: its views, and the files that they load."""

from fastapi import APIRouter

from app.page.assets import asset, sample
from app.page.views import document, documents, home, review

router = APIRouter(include_in_schema=False)
router.add_api_route("/static/{digest}/{name:path}", asset)
router.add_api_route("/sample/{name}", sample)
for view in (home, documents, document, review):
    router.include_router(view.router)
