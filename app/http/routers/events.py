"""Events: the progress of a job as it comes, without polling."""

from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from app.access.callers import KnownKeys
from app.core.db import AWAY
from app.core.errors import JobNotFound, MalformedRequest, TooManyListeners
from app.http.access import key_of
from app.http.dependencies import JobId, problems
from app.http.event_places import lacking, place_of
from app.http.event_streams import HEADERS, EventStream, EventStreams
from app.http.front_door import HEAD

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["jobs"])

EXAMPLE = """\
retry: 2000

event: draws
data: [{"chain":0,"sweep":161,"n_categories":11,"n_new":5,"n_new_with_documents":5,"log_joint":-1041.5}]
id: W1tbMCwxNjFdXSwiIixmYWxzZV0

event: progress
data: {"id":"b9a1d7c2-1f6e-4a38-8f0b-6f2f4f1f7e15","status":"succeeded","progress":{"fraction":1.0}}
id: W1tbMCwxNjFdXSwiOWYxYyIsZmFsc2Vd

event: end
data: {"status":"succeeded","error":null}
id: W1tbMCwxNjFdXSwiOWYxYyIsdHJ1ZV0

"""
# Of each event, as OpenAPI has it.
SCHEMA = {
    "type": "object",
    "properties": {
        "event": {"type": "string", "enum": ["progress", "draws", "end", "bye"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
        "id": {"type": "string", "description": "Opaque; for `Last-Event-ID`."},
        "retry": {"type": "integer", "minimum": 0},
    },
}
ANSWERS: dict[int | str, dict[str, Any]] = {
    HTTPStatus.OK.value: {
        "description": "Server-sent events. `progress`: the job, as `GET /v1/jobs/{job_id}` has it, whenever it has "
        "changed. `draws`: draws that are new, as the trace has them, up to 1,000 a message. `end`: the job, and its "
        "extension and power test if any, have ended: `status` (`deleted` if the job is gone) and `error`. `bye`: the "
        "service is about to end, or the key is no longer good; come again. Comments keep the connection open.",
        "content": {EventStream.media_type: {"schema": SCHEMA, "example": EXAMPLE}},
    },
    HTTPStatus.NO_CONTENT.value: {"description": "The client has seen the end, so an EventSource does not come again."},
}


@router.get(
    "/events",
    operation_id="get_job_events",
    summary="Listen to a job",
    status_code=HTTPStatus.OK,
    response_class=EventStream,
    responses={**problems(JobNotFound, TooManyListeners, MalformedRequest), **ANSWERS},
)
async def get_job_events(
    job_id: JobId,
    request: Request,
    draws: Annotated[bool, Query(description="Whether to send draws, from the first one on.")] = True,
    last_event_id: Annotated[
        str | None, Header(description="The id of the last event that the client has seen: it is sent what followed.")
    ] = None,
) -> Response:
    """Listen to a job: its progress and its draws as they come, until it has ended.

    A client that was cut off sends the id of the last event it has seen, as an EventSource does by itself; then no draw
    is missed, and none is sent twice.
    """
    streams, place = event_streams(request), place_of(last_event_id)
    look = await streams.look(job_id)
    if HEAD in request.scope.get("extensions", {}):
        return Response(headers=HEADERS, media_type=EventStream.media_type)
    if place.is_end and look.end is not None and not (draws and lacking(place.sweeps, look.sweeps)):
        return Response(status_code=HTTPStatus.NO_CONTENT)
    streams.check_room()
    return EventStream(streams, job_id, look, place, draws, partial(is_let_in, request))


async def is_let_in(request: Request) -> bool:
    """Whether a request that was let in would still be: its key may have been revoked, or have expired, since."""
    keys: KnownKeys = request.app.state.known_keys
    try:
        return await run_in_threadpool(keys.find, key_of(request.headers)) is not None
    except AWAY:
        return True


def event_streams(request: Request) -> EventStreams:
    """The streams of the application."""
    found: EventStreams = request.app.state.event_streams
    return found
