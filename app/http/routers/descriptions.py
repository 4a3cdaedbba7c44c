"""Descriptions of the categories of a corpus, which need no labeled document: put, read, delete."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Path, Request
from sqlalchemy import insert, update
from sqlalchemy.orm import Session

from app.core.descriptions import descriptions_of
from app.core.errors import (
    BodyTooLarge,
    CorpusNotFound,
    DescriptionNotFound,
    DescriptionVectorsUnfit,
    MalformedRequest,
    QuotaExceeded,
)
from app.core.lifecycle import find_corpus
from app.core.quotas import StorageQuota, size
from app.core.tables import CategoryDescription
from app.core.vectors import to_bytes
from app.http.dependencies import MAX_BODY_BYTES, CorpusId, Readers, ServiceSettings, database, problems
from app.schemas.descriptions import (
    DescriptionIn,
    DescriptionOut,
    DescriptionsIn,
    DescriptionsOut,
    DescriptionsStored,
)
from app.uploads.label_guards import skeleton
from app.uploads.store import Store

router = APIRouter(prefix="/v1/corpora/{corpus_id}/descriptions", tags=["descriptions"])

DescriptionName = Annotated[
    str, Path(description="Name of the description; a slash in it may stay.", examples=["refunds"])
]
Content = tuple[str, bytes | None]  # text and vector


@router.put(
    "",
    operation_id="put_descriptions",
    summary="Describe categories",
    responses=problems(CorpusNotFound, DescriptionVectorsUnfit, QuotaExceeded, BodyTooLarge, MalformedRequest),
    max_body_size=32 * MAX_BODY_BYTES,
)
def put_descriptions(
    corpus_id: CorpusId, body: DescriptionsIn, request: Request, settings: ServiceSettings
) -> DescriptionsStored:
    """Say what categories are about, in the place of all that was said before; the corpus gets a new version.

    The new categories of a job over it take the names that fit. Nothing happens if all is as it was.
    """
    check_names(body.descriptions)
    store = Store(database(request), corpus_id, quota=StorageQuota.of(settings))
    wanted = {each.name: content(each) for each in body.descriptions}
    with store.database.sessions.begin() as session:
        version = store.lock(session)
        check_vectors(body.descriptions, find_corpus(session, corpus_id).vector_length)
        before = {each.name: each for each in descriptions_of(session, corpus_id, version)}
        same = {name for name, each in before.items() if wanted.get(name) == (each.text, each.vector)}
        gone = [each for name, each in before.items() if name not in same]
        new = {name: of_one for name, of_one in wanted.items() if name not in same}
        if gone or new:
            version += 1
            replace(session, corpus_id, version, gone, new)
            store.grown = store.grown.plus(0, sum(size(text) + size(vector) for text, vector in new.values()))
            store.set_version(session, version)
    n_changed = len(new.keys() & before.keys())
    return DescriptionsStored(
        added=len(new) - n_changed,
        changed=n_changed,
        removed=len(gone) - n_changed,
        unchanged=len(same),
        version=version,
    )


def content(description: DescriptionIn) -> Content:
    """What is stored beside the name; a vector of zeros, which says nothing, is none."""
    if description.vector is None or not any(description.vector):
        return description.text, None
    return description.text, to_bytes(description.vector)


def replace(
    session: Session, corpus_id: str, version: int, gone: Sequence[CategoryDescription], new: dict[str, Content]
) -> None:
    """End some descriptions with a version, and begin others."""
    quietly = {"synchronize_session": False}
    ids = [each.id for each in gone]
    ended = update(CategoryDescription).where(CategoryDescription.id.in_(ids)).values(until=version)
    session.execute(ended.execution_options(**quietly))
    rows = [
        {"corpus_id": corpus_id, "version": version, "name": name, "text": text, "vector": vector}
        for name, (text, vector) in new.items()
    ]
    if rows:
        session.execute(insert(CategoryDescription), rows)


def check_names(descriptions: Sequence[DescriptionIn]) -> None:
    """Raise MalformedRequest, with all of them, for names that differ in case, blanks or width alone."""
    first: dict[str, int] = {}
    again = []
    for place, each in enumerate(descriptions):
        other = first.setdefault(skeleton(each.name), place)
        if other != place:
            reason = f"{each.name!r} is the name {descriptions[other].name!r} of descriptions.{other} again"
            again.append({"where": f"descriptions.{place}.name", "reason": reason})
    if again:
        raise MalformedRequest("each category is described once: names must differ in more than case and blanks", again)


def check_vectors(descriptions: Sequence[DescriptionIn], length: int | None) -> None:
    """Raise DescriptionVectorsUnfit, with all of them, for vectors that are not as long as those of the documents."""
    faults = [
        {"where": f"descriptions.{place}.vector", "reason": f"has {len(each.vector)} numbers"}
        for place, each in enumerate(descriptions)
        if each.vector is not None and len(each.vector) != length
    ]
    if not faults:
        return
    if length is None:
        raise DescriptionVectorsUnfit(
            "no document of the corpus has brought a vector: upload theirs first, or leave out those of descriptions",
            faults,
        )
    raise DescriptionVectorsUnfit(f"the vectors of this corpus have {length} numbers", faults)


@router.get(
    "",
    operation_id="list_descriptions",
    summary="Read the descriptions of categories",
    responses=problems(CorpusNotFound),
)
def list_descriptions(corpus_id: CorpusId, readers: Readers) -> DescriptionsOut:
    """Read the descriptions of a corpus as they are now."""
    with readers.begin() as session:
        version = find_corpus(session, corpus_id).version
        found = descriptions_of(session, corpus_id, version)
    listed = [
        DescriptionOut(name=each.name, text=each.text, has_vector=each.vector is not None, version=each.version)
        for each in found
    ]
    return DescriptionsOut(descriptions=listed, version=version)


@router.delete(
    "/{name:path}",
    operation_id="delete_description",
    summary="Delete the description of a category",
    status_code=HTTPStatus.NO_CONTENT,
    responses=problems(CorpusNotFound, DescriptionNotFound),
)
def delete_description(corpus_id: CorpusId, name: DescriptionName, request: Request) -> None:
    """Delete a description; the corpus gets a new version. Jobs over earlier ones keep it."""
    store = Store(database(request), corpus_id)
    with store.database.sessions.begin() as session:
        version = store.lock(session)
        found = [each for each in descriptions_of(session, corpus_id, version) if each.name == name]
        if not found:
            raise DescriptionNotFound(f"corpus {corpus_id} has no description {name[:100]!r}")
        store.set_version(session, version + 1)
        replace(session, corpus_id, version + 1, found, {})
