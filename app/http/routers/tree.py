"""A single category with the documents that show what it is, and the tree over the new ones."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Response
from sqlalchemy.orm import Session

from app.core.errors import CategoryNotFound, JobNotFound, ResultsNotReady
from app.core.tables import Category, Job
from app.http.category_answers import category_fields, portrait_documents
from app.http.dependencies import JobId, Readers, problems
from app.http.long_answers import written
from app.http.routers.results import find_concluded_job
from app.http.shown import Showing
from app.review.cuts import read_tree
from app.schemas.category_detail import CategoryDetail, PortraitDocument, TreeNodeOut, TreeOut

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["results"])

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
        found = find_category(shown.categories, category)
        fields = category_fields(found, shown.unchanged)
        representative, edge = (documents_of(session, job, found, name) for name in ("representative", "edge"))
        fields |= {"origin": shown.origin(found.category), "similarity": (found.portrait or {}).get("similarity")}
    return written(CategoryDetail(**fields, representative=representative, edge=edge))


def find_category(categories: Sequence[Category], named: str) -> Category:
    """The category with this index or short id. Raises CategoryNotFound."""
    for category in categories:
        if named in (str(category.category), category.short_id):
            return category
    raise CategoryNotFound(f"the answer has no category {named!r}: it has {len(categories)}, from 0 on")


def documents_of(session: Session, job: Job, category: Category, name: str) -> list[PortraitDocument] | None:
    """Documents of a category's portrait, if it has one."""
    return None if category.portrait is None else portrait_documents(session, job, category.portrait[name])


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
