"""Frozen models as files: exported, imported, listed, deleted."""

import hashlib
import uuid
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from sqlalchemy import delete, insert, select, tuple_
from sqlalchemy.orm import Session, sessionmaker

from app.core.errors import (
    JobNotFound,
    MalformedRequest,
    ModelNotFound,
    ModelOfJob,
    NoModel,
    ResultsNotReady,
    StorageFull,
    UnusableModel,
    UploadTooLarge,
)
from app.core.tables import MAX_NAME, MODEL_PIECE_BYTES, FrozenModel, ModelPart
from app.frozen.models import find_model, is_visible_model, model_of_job, opened
from app.http.dependencies import JobId, ModelId, OnBehalfOf, Readers, ServiceSettings, Sessions, address, problems
from app.http.files import file_body, received
from app.http.pages import PAGE, Cursor, Limit, NewestFirst, from_cursor, page
from app.http.routers.results import find_concluded_job
from app.schemas.models import ModelOut, ModelPage
from app.uploads import intake
from app.uploads.body import Spooled
from sampler.frozen.model import ModelError

router = APIRouter(prefix="/v1", tags=["models"])

FILE_TYPE = "application/octet-stream"
FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file.",
        "content": {FILE_TYPE: {"schema": {"type": "string", "format": "binary"}, "example": "newfound-model…"}},
    }
}
BODY = file_body("ModelForm", "The file of a model: as the part `file` of a form, or as the body.", "newfound-model…")


@router.get(
    "/jobs/{job_id}/model",
    operation_id="export_model",
    summary="Export a job's model",
    response_class=Response,
    responses={**problems(JobNotFound, ResultsNotReady, NoModel), **FILE},
)
def export_model(job_id: JobId, readers: Readers) -> Response:
    """Export what the job has learned as one file, which answers new documents wherever it is imported.

    It holds words and numbers, no texts and no keys: of the job's own documents marks of 64 bits, by which a text that
    comes again is known.
    """
    with readers.begin() as session:
        model = model_of_job(session, find_concluded_job(session, job_id))
    return download(model, readers)


@router.get(
    "/models/{model_id}/file",
    operation_id="export_imported_model",
    summary="Export a model",
    response_class=Response,
    responses={**problems(ModelNotFound), **FILE},
)
def export_imported_model(model_id: ModelId, readers: Readers) -> Response:
    """Export a model as the file that it was frozen as, or that it came as."""
    with readers.begin() as session:
        model = find_model(session, model_id)
    return download(model, readers)


