"""What may go wrong between a client and the service."""

from collections.abc import Mapping
from typing import Any


class NewfoundError(Exception):
    """Whatever goes wrong with a service."""


class NoAnswer(NewfoundError):
    """The service was not reached, or did not answer as one."""


class Refused(NewfoundError):
    """The service refused a request; `problem` is its answer (RFC 9457)."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__("\n".join([problem["detail"], *reasons(problem)]))
        self.status = status
        self.problem = problem

    @property
    def kind(self) -> str:
        """The kind of problem, such as `no-labels`."""
        return str(self.problem.get("type", "")).rpartition(":")[2]


class JobNotSucceeded(NewfoundError):
    """A job failed or was cancelled, so it has no results; `job` is its last state."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        reason = f": {job['error']}" if job["error"] else ""
        what = "was cancelled" if job["status"] == "cancelled" else job["status"]
        super().__init__(f"the job {what}{reason}")
        self.job = job


def reasons(problem: Mapping[str, Any]) -> list[str]:
    """A line for each part of a request that is at fault, unless the detail says as much."""
    lines = [f"{fault['where']}: {fault['reason']}" for fault in problem.get("errors", [])]
    return [line for line in lines if line not in problem["detail"]]
