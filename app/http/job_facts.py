"""The name, the tags and the note of jobs in the database: written, read for many at once, and searched."""

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.orm import Session

from app.core.db import is_among
from app.core.tables import Job, JobTag
from app.schemas.job_facts import JobFacts, folded

TAGS = (
    select(JobTag.job_id, JobTag.tag).where(is_among(JobTag.job_id, "job_ids")).order_by(JobTag.job_id, JobTag.number)
)


def write_facts(session: Session, job: Job, facts: JobFacts) -> None:
    """Give a job the name, the tags and the note that a request names; what it does not name stays."""
    given = facts.model_fields_set
    if "name" in given:
        job.name, job.name_folded = facts.name, None if facts.name is None else folded(facts.name)
    if "note" in given:
        job.note = facts.note
    if "tags" in given:
        session.execute(delete(JobTag).where(JobTag.job_id == job.id))
        session.add_all(
            JobTag(job_id=job.id, number=number, tag=tag, folded=folded(tag)) for number, tag in enumerate(facts.tags)
        )
    session.flush()


def tags_of(session: Session, job_ids: Sequence[str]) -> dict[str, list[str]]:
    """The tags of jobs by their ids, in the order in which they were given."""
    found: dict[str, list[str]] = defaultdict(list)
    for job_id, tag in session.execute(TAGS, {"job_ids": job_ids}):
        found[job_id].append(tag)
    return found


def fact_conditions(name: str | None, tags: Sequence[str]) -> list[ColumnElement[bool]]:
    """The conditions of jobs whose name contains a text and that have all of these tags, in any case of letters."""
    conditions: list[ColumnElement[bool]] = [
        select(JobTag.job_id).where(JobTag.folded == folded(tag), JobTag.job_id == Job.id).exists() for tag in tags
    ]
    return conditions if name is None else [Job.name_folded.contains(folded(name), autoescape=True), *conditions]
