"""Triage: the documents of a job's answer that a person should be asked about."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query, Response

from app.core.decisions import n_decisions
from app.core.errors import JobNotFound, MalformedRequest, ResultsNotReady
from app.core.tables import Category
from app.http.dependencies import JobId, Readers, problems
from app.http.long_answers import written
from app.http.routers.results import find_concluded_job
from app.http.shown import Wanted
from app.review.candidates import Asked, triage
from app.review.events import tag_of
from app.review.triage import Candidate, settles
from app.schemas.documents import Key
from app.schemas.results import RunnerUp
from app.schemas.triage import TriageCounts, TriageItem, TriageOut

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["review"])

BUDGET, MAX_BUDGET = 50, 500
MAX_SKIPPED = 100


@router.get(
    "/triage",
    operation_id="get_triage",
    summary="Read which documents a person should be asked about",
    response_model=TriageOut,
    responses=problems(JobNotFound, ResultsNotReady, MalformedRequest),
)
def get_triage(
    job_id: JobId,
    readers: Readers,
    budget: Annotated[int, Query(ge=1, le=MAX_BUDGET, description="How many documents at most.")] = BUDGET,
    skip: Annotated[
        list[Key], Query(max_length=MAX_SKIPPED, description="Keys of documents that are to be left out.")
    ] = [],  # noqa: B006
) -> Response:
    """Read the documents whose answer by a person would teach most, the most useful first.

    They are balanced between known and new categories, and spread over all of them; of documents with the same text
    there is one. Those that somebody has decided are left out.
    """
    with readers.begin() as session:
        job = find_concluded_job(session, job_id)
        shown = Wanted().show(session, job, portrayed=True)
        found = triage(session, job, shown.own, skip, budget)
        tag = tag_of(job, n_decisions(session, job_id))
    named = {each.category: shown.other(each.category) for each in shown.own}
    documents = [item(asked, named) for asked in found.asked if is_open_question(asked.candidate, named)]
    response = written(TriageOut(documents=documents, found=TriageCounts(**found.numbers)))
    response.headers["ETag"] = tag
    response.headers["Cache-Control"] = "no-store"  # texts may be erased, which the tag of the answer does not show
    return response


def is_open_question(candidate: Candidate, named: Mapping[int, Category | None]) -> bool:
    """Whether decisions have left the categories in question apart."""
    category = named[candidate.category]
    other = None if candidate.other is None else named[candidate.other]
    return category is not None and other is not category


def item(asked: Asked, named: Mapping[int, Category | None]) -> TriageItem:
    """A document as HTTP reports it."""
    candidate = asked.candidate
    category, other = named[candidate.category], named.get(-1 if candidate.other is None else candidate.other)
    assert category is not None
    return TriageItem(
        key=asked.key,
        text=asked.text,
        shortened=asked.is_shortened,
        label=asked.label if candidate.why == "label" else None,
        category=category.category,
        name=category.name,
        known=category.known,
        probability=candidate.probability,
        runner_up=other and RunnerUp(category=other.category, name=other.name, probability=candidate.other_probability),
        why=candidate.why,
        settles=settles(candidate, shown(category), None if other is None else shown(other)),
        documents=candidate.documents,
    )


def shown(category: Category) -> str:
    """The name of a category in a sentence: that of a new one has words with commas in it."""
    return category.name if category.known else f'"{category.name}"'
