"""One document of a job: its text with the words that speak, its probabilities, and what people decide about it."""

from fastapi import Request, Response

from app.page.api import PublicApi, at_once
from app.page.decided import about, all_decisions, in_words, names_of
from app.page.filters import document_address, reference, value_text
from app.page.rendering import page_router
from app.page.tints import pieces, speaking, tint_of
from app.page.views.of_job import job_page

router = page_router()


@router.get("/jobs/{job_id}/documents/{key:path}")
async def document(request: Request, api: PublicApi, job_id: str, key: str) -> Response:
    """The document with this key."""
    job = await api.get(f"/v1/jobs/{job_id}")
    showing = {name: request.query_params.get(name) for name in ("categories", "decisions")}
    found, answer, decisions = await at_once(
        api.get(f"/v1/jobs/{job_id}/documents/{key}", showing),
        api.get(f"/v1/jobs/{job_id}/categories", showing),
        all_decisions(api, job_id),
    )
    history = about(decisions, key)
    names = await names_of(api, job_id, answer["categories"], history)
    by_index = {each["category"]: each for each in answer["categories"]}
    called = {category: each["name"] for category, each in by_index.items()}
    return await job_page(
        request,
        api,
        job_id,
        "document.html",
        "Documents",
        job=job,
        at=f"{request.app.state.settings.root_path}/jobs/{job['id']}/documents",
        document=found,
        pieces=list(pieces(found, called)),
        speaking=speaking(found, called),
        tints=tint_of(found),
        categories=answer["categories"],
        by_index=by_index,
        history=history,
        told=lambda decision: in_words(decision, names),
        address_of=document_address,
        reference=reference,
        value_text=value_text,
    )
