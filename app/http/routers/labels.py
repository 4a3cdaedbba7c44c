"""How good the labels are that a job learned from, and suggestions that become labels."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from fastapi import APIRouter, Request, Response
from sqlalchemy import ColumnElement, Select, and_, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from app.core.errors import (
    BodyTooLarge,
    CorpusNotFound,
    JobNotFound,
    MalformedRequest,
    NotSuggested,
    QuotaExceeded,
    ResultsNotReady,
)
from app.core.quotas import StorageQuota
from app.core.splits import split_of
from app.core.tables import FOREVER, Audit, Category, Document, Job
from app.http.dependencies import MAX_BODY_BYTES, JobId, Readers, ServiceSettings, database, problems
from app.http.files import read_limits
from app.http.pages import PAGE, Cursor, Limit, linked
from app.http.routers.audit import audited_out, of_audit, read_audits
from app.http.routers.results import find_concluded_job
from app.review.decided import categories_of
from app.schemas.labels import (
    MAX_APPLIED,
    AppliedOut,
    LabelOut,
    LabelPage,
    LabelsApplied,
    LabelsIn,
    LeftOut,
    PairIn,
    PairOut,
    PairsOut,
)
from app.uploads import corrections
from app.uploads.corpus_counts import count_labeled
from app.uploads.corrections import GONE, Gone, Relabeling

router = APIRouter(prefix="/v1/jobs/{job_id}/labels", tags=["results"])

KEYS_AT_ONCE = 1_000  # that a statement names


@router.get(
    "",
    operation_id="get_labels",
    summary="Read how good the labels are",
    response_model=LabelPage,
    responses=problems(JobNotFound, ResultsNotReady, MalformedRequest),
)
def get_labels(
    job_id: JobId, readers: Readers, request: Request, cursor: Cursor = None, limit: Limit = PAGE
) -> Response:
    """Read the labeled documents with the quality of each label, the worst first.

    A label is judged by fits that did not see it. Documents without a word are not listed.
    """
    shown, following = read_audits(readers, job_id, cursor, limit)
    labels = [label_out(audit, key, str(label), name) for audit, key, label, name in shown]
    return linked(request, LabelPage(labels=labels, next=following), following)


def label_out(audit: Audit, key: str, label: str, suggested: str | None) -> LabelOut:
    """A label as HTTP reports it."""
    audited = audited_out(audit, key, label, suggested)
    is_doubtful = audited.suggestion is not None
    return LabelOut(
        key=key,
        label=label,
        quality=audit.probability,
        doubtful=is_doubtful,
        reason=audited.reason if is_doubtful else None,
        suggestion=audited.suggestion,
    )


@router.get(
    "/pairs",
    operation_id="get_label_pairs",
    summary="Count the doubtful labels by suggestion",
    responses=problems(JobNotFound, ResultsNotReady),
)
def get_pairs(job_id: JobId, readers: Readers) -> PairsOut:
    """Count the doubtful labels of each pair of label and suggestion, the most frequent pair first."""
    n_documents = func.count()
    with readers.begin() as session:
        job = find_concluded_job(session, job_id)
        mine = (Audit.job_id == job_id, Audit.edition == job.edition)
        counted = (
            select(
                Audit.category,
                Audit.suggested,
                n_documents,
                func.avg(Audit.probability),
                func.avg(Audit.suggested_probability),
            )
            .where(*mine, Audit.suggested.is_not(None))
            .group_by(Audit.category, Audit.suggested)
            .order_by(n_documents.desc(), Audit.category, Audit.suggested)
        )
        rows = session.execute(counted).all()
        n_scored = session.scalar(select(func.count()).where(*mine)) or 0
        categories = {each.category: each for each in categories_of(session, job)}
        n_labeled = count_labeled(session, job.corpus_id, job.corpus_version)
        if split_of(job) is not None:  # the others are hidden from it
            n_labeled = sum(each.n_labeled for each in categories.values())
    pairs = [
        PairOut(
            label=categories[own].name,
            suggested=categories[suggested].name,
            known=categories[suggested].known,
            documents=n,
            mean_quality=quality,
            mean_probability=probability,
        )
        for own, suggested, n, quality, probability in rows
        if own in categories and suggested in categories
    ]
    n_doubtful = sum(pair.documents for pair in pairs)
    return PairsOut(labeled=n_labeled, scored=n_scored, doubtful=n_doubtful, pairs=pairs)


@router.post(
    "/apply",
    operation_id="apply_labels",
    summary="Apply suggested labels",
    responses=problems(
        JobNotFound, CorpusNotFound, ResultsNotReady, NotSuggested, QuotaExceeded, BodyTooLarge, MalformedRequest
    ),
    max_body_size=MAX_BODY_BYTES,
)
def apply_labels(
    job_id: JobId, body: LabelsIn, request: Request, readers: Readers, settings: ServiceSettings
) -> LabelsApplied:
    """Give documents the labels that are suggested for them; the corpus gets a new version, and jobs keep theirs.

    Documents whose label has changed since the job was submitted are left alone, and listed. Of pairs, up to 10,000
    documents are changed at once, those with the most probable suggestions first.
    """
    with readers.begin() as session:
        job = find_concluded_job(session, job_id)
        found = of_keys(session, job, body.keys) if body.keys else of_pairs(session, job, body.pairs)
    chosen, left = choose(found, body)
    chosen.sort(key=lambda suggestion: (-suggestion.probability, suggestion.key))
    relabelings = [Relabeling(each.key, each.label, each.suggested) for each in chosen[:MAX_APPLIED]]
    texts = request.app.state.remembered_texts
    made = corrections.relabel(
        database(request), job.corpus_id, relabelings, read_limits(settings), texts, StorageQuota.of(settings)
    )
    return LabelsApplied(
        applied=[AppliedOut(key=each.key, label=each.label, suggested=each.new_label) for each in made.done],
        left=[*left, *(left_out(key, label) for key, label in made.left.items())],
        remaining=max(len(chosen) - MAX_APPLIED, 0),
        version=made.version,
    )


class Suggestion(NamedTuple):
    """Another label for a document whose label is doubtful, and the label that it has now."""

    key: str
    label: str  # as the job knew it
    suggested: str
    is_known: bool
    probability: float
    is_there: bool
    label_now: str | None


def suggestions(job: Job) -> Select[Any]:
    """All suggestions of a job, in the order of the documents."""
    suggested, current = aliased(Category), aliased(Document)
    is_current = and_(current.corpus_id == job.corpus_id, current.key == Document.key, current.until == FOREVER)
    columns: tuple[ColumnElement[Any] | InstrumentedAttribute[Any], ...] = (
        Document.key,
        Document.label,
        suggested.name,
        suggested.known,
        Audit.suggested_probability,
        current.id.is_not(None),
        current.label,
    )
    return (
        select(*columns)
        .select_from(Audit)
        .join(Document, Document.id == Audit.document_id)
        .join(suggested, of_audit(suggested))
        .outerjoin(current, is_current)
        .where(Audit.job_id == job.id, Audit.edition == job.edition)
        .order_by(Audit.document_id)
    )


def of_keys(session: Session, job: Job, keys: Sequence[str]) -> dict[str, Suggestion | None]:
    """The suggestions for some documents, in the order of their keys; None where there is none."""
    found: dict[str, Suggestion | None] = dict.fromkeys(keys)
    unique = list(found)
    for first in range(0, len(unique), KEYS_AT_ONCE):
        some = suggestions(job).where(Document.key.in_(unique[first : first + KEYS_AT_ONCE]))
        found |= {row[0]: Suggestion(*row) for row in session.execute(some)}
    return found


def of_pairs(session: Session, job: Job, pairs: Sequence[PairIn]) -> dict[str, Suggestion | None]:
    """The suggestions that are of some pairs. Raises NotSuggested."""
    found: dict[str, Suggestion | None] = {}
    wanted = dict.fromkeys((pair.label, pair.suggested) for pair in pairs)
    for row in session.execute(suggestions(job)):
        suggestion = Suggestion(*row)
        pair = (suggestion.label, suggestion.suggested)
        if pair in wanted:
            wanted[pair] = suggestion.is_known
            found[suggestion.key] = suggestion
    for (label, suggested), is_known in wanted.items():
        if is_known is None:
            raise NotSuggested(f"job {job.id} does not suggest {suggested!r} for any document with label {label!r}")
        if not is_known:
            raise NotSuggested(f"{suggested!r} is a new category of job {job.id}, and so no label; PATCH the documents")
    return found


def choose(found: Mapping[str, Suggestion | None], body: LabelsIn) -> tuple[list[Suggestion], list[LeftOut]]:
    """The suggestions that can be applied, and the documents that are left as they are, with the reason.

    What a pair does not mean is not listed: less probable suggestions, and those that were applied before.
    """
    chosen, left = [], []
    for key, suggestion in found.items():
        if suggestion is None:
            left.append(LeftOut(key=key, reason="no-suggestion", label=None))
        elif suggestion.probability < body.min_probability or not suggestion.is_known:
            reason: Literal["less-probable", "new-category"]
            reason = "less-probable" if suggestion.is_known else "new-category"
            left += [LeftOut(key=key, reason=reason, label=None)] if body.keys else []
        elif not suggestion.is_there:
            left.append(left_out(key, GONE))
        elif suggestion.label_now == suggestion.label:
            chosen.append(suggestion)
        elif body.keys or suggestion.label_now != suggestion.suggested:
            left.append(left_out(key, suggestion.label_now))
    return chosen, left


def left_out(key: str, label: str | Gone | None) -> LeftOut:
    """A document that has another label now, or is gone."""
    if isinstance(label, Gone):
        return LeftOut(key=key, reason="deleted", label=None)
    return LeftOut(key=key, reason="changed", label=label)