def download(model: FrozenModel, readers: sessionmaker[Session]) -> Response:
    """The file of a model, a part at a time."""

    def pieces() -> Iterator[bytes]:
        for number in range(-(-model.n_bytes // MODEL_PIECE_BYTES)):
            query = select(ModelPart.data).where(ModelPart.model_id == model.id, ModelPart.number == number)
            with readers.begin() as session:
                data = session.scalar(query)
            if data is None:  # it was deleted meanwhile: a file that breaks off is not taken for a whole one
                raise ModelNotFound(f"model {model.id} has been deleted")
            yield data

    headers = {
        "Content-Disposition": f'attachment; filename="{model.id}.newfound-model"',
        "Content-Length": str(model.n_bytes),
    }
    return StreamingResponse(pieces(), headers=headers, media_type=FILE_TYPE)


@router.put("/models", include_in_schema=False)  # `curl -T FILE` says PUT
@router.post(
    "/models",
    operation_id="import_model",
    summary="Import a model",
    status_code=HTTPStatus.CREATED,
    response_model=ModelOut,
    responses=problems(UnusableModel, UploadTooLarge, MalformedRequest, StorageFull),
    openapi_extra=BODY,
)
async def import_model(
    request: Request,
    sessions: Sessions,
    settings: ServiceSettings,
    caller: OnBehalfOf,
    name: Annotated[
        str | None, Query(min_length=1, max_length=MAX_NAME, pattern="^[^\\x00]*$", description="For people.")
    ] = None,
) -> Response:
    """Import a model from its file, which is checked as a whole: nothing in it is run."""
    async with received(request, settings) as spooled:
        told = await intake.patiently(
            partial(store_file, sessions, spooled, name, caller.owner, settings.max_model_bytes)
        )
    headers = {"Location": address(settings, f"/v1/models/{told.id}")}
    return Response(told.model_dump_json(), HTTPStatus.CREATED, headers, media_type="application/json")


def store_file(
    sessions: sessionmaker[Session], spooled: Spooled, name: str | None, owner: str, max_bytes: int
) -> ModelOut:  # fmt: skip
    """Store an imported model. Raises UnusableModel, UploadTooLarge."""
    spooled.file.seek(0)
    data = spooled.file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise UploadTooLarge(f"the model has more than {max_bytes} bytes (NEWFOUND_MAX_MODEL_BYTES)")
    try:
        categorizer = opened(data)
    except ModelError as error:
        raise UnusableModel(f"the file is not a model that can be used: {error}") from error
    facts = {"job": categorizer.job, "categories": [each._asdict() for each in categorizer.categories]}
    digest = hashlib.sha256(data).hexdigest()
    made = FrozenModel(id=str(uuid.uuid4()), name=name, n_bytes=len(data), digest=digest, facts=facts, owner=owner)
    with sessions.begin() as session:
        session.add(made)
        session.flush()
        for number, start in enumerate(range(0, len(data), MODEL_PIECE_BYTES)):
            part = {"model_id": made.id, "number": number, "data": data[start : start + MODEL_PIECE_BYTES]}
            session.execute(insert(ModelPart), [part])
        return model_out(made)


@router.get(
    "/models",
    operation_id="list_models",
    summary="List the models",
    responses=problems(MalformedRequest),
)
def list_models(
    readers: Readers,
    caller: OnBehalfOf,
    imported: Annotated[bool | None, Query(description="Only imported models, or only those of jobs here.")] = None,
    cursor: Cursor = None,
    limit: Limit = PAGE,
) -> ModelPage:
    """List the models, of jobs and imported, newest first."""
    after = from_cursor(cursor, NewestFirst)
    is_mine = caller.owns(FrozenModel.owner)
    query = select(FrozenModel).where(FrozenModel.digest.is_not(None), is_visible_model(), is_mine)
    query = query.order_by(FrozenModel.created_at.desc(), FrozenModel.id.desc()).limit(limit + 1)
    if imported is not None:
        query = query.where(FrozenModel.job_id.is_(None) if imported else FrozenModel.job_id.is_not(None))
    if after is not None:
        query = query.where(tuple_(FrozenModel.created_at, FrozenModel.id) < after)
    with readers.begin() as session:
        found = session.scalars(query).all()
    shown, following = page(found, limit, lambda model: (model.created_at, model.id))
    return ModelPage(models=[model_out(model) for model in shown], next=following)


@router.get(
    "/models/{model_id}",
    operation_id="get_model",
    summary="Get a model",
    responses=problems(ModelNotFound),
)
def get_model(model_id: ModelId, readers: Readers) -> ModelOut:
    """Get what is known of a model without reading its file."""
    with readers.begin() as session:
        return model_out(find_model(session, model_id))


@router.delete(
    "/models/{model_id}",
    operation_id="delete_model",
    summary="Delete an imported model",
    status_code=HTTPStatus.NO_CONTENT,
    responses=problems(ModelNotFound, ModelOfJob),
)
def delete_model(model_id: ModelId, sessions: Sessions) -> None:
    """Delete an imported model and its counts. That of a job goes with the job."""
    with sessions.begin() as session:
        model = find_model(session, model_id)
        if model.job_id is not None:
            raise ModelOfJob(f"model {model_id} is that of job {model.job_id}: delete the job, and it goes with it")
        session.execute(delete(FrozenModel).where(FrozenModel.id == model_id))


def model_out(model: FrozenModel) -> ModelOut:
    """A model as HTTP reports it."""
    return ModelOut(
        id=model.id,
        name=model.name,
        job=model.facts["job"],
        imported=model.job_id is None,
        bytes=model.n_bytes,
        sha256=str(model.digest),
        created_at=model.created_at,
        categories=model.facts["categories"],
    )
