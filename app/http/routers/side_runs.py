"""Side runs of a job that has succeeded, an extension or a power test: cancel, pause, resume."""

from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Response

from app.core import lifecycle
from app.core.errors import (
    JobFinished,
    JobNotFound,
    JobNotPausable,
    JobNotResumable,
    SideRunNotFound,
    TooManyJobs,
)
from app.core.kinds import SideKind
from app.core.runs import Run
from app.http.controls import resume, stop
from app.http.dependencies import JobId, ServiceSettings, Sessions, problems
from app.schemas.jobs import JobOut

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["jobs"])

SideRunName = Annotated[
    Literal["extension", "power-test"],
    Path(description="Which side run of a succeeded job.", examples=["power-test"]),
]
SIDES: dict[str, str] = {"extension": SideKind.EXTENSION, "power-test": SideKind.POWER_TEST}


@router.post(
    "/{side_run}/cancel",
    operation_id="cancel_side_run",
    summary="Cancel an extension or a power test",
    responses=problems(JobNotFound, SideRunNotFound, JobFinished),
)
def cancel_side_run(job_id: JobId, side_run: SideRunName, sessions: Sessions, settings: ServiceSettings) -> JobOut:
    """Cancel the side run alone: the job stays succeeded, with its results. Progress is kept, so it can be resumed."""
    return stop(lifecycle.cancel, Run(job_id, SIDES[side_run]), sessions, settings)


@router.post(
    "/{side_run}/pause",
    operation_id="pause_side_run",
    summary="Pause an extension or a power test",
    responses=problems(JobNotFound, SideRunNotFound, JobNotPausable),
)
def pause_side_run(job_id: JobId, side_run: SideRunName, sessions: Sessions, settings: ServiceSettings) -> JobOut:
    """Pause the side run alone, until it is resumed."""
    return stop(lifecycle.pause, Run(job_id, SIDES[side_run]), sessions, settings)


@router.post(
    "/{side_run}/resume",
    operation_id="resume_side_run",
    summary="Resume an extension or a power test",
    status_code=HTTPStatus.ACCEPTED,
    responses=problems(JobNotFound, SideRunNotFound, JobNotResumable, TooManyJobs),
)
def resume_side_run(
    job_id: JobId, side_run: SideRunName, sessions: Sessions, settings: ServiceSettings, response: Response
) -> JobOut:
    """Queue a paused, cancelled or failed side run again; it continues from where it was."""
    return resume(Run(job_id, SIDES[side_run]), sessions, settings, response)
