"""Health: whether the process lives, whether the service is ready, and how it is."""

from http import HTTPStatus
from importlib.metadata import version

from fastapi import APIRouter, Request

from app.core.errors import NotReady
from app.http.condition import Health, examine
from app.http.dependencies import ServiceSettings, database, problems
from app.schemas.common import HealthOut

router = APIRouter(tags=["health"])


@router.get("/health", operation_id="get_health", summary="Get the health of the service", responses=problems())
def get_health(request: Request, settings: ServiceSettings) -> HealthOut:
    """Get the health of the service: `ok`, or `degraded` with what is wrong in `faults`. 503 without a database."""
    return health_out(examined(request, settings))


@router.get("/readyz", operation_id="get_readiness", summary="Check readiness", responses=problems(NotReady))
def get_readiness(request: Request, settings: ServiceSettings) -> HealthOut:
    """Check whether schema, broker, workers and disk are in the state that jobs need; 503 if one is not."""
    found = examined(request, settings)
    if found.faults:
        errors = [{"where": name, "reason": reason} for name, reason in found.faults.items()]
        raise NotReady("; ".join(found.faults.values()), errors)
    return health_out(found)


@router.get("/livez", operation_id="get_liveness", summary="Check liveness", status_code=HTTPStatus.NO_CONTENT)
def get_liveness() -> None:
    """Check whether this process answers at all: nothing else is looked at, not even the database."""


def examined(request: Request, settings: ServiceSettings) -> Health:
    """How the service is now."""
    return examine(database(request), settings)


def health_out(found: Health) -> HealthOut:
    """Health as HTTP reports it."""
    status = "degraded" if found.faults else "ok"
    return HealthOut(
        status=status,
        version=version("newfound"),
        schema_=found.schema,
        workers=found.workers,
        embedding_model=found.embedding_model,
        faults=found.faults,
    )
