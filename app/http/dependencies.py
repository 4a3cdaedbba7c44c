"""What the routers share: sessions, ids, pages and the description of problems."""

import hashlib
import re
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Request, Response
from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.orm import Session, sessionmaker

from app.access.callers import Caller
from app.core.db import Database
from app.core.errors import (
    PROBLEM,
    ComparisonNotFound,
    CorpusNotFound,
    DatabaseUnavailable,
    JobNotFound,
    ModelNotFound,
    ServiceError,
    title_of,
    type_of,
)
from app.core.idempotency import Answer, Once
from app.core.settings import Settings
from app.core.tables import Comparison, Corpus, FrozenModel, Job
from app.frozen.models import OpenModels
from app.http.access import caller_of
from app.schemas.common import COMPARISON_ID, CORPUS_ID, JOB_ID, MODEL_ID
from app.uploads.corpus_counts import KnownCounts
from app.uploads.removal import Removal

Owned = Corpus | Job | Comparison | FrozenModel
ID_PATTERN = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"

MAX_BODY_BYTES = 2**20  # of a JSON request


def database(request: Request) -> Database:
    """The database that the application was made with."""
    found: Database = request.app.state.database
    return found


def sessions(request: Request) -> sessionmaker[Session]:
    """Sessions that write."""
    return database(request).sessions


def readers(request: Request) -> sessionmaker[Session]:
    """Sessions that only read."""
    return database(request).readers


def settings(request: Request) -> Settings:
    """The settings that the application was made with."""
    found: Settings = request.app.state.settings
    return found


Sessions = Annotated[sessionmaker[Session], Depends(sessions)]
Readers = Annotated[sessionmaker[Session], Depends(readers)]
ServiceSettings = Annotated[Settings, Depends(settings)]
OnBehalfOf = Annotated[Caller, Depends(caller_of)]


def check_id(request: Request, table: type[Owned], id_: str, not_found: type[ServiceError], name: str) -> None:
    """Raise `not_found` for what has not the shape of an id, and for what is not there for the caller.

    What belongs to another owner is refused in the words, and after the work, with which what nobody has is.
    """
    if not re.fullmatch(ID_PATTERN, id_):
        raise not_found(f"this is not the id of a {name}")
    caller = caller_of(request)
    if caller.sees_all:  # whoever looks for it finds out whether it is there
        return
    with readers(request).begin() as session:
        owner = session.scalar(select(table.owner).where(table.id == id_))
    if owner != caller.owner:
        raise not_found(f"there is no {name} {id_}")


def check_corpus_id(request: Request, corpus_id: str) -> None:
    """Raise CorpusNotFound for what is not the id of a corpus of the caller."""
    check_id(request, Corpus, corpus_id, CorpusNotFound, "corpus")


def corpus_id(
    request: Request, corpus_id: Annotated[str, Path(description="Id of the corpus.", examples=[CORPUS_ID])]
) -> str:  # fmt: skip
    """The corpus id of the path. Raises CorpusNotFound."""
    check_corpus_id(request, corpus_id)
    return corpus_id


def check_job_id(request: Request, job_id: str) -> None:
    """Raise JobNotFound for what is not the id of a job of the caller."""
    check_id(request, Job, job_id, JobNotFound, "job")


def job_id(request: Request, job_id: Annotated[str, Path(description="Id of the job.", examples=[JOB_ID])]) -> str:
    """The job id of the path. Raises JobNotFound."""
    check_job_id(request, job_id)
    return job_id


def comparison_id(
    request: Request, comparison_id: Annotated[str, Path(description="Id of the comparison.", examples=[COMPARISON_ID])]
) -> str:  # fmt: skip
    """The comparison id of the path. Raises ComparisonNotFound."""
    check_id(request, Comparison, comparison_id, ComparisonNotFound, "comparison")
    return comparison_id


def model_id(
    request: Request, model_id: Annotated[str, Path(description="Id of the model.", examples=[MODEL_ID])]
) -> str:  # fmt: skip
    """The model id of the path. Raises ModelNotFound."""
    check_id(request, FrozenModel, model_id, ModelNotFound, "model")
    return model_id


CorpusId = Annotated[str, Depends(corpus_id)]
ModelId = Annotated[str, Depends(model_id)]
JobId = Annotated[str, Depends(job_id)]
ComparisonId = Annotated[str, Depends(comparison_id)]


IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        pattern="^[ -~]+$",
        description="A key that the client chooses for this request, kept for a day: a repeat with the same body "
        "gets the same answer, with the header `Idempotent-Replayed: true`, and nothing is done twice.",
    ),
]


def keyed(request: Request, idempotency_key: IdempotencyKey = None) -> Once:
    """The request under its key; of its body nothing is known yet."""
    return Once(f"{caller_of(request).owner} {request.method} {request.url.path}", idempotency_key)


async def once(request: Request, idempotency_key: IdempotencyKey = None) -> Once:
    """The request under its key, with the digest of its body."""
    return replace(keyed(request, idempotency_key), digest=hashlib.sha256(await request.body()).hexdigest())


KeyedStream = Annotated[Once, Depends(keyed)]
Keyed = Annotated[Once, Depends(once)]


def answer(status: HTTPStatus, body: BaseModel, **headers: str) -> Answer:
    """An answer as it is kept; `Retry_After` names the header Retry-After."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(int(status), named, body.model_dump_json(by_alias=True))


def rendered(answer: Answer) -> Response:
    """The answer as a response."""
    headers = {**answer.headers, **({"Idempotent-Replayed": "true"} if answer.replayed else {})}
    return Response(answer.body, answer.status, headers, media_type="application/json")


def address(settings: Settings, path: str) -> str:
    """The address of a path of this service, as its clients see it: a proxy may put the service below a root path."""
    return settings.root_path + path


def open_models(request: Request) -> OpenModels:
    """The models that the application keeps ready to answer."""
    found: OpenModels = request.app.state.open_models
    return found


def removal(request: Request) -> Removal:
    """Who takes out what has been deleted."""
    found: Removal = request.app.state.removal
    return found


def known_counts(request: Request) -> KnownCounts:
    """The counts that the application remembers."""
    found: KnownCounts = request.app.state.known_counts
    return found


def problems(*kinds: type[ServiceError]) -> dict[int | str, dict[str, Any]]:
    """The description of the refusals of an operation, for OpenAPI."""
    described: dict[int | str, dict[str, Any]] = {}
    every: tuple[type[ServiceError], ...] = (*kinds, DatabaseUnavailable)
    for kind in every:
        status = int(kind.status)
        response = described.setdefault(
            status,
            {
                "description": title_of(kind),
                "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}, "examples": {}}},
            },
        )
        response["content"][PROBLEM]["examples"][kind.__name__] = {
            "value": {
                "type": type_of(kind.__name__),
                "title": title_of(kind),
                "status": status,
                "detail": "what happened, with the values in question",
                "instance": "/v1/…",
            }
        }
    return described
