"""What would become of a job that is not submitted: nothing is stored or queued for it."""

from typing import Any, NamedTuple

from sqlalchemy.orm import Session, sessionmaker

from app.core.kinds import n_units
from app.core.quotas import Live
from app.core.settings import Settings
from app.forecasts.limits import check_room_for
from app.forecasts.pace import expected_paces
from app.forecasts.sizes import Forecast
from app.http.progress import forecast_out, situation
from app.schemas.job_settings import SettingsOut
from app.schemas.jobs import JobDryRun


class Checked(NamedTuple):
    """A job that may be submitted."""

    settings: dict[str, Any]  # in full, as the job would keep them
    expected: Forecast
    warnings: list[str]
    owner: str
    live: Live  # that its owner would have more


def dry_run(checked: Checked, readers: sessionmaker[Session], settings: Settings) -> JobDryRun:
    """The job as it would be. Raises what submitting it would raise: StorageFull, TooManyJobs."""
    with readers.begin() as session:
        check_room_for(session, settings, checked.owner, checked.live, n_units(checked.settings))
        around = situation(session, settings)
    paces = expected_paces(around.shown, checked.settings["model"], checked.expected.job_seconds)
    return JobDryRun(
        forecast=forecast_out(checked.expected, paces, checked.settings, around),
        warnings=checked.warnings,
        settings=SettingsOut.model_validate(checked.settings),
    )
