"""Comparisons of methods: what is planned and checked before one is queued, and what is reported of one."""

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.core import lifecycle, method_comparisons
from app.core.document_vectors import with_vectors
from app.core.errors import LabelsNotSplittable, NoLabels, TooManyJobs
from app.core.kinds import UnitKind, numbers_of
from app.core.method_comparisons import Planned, job_ids_of, planned_of, status_of
from app.core.quotas import check_live
from app.core.settings import Settings
from app.core.tables import Comparison, Job, Unit
from app.forecasts.corpus_sample import Sample, check_usable, read_sample
from app.forecasts.corpus_sizes import expected_sizes
from app.forecasts.forecast import forecast
from app.forecasts.limits import check_disk, check_size, live_jobs, live_units, note_tokens
from app.http.dependencies import address
from app.http.source_tables import check_source_field
from app.schemas.method_comparisons import (
    ComparisonBasics,
    ComparisonLinks,
    Estimate,
    MethodComparisonIn,
    MethodComparisonOut,
    MethodRow,
    SplitCell,
)
from app.scores.of_methods import KnownWorth, estimate
from app.uploads.corpus_counts import count_labels

MIN_CATEGORIES, MIN_DOCUMENTS = 2, 2  # so many categories with so many documents each: one to see, one to be scored
COMMON = UnitKind.ENCODE  # what the methods of a split share
WORTH = KnownWorth()
SCORES = ("nmi", "ari", "mean_f1", "categories", "seconds")


def plan(session: Session, body: MethodComparisonIn, version: int, settings: Settings) -> Planned:
    """What a comparison will do, by the labels that a version of the corpus has, the one of now.

    Raises NoLabels, LabelsNotSplittable.
    """
    counts = dict(count_labels(session, body.corpus_id))
    if not counts:
        raise NoLabels(f"no document of corpus {body.corpus_id} has a label, so no method can be scored: upload labels")
    large = [name for name, n in counts.items() if n >= MIN_DOCUMENTS]
    if len(large) < MIN_CATEGORIES:
        raise LabelsNotSplittable(
            f"corpus {body.corpus_id} has {len(large)} categories with at least {MIN_DOCUMENTS} labeled documents, and "
            f"a comparison takes {MIN_CATEGORIES}"
        )
    known = sorted(set(body.known)) if body.known is not None else largest_half(counts)
    if missing := [name for name in known if name not in counts]:
        raise LabelsNotSplittable(
            f"no document of corpus {body.corpus_id} has the label {missing[0]!r}, which `known` names; there are "
            + ", ".join(map(repr, list(counts)[:20]))
        )
    methods = []
    for method in body.methods:
        chosen = method.settings(len(counts))
        chosen = with_vectors(session, body.corpus_id, version, chosen, method.vectors, settings)
        methods.append((str(method.name), chosen))
    for name, chosen in methods:
        if any(number < len(known) for number in numbers_of(chosen)):
            raise LabelsNotSplittable(
                f"the method {name!r} is told {min(numbers_of(chosen))} categories, but {len(known)} are known"
            )
    return Planned(methods, body.splits, body.seed, known, body.labeled_share, len(counts))


