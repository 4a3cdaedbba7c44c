"""Health: whether the service and its database answer."""

from importlib.metadata import version

from fastapi import APIRouter, Request

from app.api.common import database, problems
from app.db import schema_revision
from app.job_schemas import HealthOut

router = APIRouter(tags=["health"])


@router.get("/health", operation_id="get_health", summary="Ask whether the service is well", responses=problems())
def get_health(request: Request) -> HealthOut:
    """Ask whether the service and its database answer."""
    return HealthOut(status="ok", version=version("newfound"), schema_=schema_revision(database(request)) or "none")
