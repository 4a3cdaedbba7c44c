"""Decisions about a job's answer: made, listed, and undone by others."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response
from pydantic import Field, TypeAdapter
from sqlalchemy import func, select
from sqlalchemy.orm import Session, sessionmaker

from app.core import lifecycle
from app.core.decisions import DecisionKind, decisions_of, n_decisions, undone
from app.core.errors import (
    AnswerChanged,
    BodyTooLarge,
    DecisionNotFound,
    DecisionRefused,
    IdempotencyKeyReused,
    JobNotFound,
    MalformedRequest,
    ResourceDeleted,
    ResultsNotReady,
)
from app.core.idempotency import Answer, Once
from app.core.runs import UNFINISHED
from app.core.tables import DecidedDocument, Decision, Document, Job
from app.http.dependencies import MAX_BODY_BYTES, JobId, Keyed, Readers, Sessions, answer, problems, rendered
from app.http.pages import PAGE, Cursor, Limit, from_cursor, linked, page
from app.review.decided import categories_of, read_decided
from app.review.events import Desk, check_tag, tag_of
from app.schemas.decisions import DecisionOut, DecisionPage, DecisionsIn, DecisionsMade

# As wide as its column; beyond it nothing comes.
Number = TypeAdapter(Annotated[int, Field(ge=0, le=2**31 - 1)])

router = APIRouter(prefix="/v1/jobs/{job_id}/decisions", tags=["review"])

SHOWN = 100  # documents of a decision

IfMatch = Annotated[
    str | None,
    Header(
        max_length=1_000,
        description="The `ETag` that the answer had when it was read: if somebody has decided something since, the "
        "request is refused with 412, and nothing is done.",
    ),
]


@router.post(
    "",
    operation_id="decide",
    summary="Decide",
    status_code=HTTPStatus.CREATED,
    response_model=DecisionsMade,
    responses=problems(
        JobNotFound,
        DecisionNotFound,
        ResultsNotReady,
        DecisionRefused,
        AnswerChanged,
        BodyTooLarge,
        MalformedRequest,
        IdempotencyKeyReused,
        ResourceDeleted,
    ),
    max_body_size=MAX_BODY_BYTES,
)
def decide(job_id: JobId, body: DecisionsIn, once: Keyed, sessions: Sessions, if_match: IfMatch = None) -> Response:
    """Decide something about the answer, or several things together: all of them, or none.

    Categories and documents are shown with it from then on; nothing is sampled. While the job is extended, decisions
    are about the present answer, and about the one that follows, as far as its categories are the same. Before there
    are results, documents can be pinned to a category that a label names, or to none: that counts once they are there.
    """
    return rendered(made_once(job_id, body, once, sessions, if_match))


def made_once(
    job_id: str, body: DecisionsIn, once: Once, sessions: sessionmaker[Session], if_match: str | None
) -> Answer:
    """The answer to a request, or to an earlier one under the same key."""
    with sessions.begin() as session:
        kept = once.begin(session)
        if kept is not None:
            return kept
        lifecycle.lock(session, job_id)
        job = lifecycle.find_job(session, job_id)
        if job.edition == 0 and job.status not in UNFINISHED:
            raise ResultsNotReady(f"job {job_id} is {job.status}, and has no results: resume it, or submit a new one")
        check_tag(job, n_decisions(session, job_id), if_match)
        desk = Desk(session, job, categories_of(session, job))
        made = [desk.decide(each, body.author, f"body.decisions.{place}") for place, each in enumerate(body.decisions)]
        last = made[-1].number
        told = DecisionsMade(decisions=decisions_out(session, job, made), last=last)
        return once.end(session, answer(HTTPStatus.CREATED, told, ETag=tag_of(job, last)))


@router.get(
    "",
    operation_id="list_decisions",
    summary="List the decisions",
    response_model=DecisionPage,
    responses=problems(JobNotFound, MalformedRequest),
)
def list_decisions(
    job_id: JobId, readers: Readers, request: Request, cursor: Cursor = None, limit: Limit = PAGE
) -> Response:
    """List what was decided about a job, in its order, and whether it counts."""
    after = from_cursor(cursor, Number) or 0
    with readers.begin() as session:
        job = lifecycle.find_job(session, job_id)
        query = select(Decision).where(Decision.job_id == job_id, Decision.number > after).order_by(Decision.number)
        shown, following = page(session.scalars(query.limit(limit + 1)).all(), limit, lambda row: row.number)
        told = DecisionPage(decisions=decisions_out(session, job, shown), next=following)
        tag = tag_of(job, n_decisions(session, job_id))
    response = linked(request, told, following)
    response.headers["ETag"] = tag
    return response


def decisions_out(session: Session, job: Job, shown: Sequence[Decision]) -> list[DecisionOut]:
    """Decisions as HTTP reports them."""
    every = decisions_of(session, job.id)
    gone = undone(every)
    decided = read_decided(session, job, categories_of(session, job)) if job.edition else None
    idle = {} if decided is None else decided.idle
    keys, sizes = documents_of(session, job.id, [each.number for each in shown])
    return [
        DecisionOut(
            number=each.number,
            kind=each.kind,
            category=each.body.get("category"),
            categories=each.body.get("categories"),
            name=each.body.get("name"),
            into=each.body.get("into"),
            new=each.body.get("new", []),
            decision=each.body.get("decision"),
            documents=keys[each.number],
            n_documents=sizes.get(each.number, 0),
            author=each.author,
            note=each.note,
            made_at=each.made_at,
            in_force=each.number not in gone,
            applies=None if each.kind == DecisionKind.UNDO or decided is None else each.number in decided.counting,
            reason=idle.get(each.number),
        )
        for each in shown
    ]


def documents_of(
    session: Session, job_id: str, numbers: Sequence[int]
) -> tuple[Mapping[int, list[str]], Mapping[int, int]]:
    """Of some decisions the keys of the first documents, and how many there are."""
    mine = (DecidedDocument.job_id == job_id, DecidedDocument.number.in_(numbers))
    n_documents = select(DecidedDocument.number, func.count()).where(*mine).group_by(DecidedDocument.number)
    sizes = dict(session.execute(n_documents).all())
    place = func.row_number().over(partition_by=DecidedDocument.number, order_by=DecidedDocument.document_id)
    ranked = select(DecidedDocument.number, DecidedDocument.document_id, place.label("place")).where(*mine).subquery()
    first = (
        select(ranked.c.number, Document.key)
        .join(Document, Document.id == ranked.c.document_id)
        .where(ranked.c.place <= SHOWN)
        .order_by(ranked.c.number, ranked.c.place)
    )
    keys: dict[int, list[str]] = defaultdict(list)
    for number, key in session.execute(first):
        keys[number].append(key)
    return keys, sizes