def largest_half(counts: Mapping[str, int]) -> list[str]:
    """Half of the categories, rounded down, by falling size and then by name; in the order of their names."""
    ordered = sorted(counts, key=lambda name: (-counts[name], name))
    return sorted(ordered[: len(ordered) // 2])


def check_methods(session: Session, body: MethodComparisonIn, planned: Planned, settings: Settings) -> None:
    """Raise NothingToCategorize, NoSourceField or JobTooLarge for a method whose jobs could not be run one by one."""
    version = lifecycle.find_corpus(session, body.corpus_id).version
    sample = without_labels(read_sample(session, body.corpus_id))
    for asked, (name, method) in zip(body.methods, planned.methods, strict=True):
        check_usable(session, body.corpus_id, sample, asked.text.options())
        if asked.source_field is not None:
            check_source_field(session, body.corpus_id, asked.source_field)
        sizes = expected_sizes(session, body.corpus_id, version, method["text"], sample)
        expected = forecast(sizes._replace(n_known=len(planned.known)), method)
        check_size(f"a job of the method {name!r}", expected.job_seconds, expected.peak_bytes, settings)


def without_labels(sample: Sample) -> Sample:
    """The sample as methods see it: most labels are hidden from them, so any document may be one to be answered."""
    return sample._replace(documents=[document._replace(label=None) for document in sample.documents])


def check_room(session: Session, settings: Settings, jobs: Sequence[Job]) -> None:
    """Raise StorageFull, or TooManyJobs if more is live with these jobs, which have been queued, than may be."""
    check_disk(settings)
    for job in jobs:
        note_tokens(session, job)
    check_live(session, jobs[0].owner, settings)
    n_jobs = len(jobs)
    n_live = live_jobs(session)
    if n_live > settings.max_live_jobs:
        raise TooManyJobs(
            f"the comparison is {n_jobs:,} jobs, {n_live - n_jobs:,} are queued or running, and NEWFOUND_MAX_LIVE_JOBS "
            f"allows {settings.max_live_jobs:,}: try again when some have ended, or compare fewer methods or splits"
        )
    n_units = live_units(session, settings.max_live_units)
    if n_units > settings.max_live_units:
        raise TooManyJobs(
            f"with this comparison {n_units:,} units of work would be queued or running, and NEWFOUND_MAX_LIVE_UNITS "
            f"allows {settings.max_live_units:,}: try again later, or compare fewer methods, splits or chains"
        )


def basics(comparison: Comparison, counts: Mapping[str, int], settings: Settings) -> ComparisonBasics:
    """A comparison in short."""
    planned = planned_of(comparison)
    base = address(settings, f"/v1/comparisons/{comparison.id}")
    return ComparisonBasics.model_validate(
        {
            "id": comparison.id,
            "corpus_id": comparison.corpus_id,
            "corpus_version": comparison.corpus_version,
            "name": comparison.name,
            "status": status_of(counts),
            "owner": comparison.owner,
            "created_at": comparison.created_at,
            "methods": [name for name, _ in planned.methods],
            "splits": planned.splits,
            "jobs": dict(sorted(counts.items())),
            "links": ComparisonLinks(self=base, table=f"{base}/table"),
        }
    )


def describe(session: Session, comparison: Comparison, settings: Settings) -> MethodComparisonOut:
    """A comparison with its table."""
    planned = planned_of(comparison)
    jobs = {job.id: job for job in method_comparisons.jobs_of(session, comparison.id)}
    counts = Counter(job.status for job in jobs.values())
    seconds = seconds_of(session, comparison.id)
    return MethodComparisonOut(
        **dict(basics(comparison, counts, settings)),
        seed=planned.seed,
        known=planned.known,
        labeled_share=planned.labeled_share,
        categories=planned.n_true,
        table=[
            row_of(session, name, method["model"], [jobs.get(job_id) for job_id in job_ids], seconds)
            for (name, method), job_ids in zip(planned.methods, job_ids_of(comparison), strict=True)
        ],
    )


def seconds_of(session: Session, comparison_id: str) -> dict[str, float]:
    """By job, the seconds that its units have worked, but for what the methods of a split share."""
    mine = (Job.comparison_id == comparison_id, Unit.kind.not_in((COMMON, UnitKind.POWER)))
    query = select(Unit.job_id, func.sum(Unit.seconds)).join(Job, Job.id == Unit.job_id).where(*mine)
    return {job_id: float(seconds) for job_id, seconds in session.execute(query.group_by(Unit.job_id))}


def row_of(
    session: Session, name: str, model: str, jobs: Sequence[Job | None], seconds: Mapping[str, float]
) -> MethodRow:
    """A method's row of the table."""
    cells = [cell_of(session, number, job, seconds) for number, job in enumerate(jobs)]
    means = {score: estimate(getattr(cell, score) for cell in cells) for score in SCORES}
    return MethodRow.model_validate({"method": name, "model": model, **means, "cells": cells})


def cell_of(session: Session, split: int, job: Job | None, seconds: Mapping[str, float]) -> SplitCell:
    """A job of the comparison; its scores once it has succeeded."""
    if job is None:
        nothing = dict.fromkeys(SplitCell.model_fields)
        return SplitCell.model_validate({**nothing, "split": split})
    worth = WORTH.of(session, job) if job.status == "succeeded" and job.edition else None
    return SplitCell.model_validate(
        {
            "split": split,
            "job": job.id,
            "status": job.status,
            "nmi": worth and worth.nmi,
            "ari": worth and worth.ari,
            "mean_f1": worth and worth.mean_f1,
            "categories": worth and worth.n_categories,
            "seconds": worth and seconds.get(job.id),
            "documents": worth and worth.n_scored,
            "without_answer": worth and worth.n_without_answer,
        }
    )


def csv_table(table: Sequence[MethodRow]) -> str:
    """The table as CSV: mean, standard error and number of splits of each score."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["method", "model", *(f"{score}{part}" for score in SCORES for part in ("", "_se", "_n"))])
    for row in table:
        found = [getattr(row, score) for score in SCORES]
        writer.writerow(
            [row.method, row.model, *(v for each in found for v in (each.mean, each.standard_error, each.n))]
        )
    return file.getvalue()


def markdown_table(table: Sequence[MethodRow]) -> str:
    """The table as Markdown: means with their standard errors."""
    heads = ("method", "NMI", "ARI", "mean F1", "categories", "seconds", "splits")
    lines = [heads, ("---", *["---:"] * (len(heads) - 1))]
    lines += [(escaped(row.method), *(shown(getattr(row, score)) for score in SCORES), str(row.nmi.n)) for row in table]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def escaped(name: str) -> str:
    """A name as the cell of a table in Markdown."""
    return " ".join(name.split()).replace("\\", "\\\\").replace("|", "\\|")


def shown(value: Estimate) -> str:
    """A mean with its standard error, as people read it."""
    if value.mean is None:
        return "-"
    return f"{value.mean:.3f}" + ("" if value.standard_error is None else f" ± {value.standard_error:.3f}")
