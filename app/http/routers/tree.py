"""Categories with the documents that show what they are, and the tree over the new ones."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import StringConstraints
from sqlalchemy.orm import Session

from app.core.errors import CategoryNotFound, JobNotFound, MalformedRequest, ResultsNotReady
from app.core.tables import Category, Job
from app.http.category_answers import category_fields, portrait_documents
from app.http.dependencies import JobId, Readers, problems
from app.http.long_answers import written
from app.http.routers.results import find_concluded_job
from app.http.shown import Showing
from app.review.cuts import read_tree
from app.review.documents import lots
from app.review.shown import Shown
from app.schemas.category_detail import CategoryDetail, PortraitDocument, PortraitsOut, TreeNodeOut, TreeOut

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["results"])

MAX_PORTRAITS = 100
LISTS = ("representative", "edge")  # of documents, in a portrait

Name = Annotated[str, StringConstraints(max_length=20)]
Named = Annotated[
    str, Path(max_length=20, description="Index or short id of the category.", examples=["6", "c-7q3kx9"])
]  # fmt: skip


@router.get(
    "/categories/{category}",
    operation_id="get_category",
    summary="Read a category and its documents",
    response_model=CategoryDetail,
    responses=problems(JobNotFound, CategoryNotFound, ResultsNotReady),
)
def get_category(job_id: JobId, readers: Readers, showing: Showing, category: Named) -> Response:
    """Read a category with documents that stand for it and documents at its edge."""
    with readers.begin() as session:
        job = find_concluded_job(session, job_id)
        shown = showing.show(session, job, counted=True, portrayed=True)
        [detail] = details_of(session, job, shown, [find_category(shown.categories, category)])
    return written(detail)


@router.get(
    "/portraits",
    operation_id="get_portraits",
    summary="Read several categories and their documents",
    response_model=PortraitsOut,
    responses=problems(JobNotFound, CategoryNotFound, ResultsNotReady, MalformedRequest),
)
def get_portraits(
    job_id: JobId,
    readers: Readers,
    showing: Showing,
    category: Annotated[
        list[Name],
        Query(min_length=1, max_length=MAX_PORTRAITS, description="Index or short id of each.", examples=[["6", "7"]]),
    ],
) -> Response:
    """Read several categories in the order in which they are named, each with its documents, in one request."""
    with readers.begin() as session:
        job = find_concluded_job(session, job_id)
        shown = showing.show(session, job, counted=True, portrayed=True)
        details = details_of(session, job, shown, [find_category(shown.categories, name) for name in category])
    return written(PortraitsOut(categories=details))


def details_of(session: Session, job: Job, shown: Shown, categories: Sequence[Category]) -> list[CategoryDetail]:
    """Categories with their documents, which are read together."""
    portraits = [category.portrait for category in categories if category.portrait is not None]
    keys = dict.fromkeys(key for portrait in portraits for name in LISTS for key in portrait[name])
    documents: dict[str, PortraitDocument] = {}
    for some in lots(list(keys)):
        documents |= portrait_documents(session, job, some)
    return [detail_of(category, shown, documents) for category in categories]


def detail_of(category: Category, shown: Shown, documents: Mapping[str, PortraitDocument]) -> CategoryDetail:
    """A category with its documents, in the order of its portrait, if it has one."""
    portrait = category.portrait
    fields = category_fields(category, shown.unchanged)
    fields |= {"origin": shown.origin(category.category), "similarity": (portrait or {}).get("similarity")}
    for name in LISTS:
        fields[name] = portrait and [documents[key] for key in portrait[name] if key in documents]
    return CategoryDetail(**fields)


def find_category(categories: Sequence[Category], named: str) -> Category:
    """The category with this index or short id. Raises CategoryNotFound."""
    for category in categories:
        if named in (str(category.category), category.short_id):
            return category
    raise CategoryNotFound(f"the answer has no category {named!r}: it has {len(categories)}, from 0 on")


@router.get(
    "/tree",
    operation_id="get_tree",
    summary="Read the tree over the new categories",
    response_model=TreeOut,
    responses=problems(JobNotFound, ResultsNotReady),
)
def get_tree(job_id: JobId, readers: Readers) -> Response:
    """Read which documents of new categories belong together first, by the draws of all chains.

    `GET /v1/jobs/{id}/categories?categories=N` and `.../documents?categories=N` cut it into N.
    """
    with readers.begin() as session:
        tree = read_tree(session, find_concluded_job(session, job_id))
    nodes = [
        TreeNodeOut(
            node=node.node,
            parent=node.parent,
            category=node.category,
            documents=node.n_documents,
            together=node.together,
            top_words=node.top_words,
        )
        for node in tree.nodes
    ]
    return written(TreeOut(leaves=tree.n_leaves, categories=tree.n_own, nodes=nodes))
