"""One document of a job: its text with the words that speak, its probabilities, and what people decide about it."""

import asyncio
import re
from typing import Any

from fastapi import Request, Response

from app.page.api import Api, PublicApi
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
    found, answer, decisions = await asyncio.gather(
        find_document(api, job, key, showing),
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


async def find_document(api: Api, job: dict[str, Any], key: str, showing: dict[str, Any]) -> dict[str, Any]:
    """What the API says of a document. Raises Refused."""
    # Until there is GET /v1/jobs/{id}/documents/{key}: the list, and the corpus for documents with a label.
    at = f"/v1/jobs/{job['id']}/documents"
    listed = await api.get_or_none(at, {**showing, "key": key, "evidence": True})
    listed = listed or await api.get(at, {**showing, "key": key})
    if not listed["documents"]:
        stored = await api.get(f"/v1/corpora/{job['corpus_id']}/documents/{key}")
        nothing = dict.fromkeys(
            ("category", "probability", "known_probability", "runner_up", "reason", "stability", "copy_of", "decision")
        )
        return {
            **nothing, "key": key, "text": stored["text"], "fields": stored["fields"], "erased": False,
            "label": stored["label"], "name": stored["label"], "known": True, "unsure": False, "likely": [],
            "evidence": [], "words": [], "spans": [],
        }  # fmt: skip
    found = listed["documents"][0]
    words = [{**each, "category": found["category"]} for each in found["evidence"] or []]
    index = {each["word"]: n for n, each in enumerate(words)}
    spans = [
        [each.start(), each.end(), index[each[0].casefold()]]
        for each in re.finditer(r"\w+", found["text"])
        if each[0].casefold() in index
    ]
    return {**found, "label": None, "words": words, "spans": spans}
