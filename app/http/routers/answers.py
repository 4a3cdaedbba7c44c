"""Answers: the category of each unlabeled document, with its text, and which of them a person should see."""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy import func, select
from sqlalchemy.orm import Session, aliased

from app.core.certainty import Thresholds, category_probability
from app.core.errors import JobNotFound, MalformedRequest, ModelDamaged, NoModel, ResultsNotReady
from app.core.tables import Answer, Category, Document, Job
from app.frozen.documents import evidence_words
from app.frozen.models import Categorizer, model_of_job
from app.http.answer_filters import AskedAnswers
from app.http.answer_orders import SortBy, cursor_at, place_after, place_of
from app.http.answer_pages import Asked, is_answered, read_places
from app.http.dependencies import JobId, Readers, open_models, problems
from app.http.pages import PAGE, Cursor, Limit, fitting, linked
from app.http.routers.results import find_concluded_job
from app.http.searches import indexing
from app.http.shown import Showing
from app.review.shown import Said, Shown
from app.schemas.results import DocumentOut, DocumentPage, EvidenceWord, LikelyCategory, RunnerUp

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["results"])


class AnswerRow(NamedTuple):
    """An answer with what is told beside it."""

    answer: Answer
    key: str
    fields: dict[str, Any] | None
    erased: bool
    n_characters: int
    is_counts: bool
    original: str | None


@router.get(
    "/documents",
    operation_id="get_documents",
    summary="Read the documents' categories",
    response_model=DocumentPage,
    responses=problems(JobNotFound, ResultsNotReady, NoModel, ModelDamaged, MalformedRequest),
)
def get_documents(
    job_id: JobId,
    readers: Readers,
    request: Request,
    filters: AskedAnswers,
    showing: Showing,
    evidence: Annotated[
        bool, Query(description="With the words that speak for each category; a page takes a little longer.")
    ] = False,
    sort: SortBy = None,
    cursor: Cursor = None,
    limit: Limit = PAGE,
) -> Response:
    """Read the category of each unlabeled document.

    A page is shorter than its limit where texts are long, and where many documents had to be read to find those that
    are wanted; it may be empty then. The list ends with the page whose `next` is null.
    """
    asked = Asked(filters, sort, place_after(cursor, sort), limit + 1)
    with readers.begin() as session:
        job = find_concluded_job(session, job_id)
        shown_of_job = showing.show(session, job)
        walked = read_places(session, job, shown_of_job, asked, indexing(request).wake)
        rows = read_rows(session, job, [place.key[-1] for place in walked.places if place.key is not None])
        shown = rows[: fitting([row.n_characters for row in rows], limit)]
        texts = texts_of(session, [row.answer.document_id for row in shown])
        model = open_models(request).get(session, model_of_job(session, job)) if evidence else None
    following = walked.following
    if shown and len(shown) < len(rows):
        last = shown[-1].answer
        following = place_of(sort, last.probability, last.document_id)
    documents = [
        document_out(row, shown_of_job, filters.thresholds, texts.get(row.answer.document_id, ""), model)
        for row in shown
    ]
    next_ = None if following is None else cursor_at(sort, following)
    return linked(request, DocumentPage(documents=documents, next=next_), next_)


def read_rows(session: Session, job: Job, document_ids: Sequence[int]) -> list[AnswerRow]:
    """The answers for some documents, in their order."""
    original = aliased(Document)
    columns = (Document.key, Document.fields, Document.erased, func.length(Document.text), Document.is_counts)
    query = (
        select(Answer, *columns, original.key)
        .join(Document, Document.id == Answer.document_id)
        .outerjoin(original, original.id == Answer.copy_of)
        .where(*is_answered(job, document_ids))
    )
    rows = {row[0].document_id: AnswerRow(*row) for row in session.execute(query)}
    return [rows[document_id] for document_id in document_ids if document_id in rows]


def texts_of(session: Session, document_ids: list[int]) -> dict[int, str]:
    """The texts of documents by their ids."""
    return dict(session.execute(select(Document.id, Document.text).where(Document.id.in_(document_ids))).all())


def document_out(
    row: AnswerRow, shown: Shown, thresholds: Thresholds, text: str, model: Categorizer | None
) -> DocumentOut:
    """A document's answer as HTTP reports it; a model tells which words speak for it."""
    answer = row.answer
    said = shown.said(answer.document_id, answer) or as_answered(shown, answer)
    first, second = said.category, shown.other(answer.runner_up)
    is_decided = said.decision is not None
    second = None if second is first or is_decided else second  # a cut or a decision may join the two
    known = first.known if first else None
    return DocumentOut(
        key=row.key,
        text=text,
        fields=row.fields or {},
        erased=row.erased,
        category=first.category if first else None,
        name=first.name if first else None,
        known=known,
        probability=said.probability,
        known_probability=said.known_probability,
        category_probability=category_probability(said.probability, said.known_probability, known),
        unsure=not is_decided and thresholds.is_unsure(said.probability, known),
        runner_up=runner_up(answer, second),
        likely=[] if is_decided else likely(answer, said, shown),
        evidence=None if model is None else evidence_in(row, text, model),
        reason=said.reason,
        stability=answer.stability,
        copy_of=row.original,
        decision=said.decision,
    )


def as_answered(shown: Shown, answer: Answer) -> Said:
    """What the answer itself says of a document."""
    category = shown.of_document(answer.document_id, answer)
    return Said(category, answer.probability, answer.known_probability, answer.reason, None)


def likely(answer: Answer, said: Said, shown: Shown) -> list[LikelyCategory]:
    """The category of an answer and the others that matter; those that are shown as one are told once."""
    if said.category is None or said.probability is None:
        return []
    pairs: list[tuple[Category | None, float | None]] = [(said.category, said.probability)]
    pairs.append((shown.other(answer.runner_up), answer.runner_up_probability))
    pairs += [(shown.other(category), probability) for category, probability in answer.others or []]
    found: dict[int, LikelyCategory] = {}
    for category, probability in pairs:
        if category is not None and probability is not None and category.category not in found:
            found[category.category] = LikelyCategory(
                category=category.category, name=category.name, probability=probability
            )
    return list(found.values())


def evidence_in(row: AnswerRow, text: str, model: Categorizer) -> list[EvidenceWord]:
    """The words of a document that speak for its category, whatever cut is asked for."""
    answer = row.answer
    if answer.category is None:
        return []
    pairs = evidence_words(model, text, row.is_counts, answer.category, answer.runner_up)
    return [EvidenceWord(word=word, weight=weight) for word, weight in pairs]


def runner_up(answer: Answer, second: Category | None) -> RunnerUp | None:
    """The second choice, if there is one."""
    if second is None or answer.runner_up_probability is None:
        return None
    return RunnerUp(category=second.category, name=second.name, probability=answer.runner_up_probability)
