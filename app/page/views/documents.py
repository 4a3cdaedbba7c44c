"""The documents of a job: filtered, searched, sorted, page by page."""

from collections.abc import Sequence
from typing import Any

from fastapi import Request, Response

from app.page.api import PublicApi, at_once
from app.page.filters import (
    LONGEST,
    MAX_COLUMNS,
    ORDERS,
    chosen_category,
    document_address,
    filters_of,
    reference,
    sentence,
    shortened,
    value_text,
)
from app.page.rendering import page_router
from app.page.views.of_job import job_page

router = page_router()

ROWS = 50  # of a page
BEGINNING = 180  # characters of a text in the table
VALUE = 60  # characters of a field's value in the table


@router.get("/jobs/{job_id}/documents")
async def documents(request: Request, api: PublicApi, job_id: str) -> Response:
    """The documents that the query asks for, with their categories."""
    filters = filters_of(request.query_params)
    job = await api.get(f"/v1/jobs/{job_id}")
    showing = {name: filters.chosen.get(name) for name in ("categories", "decisions")}
    listed = {**filters.documents(), "sort": filters.sort, "cursor": filters.cursor, "limit": ROWS}
    found, answer = await at_once(
        api.get(f"/v1/jobs/{job_id}/documents", listed), api.get(f"/v1/jobs/{job_id}/categories", showing)
    )
    at = f"{request.app.state.settings.root_path}/jobs/{job['id']}/documents"
    categories = answer["categories"]
    return await job_page(
        request,
        api,
        job_id,
        "documents.html",
        "Documents",
        job=job,
        at=at,
        filters=filters,
        sentence=sentence(filters, categories),
        categories=categories,
        chosen=chosen_category(filters, categories),
        rows=found["documents"],
        following=found["next"],
        fields=field_names(found["documents"], filters.shown),
        orders=ORDERS,
        rows_of_page=ROWS,
        address_of=document_address,
        reference=reference,
        shortened=shortened,
        value_text=value_text,
        longest=LONGEST,
        beginning=BEGINNING,
        longest_value=VALUE,
    )


def field_names(rows: Sequence[dict[str, Any]], shown: Sequence[str]) -> list[str]:
    """The fields that may be columns: those that are, and those that documents of the page have."""
    there = dict.fromkeys([*shown, *(name for row in rows for name in row["fields"])])
    return list(there)[: 2 * MAX_COLUMNS]
