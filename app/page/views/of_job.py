"""What every view of one job has: the job itself, its corpus, and what it is called."""

from typing import Any

from fastapi import Request, Response

from app.page.api import Api
from app.page.rendering import page


def job_name(job: dict[str, Any]) -> str:
    """What a job is called: the name that it was given, or else the beginning of its id."""
    return job["name"] or f"Job {job['id'][:8]}"


def has_results(job: dict[str, Any]) -> bool:
    """Whether there is an answer to look at: one that is extended keeps the one that it has."""
    return bool(job["status"] == "succeeded")


async def job_page(request: Request, api: Api, job_id: str, template: str, here: str, **values: Any) -> Response:
    """A view of a job, `here` by the name of its tab; the template extends `job.html`. Raises Refused."""
    job = values.pop("job", None) or await api.get(f"/v1/jobs/{job_id}")
    corpus = await api.get(f"/v1/corpora/{job['corpus_id']}")
    return page(
        request, template, job=job, corpus=corpus, here=here, name=job_name(job), has_results=has_results(job), **values
    )  # fmt: skip
