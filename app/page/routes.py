"""The addresses of the page: its views, and the files that they load."""

from fastapi import APIRouter

from app.page.assets import asset, sample
from app.page.views import (
    category,
    category_map,
    chains,
    comparisons,
    corpora,
    document,
    documents,
    home,
    job_form,
    over_time,
    result,
    review,
    scores,
    sign_in,
    tree,
)

router = APIRouter(include_in_schema=False)
router.add_api_route("/static/{digest}/{name:path}", asset)
router.add_api_route("/sample/{name}", sample)
of_answers = (result, category, tree, category_map, over_time, scores, documents, document, review)
for view in (home, sign_in, corpora, job_form, chains, comparisons, *of_answers):
    router.include_router(view.router)
