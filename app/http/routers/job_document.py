"""One document of a job: its answer or its label, and what each of its words says."""

from typing import Annotated, NamedTuple

from fastapi import APIRouter, Path, Request, Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.certainty import Thresholds
from app.core.errors import (
    DocumentNotFound,
    JobNotFound,
    MalformedRequest,
    ModelDamaged,
    NoModel,
    ResultsNotReady,
)
from app.core.splits import seen_label
from app.core.tables import MAX_KEY, Answer, Category, Document, Job
from app.frozen.documents import evidence_words
from app.frozen.models import Categorizer, OpenModels, model_of_job
from app.frozen.spoken_words import SpokenWords, spoken_words
from app.http.dependencies import JobId, Readers, open_models, problems
from app.http.long_answers import written
from app.http.routers.answers import AnswerRow, document_out, read_rows, texts_of
from app.http.routers.results import find_concluded_job
from app.http.shown import Showing
from app.review.documents import ids_of
from app.review.shown import Shown
from app.schemas.common import Storable
from app.schemas.job_document import JobDocumentOut, SpokenWordOut
from app.schemas.results import DocumentOut, EvidenceWord

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["results"])

DocumentKey = Annotated[
    Storable,
    Path(max_length=MAX_KEY, description="Key of the document; a slash in it may stay.", examples=["paper-812"]),
]
NOTHING_SPOKEN = SpokenWords([], [])


class Found(NamedTuple):
    """A document of a job as it is reported, but for its words."""

    told: DocumentOut
    label: str | None
    shown_as: dict[int, int]  # the categories that its words are compared for, each as it is shown


@router.get(
    "/documents/{key:path}",
    operation_id="get_document",
    summary="Read a document of a job",
    response_model=JobDocumentOut,
    responses=problems(JobNotFound, DocumentNotFound, ResultsNotReady, ModelDamaged, MalformedRequest),
)
def get_document(job_id: JobId, key: DocumentKey, readers: Readers, request: Request, showing: Showing) -> Response:
    """Read one document as the job saw it, with its answer or its label and with what each of its words says.

    A document whose key is `export` is in the list, `GET /v1/jobs/{id}/documents?key=export`.
    """
    with readers.begin() as session:
        job = find_concluded_job(session, job_id)
        document_id = None if "\0" in key else ids_of(session, job, [key]).get(key)
        if document_id is None:
            raise DocumentNotFound(f"job {job_id} has no document {key[:100]!r}")
        shown, model = showing.show(session, job), model_if_any(session, job, open_models(request))
        rows = read_rows(session, job, [document_id])
        if rows:
            text, is_counts = texts_of(session, [document_id])[document_id], rows[0].is_counts
            found = answered(rows[0], shown, text, model)
        else:
            document = session.get_one(Document, document_id)
            text, is_counts = document.text, document.is_counts
            found = labeled(document, label_of(session, job, document_id), shown, model)
    spoken = None if model is None else NOTHING_SPOKEN if is_counts else spoken_words(model, text, found.shown_as)
    return written(
        JobDocumentOut(
            **found.told.model_dump(),
            label=found.label,
            words=None if spoken is None else [SpokenWordOut(**each._asdict()) for each in spoken.words],
            spans=None if spoken is None else spoken.spans,
        )
    )


def model_if_any(session: Session, job: Job, models: OpenModels) -> Categorizer | None:
    """The job's model, ready to answer; None if it has none. Raises ModelDamaged."""
    try:
        return models.get(session, model_of_job(session, job))
    except NoModel:
        return None


def answered(row: AnswerRow, shown: Shown, text: str, model: Categorizer | None) -> Found:
    """A document that the job answered."""
    told = document_out(row, shown, Thresholds(), text, model)
    return Found(told, None, {} if told.category is None else likely_ones(row.answer, shown))


def likely_ones(answer: Answer, shown: Shown) -> dict[int, int]:
    """The categories that an answer names, each as it is shown; those that nothing is shown for are left out."""
    named = [answer.category, answer.runner_up, *(category for category, _ in answer.others or [])]
    rows = {each: shown.other(each) for each in named if each is not None}
    if answer.category is not None and shown.said(answer.document_id, answer) is None:
        rows[answer.category] = shown.of_document(answer.document_id, answer)  # it may be a part of a split one
    return {each: row.category for each, row in rows.items() if row is not None}


def label_of(session: Session, job: Job, document_id: int) -> str | None:
    """The label of a document as the job saw it."""
    found = session.scalar(select(seen_label(job)).where(Document.id == document_id))
    return None if found is None else str(found)


def labeled(document: Document, label: str | None, shown: Shown, model: Categorizer | None) -> Found:
    """A document that the job learned from: of the category of its label, unless somebody decided otherwise."""
    said = shown.said(document.id, Answer(document_id=document.id))
    category = category_of_label(shown, label) if said is None else said.category
    shown_as = {} if category is None else shown_as_one(shown, category)
    evidence = None
    if model is not None:
        first = next(iter(shown_as), None)
        pairs = [] if first is None else evidence_words(model, document.text, document.is_counts, first, None)
        evidence = [EvidenceWord(word=word, weight=weight) for word, weight in pairs]
    told = DocumentOut(
        key=document.key,
        text=document.text,
        fields=document.fields or {},
        erased=document.erased,
        category=None if category is None else category.category,
        name=None if category is None else category.name,
        known=None if category is None else category.known,
        probability=None if said is None else said.probability,
        known_probability=None if said is None else said.known_probability,
        category_probability=None,
        unsure=False,
        runner_up=None,
        likely=[],
        evidence=evidence,
        reason=None if said is None else said.reason,
        stability=None,
        copy_of=None,
        decision=None if said is None else said.decision,
    )
    return Found(told, label, shown_as)


def category_of_label(shown: Shown, label: str | None) -> Category | None:
    """What has the documents of the known category that a label names."""
    return next((shown.other(own.category) for own in shown.own if own.known and own.name == label), None)


def shown_as_one(shown: Shown, category: Category) -> dict[int, int]:
    """The answer's categories that are shown as one, with its index."""
    rows = {own.category: shown.other(own.category) for own in shown.own}
    return {each: row.category for each, row in rows.items() if row is not None and row.category == category.category}
