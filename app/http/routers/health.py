"""Health: whether the process lives, whether the service is ready, and how it is."""

from http import HTTPStatus
from importlib.metadata import version

from fastapi import APIRouter, Request

from app.core.errors import NotReady
from app.http.condition import Health, examine
from app.http.dependencies import ServiceSettings, database, problems
from app.schemas.common import HealthOut

router = APIRouter(tags=["health"])


@router.get("/health", operation_id="get_health", summary="Ask how the service is", responses=problems())
def get_health(request: Request, settings: ServiceSettings) -> HealthOut:
    """Ask how the service is: `ok`, or `degraded` with what is wrong in `faults`. 503 if the database is away."""
    return health_out(examined(request, settings))


@router.get(
    "/readyz", operation_id="get_readiness", summary="Ask whether jobs will be done", responses=problems(NotReady)
)
def get_readiness(request: Request, settings: ServiceSettings) -> HealthOut:
    """Ask whether schema, broker, workers and disk are as they must be for jobs to be done; 503 if one is not."""
    found = examined(request, settings)
    if found.faults:
        errors = [{"where": name, "reason": reason} for name, reason in found.faults.items()]
        raise NotReady("; ".join(found.faults.values()), errors)
    return health_out(found)


@router.get(
    "/livez", operation_id="get_liveness", summary="Ask whether this process lives", status_code=HTTPStatus.NO_CONTENT
)
def get_liveness() -> None:
    """Ask whether this process answers at all: it looks at nothing else, not even the database."""


def examined(request: Request, settings: ServiceSettings) -> Health:
    """How the service is now."""
    return examine(database(request), settings)


def health_out(found: Health) -> HealthOut:
    """Health as HTTP reports it."""
    status = "degraded" if found.faults else "ok"
    return HealthOut(
        status=status, version=version("newfound"), schema_=found.schema, workers=found.workers, faults=found.faults
    )
