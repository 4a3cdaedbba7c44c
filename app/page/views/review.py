"""The review of a job: one document after the other, what was decided, the categories, and how to continue."""

from fastapi import Request, Response

from app.page.api import PublicApi, at_once
from app.page.decided import all_decisions, in_words, names_of
from app.page.filters import document_address, reference
from app.page.rendering import page_router
from app.page.views.of_job import job_page

router = page_router()

ROWS = 20  # decisions of a page
KEYS = (
    ("a", "accept", "Accept the proposal"),
    ("r", "runner-up", "It is of the runner-up"),
    ("k", "other", "Another category: type its name"),
    ("n", "new", "A category that is not there yet: name it"),
    ("p", "promote", "The proposed category is a known one from now on: name it"),
    ("x", "none", "No category: set the document aside"),
    ("s", "skip", "Skip it"),
    ("u", "undo", "Undo the last decision"),
    ("?", "help", "Show these keys"),
)


@router.get("/jobs/{job_id}/review")
async def review(request: Request, api: PublicApi, job_id: str) -> Response:
    """Everything about the review but the documents, which the browser asks for one after the other."""
    job, answer, decisions = await at_once(
        api.get(f"/v1/jobs/{job_id}"), api.get(f"/v1/jobs/{job_id}/categories"), all_decisions(api, job_id)
    )
    before = request.query_params.get("before", "")
    listed = [each for each in decisions if not before.isdecimal() or each["number"] < int(before)]
    shown = listed[:ROWS]
    names = await names_of(api, job_id, answer["categories"], shown)
    return await job_page(
        request,
        api,
        job_id,
        "review.html",
        "Review",
        job=job,
        categories=answer["categories"],
        decisions=shown,
        n_in_force=sum(each["in_force"] and each["kind"] != "undo" for each in decisions),
        older=shown[-1]["number"] if len(listed) > ROWS else None,
        is_later=len(listed) < len(decisions),
        told=lambda decision: in_words(decision, names),
        address_of=document_address,
        reference=reference,
        keys=KEYS,
    )
