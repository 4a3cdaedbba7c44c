"""Comparisons of methods: their jobs, one for each method and split, from submit to deletion.

A comparison has no status of its own: it is what its jobs say. Whatever is done to one of them alone, as to cancel,
resume or delete it, shows in the comparison.
"""

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.core import lifecycle
from app.core.errors import ComparisonFinished, ComparisonNotFinished, ComparisonNotFound, JobFinished, JobNotFinished
from app.core.runs import UNFINISHED, Run
from app.core.splits import SPLIT, Split
from app.core.tables import Comparison, Corpus, Job, is_visible_comparison, is_visible_job

SEEDS = 2**63  # those of jobs are below


class Planned(NamedTuple):
    """What a comparison does: the methods, and the splits that each of them works on."""

    methods: list[tuple[str, dict[str, Any]]]  # their names, and the settings of their jobs
    splits: int
    seed: int  # of the first split
    known: list[str]
    labeled_share: float
    n_true: int  # different labels of the corpus

    def split(self, number: int) -> Split:
        """One of the splits; the next ones have the seeds that follow."""
        return Split((self.seed + number) % SEEDS, self.known, self.labeled_share)

    def settings(self, method: Mapping[str, Any], number: int) -> dict[str, Any]:
        """The settings of a method's job on a split."""
        seed = (method["seed"] + number) % SEEDS
        return {**method, "seed": seed, SPLIT: self.split(number)._asdict()}


class Submitted(NamedTuple):
    """A comparison that has been queued."""

    comparison: Comparison
    jobs: list[list[Job]]  # by method and split
    unit_ids: list[int]  # that call for workers


def submit(session: Session, corpus_id: str, name: str | None, planned: Planned) -> Submitted:
    """Queue all jobs of a comparison over the corpus as it is now, split by split. Raises CorpusNotFound."""
    version = lifecycle.lock_corpus(session, corpus_id)
    owner = session.scalars(select(Corpus.owner).where(Corpus.id == corpus_id)).one()
    comparison = Comparison(id=str(uuid.uuid4()), corpus_id=corpus_id, corpus_version=version, name=name, owner=owner)
    jobs: list[list[Job]] = [[] for _ in planned.methods]
    unit_ids: list[int] = []
    for number in range(planned.splits):
        for row, (_, method) in zip(jobs, planned.methods, strict=True):
            settings = planned.settings(method, number)
            job = Job(id=str(uuid.uuid4()), corpus_id=corpus_id, corpus_version=version, settings=settings)
            job.comparison_id, job.warnings = comparison.id, []
            unit_ids += lifecycle.queue(session, job)
            row.append(job)
    # Jobs name their cell by their place here: two methods may be equal.
    comparison.settings = {**planned._asdict(), "jobs": [[job.id for job in row] for row in jobs]}
    session.add(comparison)
    session.flush()
    return Submitted(comparison, jobs, unit_ids)


def planned_of(comparison: Comparison) -> Planned:
    """What a comparison does."""
    found = {name: value for name, value in comparison.settings.items() if name != "jobs"}
    return Planned(**{**found, "methods": [(name, settings) for name, settings in found["methods"]]})


def job_ids_of(comparison: Comparison) -> list[list[str]]:
    """The ids of the jobs of a comparison, by method and split; also of those that have been deleted."""
    return [list(row) for row in comparison.settings["jobs"]]


def find(session: Session, comparison_id: str) -> Comparison:
    """The comparison. Raises ComparisonNotFound, also if its corpus has been deleted."""
    found = session.scalar(select(Comparison).where(Comparison.id == comparison_id, is_visible_comparison()))
    if found is None:
        raise ComparisonNotFound(f"there is no comparison {comparison_id}")
    return found


def jobs_of(session: Session, comparison_id: str) -> Sequence[Job]:
    """The jobs of a comparison that nobody has deleted, in the order of their ids."""
    mine = select(Job).where(Job.comparison_id == comparison_id, is_visible_job()).order_by(Job.id)
    return session.scalars(mine.execution_options(populate_existing=True)).all()


def statuses(session: Session, comparison_ids: Sequence[str]) -> dict[str, Counter[str]]:
    """By comparison, how many of its jobs have each status."""
    found: dict[str, Counter[str]] = {comparison_id: Counter() for comparison_id in comparison_ids}
    mine = (Job.comparison_id.in_(comparison_ids), is_visible_job())
    counted = select(Job.comparison_id, Job.status, func.count()).where(*mine).group_by(Job.comparison_id, Job.status)
    for comparison_id, status, n in session.execute(counted):
        found[str(comparison_id)][status] = n
    return found


def status_of(counts: Mapping[str, int]) -> str:
    """The status of a comparison, by how many jobs have each; cancelled if all of them are deleted."""
    there = {status for status, n in counts.items() if n}
    if not there:
        return "cancelled"
    if there == {"queued"}:
        return "queued"
    if there & {"queued", "running"}:
        return "running"
    return next(status for status in ("paused", "failed", "cancelled", "succeeded") if status in there)


def cancel(session: Session, comparison_id: str) -> Comparison:
    """Cancel the jobs of a comparison that have not ended. Raises ComparisonNotFound, ComparisonFinished."""
    comparison, n_cancelled = find(session, comparison_id), 0
    for job in jobs_of(session, comparison_id):
        if job.status in UNFINISHED:
            try:
                lifecycle.cancel(session, Run(job.id))
                n_cancelled += 1
            except JobFinished:
                continue  # it has ended since it was read
    if not n_cancelled:
        raise ComparisonFinished(f"all jobs of comparison {comparison_id} have already ended")
    return comparison


def delete(session: Session, comparison_id: str) -> None:
    """Delete a comparison with its jobs; their rows are removed later.

    Raises ComparisonNotFound, or ComparisonNotFinished while a job is queued, running or paused, or a side run of one.
    """
    comparison = find(session, comparison_id)
    for job in jobs_of(session, comparison_id):
        try:
            lifecycle.delete(session, job.id)
        except JobNotFinished as error:
            raise ComparisonNotFinished(f"comparison {comparison_id}: {error.detail}") from None
    session.delete(comparison)
