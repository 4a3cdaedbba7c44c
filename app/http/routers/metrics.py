"""Metrics, for Prometheus and what else reads its format."""

from typing import Any

from fastapi import APIRouter, Request, Response

from app.observation.metrics import Metrics

router = APIRouter(tags=["operating"])

EXAMPLE = """# HELP newfound_jobs Jobs by status and model.
# TYPE newfound_jobs gauge
newfound_jobs{model="calibrated",status="running"} 2.0
"""
TEXTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The metrics",
        "content": {
            kind: {"schema": {"type": "string"}, "example": EXAMPLE + end}
            for kind, end in (("text/plain", ""), ("application/openmetrics-text", "# EOF\n"))
        },
    }
}


@router.get(
    "/metrics",
    operation_id="get_metrics",
    summary="Get the metrics of the service",
    response_class=Response,
    responses=TEXTS,
)
def get_metrics(request: Request) -> Response:
    """Get the metrics in the text format of Prometheus, or as OpenMetrics to clients that accept it.

    Requests and uploads are those of this API, all else is of the whole service: docs/operations.md lists them.
    """
    metrics: Metrics = request.app.state.metrics
    body, content_type = metrics.exposed(", ".join(request.headers.getlist("accept")))
    return Response(body, media_type=content_type)
