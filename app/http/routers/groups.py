"""A job's categories by group and over time."""

import csv
import io
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response

from app.core import lifecycle
from app.core.decisions import n_decisions
from app.core.errors import JobNotFound, MalformedRequest, ResultsNotReady
from app.http.dependencies import JobId, Readers, problems
from app.http.grouping import count_groups
from app.http.long_answers import written
from app.http.remembered_groups import Counted, RememberedGroups
from app.http.routers.results import find_concluded_job
from app.http.shown import Wanted
from app.review.events import tag_of
from app.schemas.groups import GroupsOut, Period

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["results"])

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with these a cell begins that a spreadsheet would compute
COLUMNS = ("kind", "value", "category", "name", "known", "documents", "share")
CSV_EXAMPLE = "kind,value,category,name,known,documents,share\r\nvalue,2024-03,0,astronomy,true,150,0.75\r\n"
CSV: dict[str, Any] = {"text/csv": {"schema": {"type": "string"}, "example": CSV_EXAMPLE}}


@router.get(
    "/groups",
    operation_id="get_groups",
    summary="Count the categories by a field or a period",
    response_model=GroupsOut,
    responses={**problems(JobNotFound, ResultsNotReady, MalformedRequest), 200: {"content": CSV}},
)
def get_groups(
    job_id: JobId,
    request: Request,
    readers: Readers,
    by: Annotated[
        str, Query(min_length=1, max_length=200, description="The field that documents came with.", examples=["year"])
    ],
    period: Annotated[
        Period, Query(description="Take the field for a date, and group by its day, week, month or year.")
    ] = "none",
    labeled: Annotated[
        bool, Query(description="Count labeled documents, too, in the categories that their labels name.")
    ] = False,
    decisions: Annotated[bool, Query(description="With what people have decided, which `false` leaves out.")] = True,
    format: Annotated[
        Literal["json", "csv"], Query(description="`csv`: a row for each category of each group.")
    ] = "json",
) -> Response:
    """Count how many documents of each category have each value of a field, or a date of each period.

    Values are texts, the 100 most frequent ones; numbers are written as in JSON. Dates are ISO 8601, those of mails, or
    seconds since 1970; their day is the one that is written, whatever the time zone.
    """
    if "\0" in by:
        reason = "a name contains no NUL character"
        raise MalformedRequest(f"the query cannot be used: {reason}", [{"where": "query.by", "reason": reason}])
    remembered: RememberedGroups = request.app.state.remembered_groups
    with readers.begin() as session:
        job = find_concluded_job(session, job_id)
        tag, version = tag_of(job, n_decisions(session, job_id)), lifecycle.find_corpus(session, job.corpus_id).version
        counted = Counted(job_id, tag, version, by, period, labeled, decisions)
        if format == "json" and (body := remembered.get(counted)) is not None:
            return Response(body, media_type="application/json")
        shown = Wanted(None, decisions).show(session, job)
        found = count_groups(session, job, shown, by, period, labeled=labeled)
    told = GroupsOut(by=by, period=period, documents=sum(group.documents for group in found), groups=found)
    if format == "csv":
        return Response(as_csv(told), media_type="text/csv")
    response = written(told)
    remembered.keep(counted, bytes(response.body))
    return response


def as_csv(groups: GroupsOut) -> str:
    """A row for each category of each group; documents without a category have a row of their own."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    for group in groups.groups:
        beginning = (group.kind, safe(group.value or ""))
        for each in group.categories:
            known = "true" if each["known"] else "false"
            writer.writerow([*beginning, each["category"], safe(each["name"]), known, each["documents"], each["share"]])
        if group.without_category:
            writer.writerow([*beginning, "", "", "", group.without_category, ""])
    return file.getvalue()


def safe(text: str) -> str:
    """A text as a cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text
