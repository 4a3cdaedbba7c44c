"""Results as they are looked at: plots of a job, and a report in one file."""

import hashlib
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any, Literal

from anyio import to_thread
from fastapi import APIRouter, Path, Request, Response

from app.core.errors import JobNotFound, MalformedRequest, ResultsNotReady
from app.http.dependencies import JobId, problems
from app.http.problems import RETRY_SECONDS, ProblemResponse
from app.page.api import Api, PublicApi, Refused
from app.page.figures import posterior_of, read_draws, sizes_of, trace_of, tree_of
from app.page.report import read_report, write_report
from app.plots.style import standalone
from app.plots.svg import Plot

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["results"])

SVG, HTML = "image/svg+xml", "text/html"
EXAMPLES = {
    SVG: '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 258">…</svg>',
    HTML: '<!doctype html><html lang="en">…</html>',
}
# Texts of a corpus are escaped in both; should that ever fail, nothing of them runs.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}

PlotName = Annotated[
    Literal["trace", "posterior", "sizes", "tree"],
    Path(description="What is drawn: the trace also while the job runs.", examples=["posterior"]),
]


def file(kind: str) -> dict[int | str, dict[str, Any]]:
    """The description of a file, for OpenAPI."""
    return {
        200: {"description": "The file.", "content": {kind: {"schema": {"type": "string"}, "example": EXAMPLES[kind]}}}
    }


@router.get(
    "/plots/{name}.svg",
    operation_id="get_plot",
    summary="Draw a plot",
    response_class=Response,
    responses={**problems(JobNotFound, ResultsNotReady, MalformedRequest), **file(SVG)},
)
async def get_plot(request: Request, api: PublicApi, job_id: JobId, name: PlotName) -> Response:
    """Draw the trace, the posterior of the number of new categories, the sizes of categories, or the tree, as SVG."""
    try:
        draw = await PLOTS[name](api, f"/v1/jobs/{job_id}")
    except Refused as refused:
        return refusal(request, refused)
    return sent(await to_thread.run_sync(lambda: standalone(draw())), SVG, f"{name}.svg")


@router.get(
    "/report",
    operation_id="get_report",
    summary="Read the report",
    response_class=Response,
    responses={**problems(JobNotFound, ResultsNotReady), **file(HTML)},
)
async def get_report(request: Request, api: PublicApi, job_id: JobId) -> Response:
    """Read the answer with all plots, categories, examples, diagnostics and settings, as one file of HTML.

    It loads nothing and runs nothing, so it can be kept, printed and sent.
    """
    try:
        read = await read_report(api, job_id)
    except Refused as refused:
        return refusal(request, refused)
    return sent(await to_thread.run_sync(partial(write_report, read)), HTML, f"report-{job_id[:8]}.html")


Draw = Callable[[], Plot]


async def trace(api: Api, job: str) -> Draw:
    """The trace, as far as it is."""
    told = await api.get(job)
    return partial(trace_of, told, await read_draws(api, told))


async def posterior(api: Api, job: str) -> Draw:
    """The posterior of the number of new categories."""
    return partial(posterior_of, await api.get(f"{job}/categories"))


async def sizes(api: Api, job: str) -> Draw:
    """The sizes of the categories."""
    return partial(sizes_of, (await api.get(f"{job}/categories"))["categories"])


async def tree(api: Api, job: str) -> Draw:
    """The tree, which is that of the answer as it was computed."""
    told, answer = await api.get(f"{job}/tree"), await api.get(f"{job}/categories", {"decisions": False})
    return partial(tree_of, told, answer["categories"])


PLOTS: dict[str, Callable[[Api, str], Awaitable[Draw]]] = {
    "trace": trace, "posterior": posterior, "sizes": sizes, "tree": tree
}  # fmt: skip


def sent(content: str, kind: str, name: str) -> Response:
    """A file as an answer, to be shown where a browser asked for it."""
    body = content.encode()
    tag = f'"{hashlib.sha256(body).hexdigest()[:24]}"'
    headers = {**HEADERS, "ETag": tag, "Content-Disposition": f'inline; filename="{name}"'}
    return Response(body, headers=headers, media_type=kind)


def refusal(request: Request, refused: Refused) -> Response:
    """What the API refused, under the address that was asked for."""
    response = ProblemResponse({**refused.problem, "instance": request.url.path}, refused.code)
    if refused.code == 503:
        response.headers["Retry-After"] = RETRY_SECONDS
    return response
