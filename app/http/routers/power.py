"""The power test of a job: asked for once it has succeeded, read from then on."""

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Response
from sqlalchemy import select

from app.broker import queue
from app.core import lifecycle
from app.core.errors import JobNotFound, JobNotTestable, JobTooLarge, NoPowerTest, TooManyJobs
from app.core.kinds import UnitKind
from app.core.tables import Encoding, PowerStep, Unit
from app.forecasts.corpus_sizes import sizes_of
from app.forecasts.forecast import forecast
from app.forecasts.limits import check_room, check_size
from app.http.controls import queued
from app.http.dependencies import JobId, Readers, ServiceSettings, Sessions, problems
from app.http.progress import describe
from app.schemas.jobs import JobOut
from app.schemas.power import NOTICED, HiddenOut, PowerTestOut

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["results"])

DONE: dict[int | str, dict[str, Any]] = {
    200: {"model": JobOut, "description": "The test is in progress, or was done before"}
}


@router.post(
    "/power-test",
    operation_id="test_power",
    summary="Begin the power test of a job",
    status_code=HTTPStatus.ACCEPTED,
    responses=DONE | problems(JobNotFound, JobNotTestable, JobTooLarge, TooManyJobs),
)
def test_power(job_id: JobId, sessions: Sessions, settings: ServiceSettings, response: Response) -> JobOut:
    """Begin to hide each known category of a succeeded job in turn, to see whether it is found again.

    The job and its results stay as they are. A test that was cancelled or failed continues; one that is in progress or
    done is returned as it is.
    """
    with sessions.begin() as session:
        job, unit_ids = lifecycle.begin_power_test(session, job_id)
        if unit_ids:
            expected = forecast(sizes_of(session, job), job.settings)
            check_size("the power test", expected.seconds(UnitKind.POWER), expected.peak_bytes, settings)
            check_room(session, settings, job)
        [told] = describe(session, [job], settings)
    if not unit_ids:
        response.status_code = HTTPStatus.OK
        return told
    queue.wake(sessions, unit_ids)
    return queued(told, response)


@router.get(
    "/power-test",
    operation_id="get_power_test",
    summary="Read the power test",
    responses=problems(JobNotFound, NoPowerTest),
)
def get_power_test(job_id: JobId, readers: Readers) -> PowerTestOut:
    """Read how surely each known category is found again when its labels are hidden; also while the test runs."""
    with readers.begin() as session:
        job = lifecycle.find_job(session, job_id)
        if session.scalar(select(Unit.id).where(Unit.job_id == job_id, Unit.kind == UnitKind.POWER)) is None:
            raise NoPowerTest(f"no power test of job {job_id} has been requested; POST to this address requests one")
        steps = session.scalars(select(PowerStep).where(PowerStep.job_id == job_id).order_by(PowerStep.number)).all()
        names = session.get_one(Encoding, job.encoding_id).categories
    return PowerTestOut(categories=[hidden_out(step.number, step.data, names) for step in steps])


def hidden_out(category: int, found: dict[str, Any], names: list[str]) -> HiddenOut:
    """What became of a hidden category as HTTP reports it; the sampler's number of no category is -1."""
    taken_for = found["taken_for"]
    told = {**found, "taken_for": names[taken_for] if taken_for >= 0 else None}
    return HiddenOut(category=category, name=names[category], noticed=found["found"] >= NOTICED, **told)
