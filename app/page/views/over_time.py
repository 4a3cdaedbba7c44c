"""The categories by a field of the documents: over time if it is a date, by value otherwise, and by source."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from fastapi import Request, Response

from app.page.api import Api, PublicApi, Refused
from app.page.figures import Json, over_time_of
from app.page.rendering import page_router
from app.page.views.of_job import has_results, job_page
from app.page.views.result import to_chains

router = page_router()

SAMPLE = 50  # documents whose fields are looked at
PERIODS = {"none": "each value", "day": "day", "week": "week", "month": "month", "year": "year"}
DAY, MONTH, YEAR = (re.compile(rf"(1[5-9]|20|21)\d\d{rest}") for rest in (r"-\d\d-\d\d.*", r"-\d\d", ""))
MOST_PERIODS = 400  # that are drawn and listed
LARGEST = 3  # categories of a group that are named


class Field(NamedTuple):
    """A field that documents came with, and the period that its values look like."""

    name: str
    period: str


@router.get("/jobs/{job_id}/time")
async def over_time(
    request: Request, api: PublicApi, job_id: str, by: str = "", period: str = "", shares: str = ""
) -> Response:
    """How many documents of each category there are by a field."""
    job = await api.get(f"/v1/jobs/{job_id}")
    if not has_results(job):
        return to_chains(request, job_id)
    sample = await api.get(f"/v1/jobs/{job_id}/documents", {"limit": SAMPLE})
    fields = fields_of(sample["documents"], by)
    field = next((each for each in fields if each.name == by), fields[0] if fields else None)
    period = period if period in PERIODS else field.period if field else "none"
    groups, refused = await grouped(api, job_id, field, period)
    is_too_fine = groups is not None and len(groups["groups"]) > MOST_PERIODS
    if is_too_fine:
        groups = None
    return await job_page(
        request, api, job_id, "over_time.html", "Over time", job=job, fields=fields, by=field and field.name,
        period=period, periods=PERIODS, shares=shares == "true", groups=groups, refused=refused,
        is_too_fine=is_too_fine,
        plot=over_time_of(groups, shares == "true") if groups and period != "none" else None,
        rows=[row_of(group) for group in groups["groups"]] if groups else [],
        sources=await sources_of(api, job),
    )  # fmt: skip


def fields_of(documents: list[Json], by: str) -> list[Field]:
    """The fields of some documents, dates first, then numbers; and the one that is asked for, if they lack it."""
    values: dict[str, list[Any]] = {}
    for document in documents:
        for name, value in document["fields"].items():
            values.setdefault(name, []).append(value)
    if by:
        values.setdefault(by, [])
    found = [Field(name, period_of(own)) for name, own in values.items()]
    return sorted(found, key=lambda each: (each.period == "none", not are_numbers(values[each.name]), each.name))


def period_of(values: list[Any]) -> str:
    """The period that suits values which are dates, `none` for others: most of them must look like one."""
    told = [str(value).strip() for value in values if value not in (None, "")]
    for kind, period in ((DAY, "month"), (MONTH, "month"), (YEAR, "year")):
        if sum(kind.fullmatch(value) is not None for value in told) > len(told) / 2:
            return period
    return "none"


def are_numbers(values: list[Any]) -> bool:
    """Whether values are numbers, all of them."""
    return bool(values) and all(isinstance(value, int | float) for value in values)


async def grouped(api: Api, job_id: str, field: Field | None, period: str) -> tuple[Json | None, str]:
    """The groups by a field, or why the API has none of them."""
    if field is None:
        return None, ""
    try:
        return await api.get(f"/v1/jobs/{job_id}/groups", {"by": field.name, "period": period}), ""
    except Refused as refused:
        if refused.code not in (409, 422):
            raise
        return None, str(refused)


def row_of(group: Mapping[str, Any]) -> Json:
    """A group with what it is called, and its largest categories."""
    called = {"other": "all other values", "missing": "without the field", "unreadable": "not a date"}
    largest = sorted(group["categories"], key=lambda each: -each["documents"])
    with_category = group["known"] + group["new"]
    return {
        **group,
        "called": group["value"] if group["kind"] == "value" else called[group["kind"]],
        "new_share": group["new"] / with_category if with_category else None,
        "largest": largest[:LARGEST],
        "more": len(largest) - LARGEST,
    }


async def sources_of(api: Api, job: Json) -> Json | None:
    """The sources by category, if the job takes sources into account."""
    return await api.get(f"/v1/jobs/{job['id']}/sources") if job["settings"]["source_field"] else None
