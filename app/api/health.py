"""Health: whether the service and its database answer."""

from importlib.metadata import version

from fastapi import APIRouter, Request

from app import presence
from app.api.common import ServiceSettings, database, problems
from app.db import schema_revision
from app.schemas import HealthOut

router = APIRouter(tags=["health"])


@router.get("/health", operation_id="get_health", summary="Ask whether the service is well", responses=problems())
def get_health(request: Request, settings: ServiceSettings) -> HealthOut:
    """Ask whether the service and its database answer, and how many workers live."""
    revision = schema_revision(database(request)) or "none"
    with database(request).readers.begin() as session:
        workers = presence.alive(session, settings)
    return HealthOut(status="ok", version=version("newfound"), schema_=revision, workers=workers)
