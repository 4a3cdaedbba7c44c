"""The application: routers and error rendering put together; the only wiring."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache, partial
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi_offline import FastAPIOffline
from starlette.routing import BaseRoute

from app.access.callers import KnownKeys
from app.broker import queue
from app.core.db import connect
from app.core.disk import shortage
from app.core.errors import (
    BadRequest,
    CrossSite,
    KeyMissing,
    MalformedRequest,
    MisdirectedRequest,
    ScopeMissing,
    StorageFull,
    TooManyRequests,
    UnsupportedBody,
)
from app.core.schema import check_schema
from app.core.settings import Settings
from app.frozen.models import OpenModels
from app.http.access import SCHEMES, Access
from app.http.dependencies import problems
from app.http.front_door import FrontDoor
from app.http.problems import render_errors
from app.http.rates import FailedKeys, Rates
from app.http.remembered_groups import RememberedGroups
from app.http.routers import (
    answers,
    audit,
    continuing,
    corpora,
    decisions,
    descriptions,
    documents,
    exports,
    groups,
    health,
    job_document,
    jobs,
    labels,
    lineage,
    method_comparisons,
    models,
    new_documents,
    power,
    preview,
    reports,
    results,
    scores,
    side_runs,
    sources,
    topics,
    tree,
    triage,
    uploads,
    usage,
    vectors,
)
from app.page import routes as page
from app.schemas.common import Problem
from app.search.indexing import Indexing
from app.uploads.corpus_counts import KnownCounts
from app.uploads.removal import Removal
from app.uploads.texts import RememberedTexts

TITLE = "Newfound"
DESCRIPTION = """
Newfound gives every unlabeled document of a corpus a category: one of those that labels name, or a new one
that the model found. Create a corpus, upload documents, submit a job, follow it, read its results.

In addition to what each operation lists, a request may be refused before its operation is known: 408 for a client that
is silent, 431 for a head of more than 64 KiB, 503 when there are too many connections.
"""

# What any operation may answer.
ANYWHERE = problems(BadRequest, MisdirectedRequest, MalformedRequest, StorageFull)
WITH_KEYS = problems(KeyMissing, ScopeMissing, CrossSite, TooManyRequests)
JSON_BODY = problems(UnsupportedBody)

# Of these, JSON Schema says that they are numbers, and the framework that they are floats, 1000.0 for 1000.
LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application over the settings' database and broker. Raises SchemaError before `newfound migrate`."""
    settings = settings or Settings()
    database = connect(settings.database)
    try:
        check_schema(database)
    except Exception:
        database.engine.dispose()
        raise
    queue.configure(settings)
    removal, indexing = Removal(database), Indexing(database, partial(shortage, settings))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        removal.wake()  # deletions that the last process did not come to the end of
        indexing.forget_erased()  # of which the same is true
        yield
        removal.stop()
        indexing.stop()
        database.engine.dispose()

    app = FastAPIOffline(
        title=TITLE,
        version=version("newfound"),
        description=DESCRIPTION,
        lifespan=lifespan,
        redirect_slashes=False,  # to an absolute address, made of the Host header: `front_door` does it better
    )
    app.state.settings = settings
    app.state.database = database
    app.state.removal = removal
    app.state.indexing = indexing
    app.state.known_counts = KnownCounts()
    app.state.remembered_texts = RememberedTexts()
    app.state.remembered_groups = RememberedGroups()
    app.state.open_models = OpenModels(settings.max_open_models_bytes)
    app.router.routes.extend(routes())
    app.add_middleware(Rates, settings=settings)
    app.add_middleware(Access, keys=KnownKeys(database, settings.api_keys), settings=settings)
    app.add_middleware(FailedKeys, settings=settings)
    app.add_middleware(FrontDoor, routes=app.routes, settings=settings)
    render_errors(app)
    app.openapi = document  # type: ignore[method-assign]
    return app


@cache
def routes() -> list[BaseRoute]:
    """The routes of all parts, put together once a process: that takes longer than all else about an application."""
    of_answers = (results, answers, scores, groups, sources, topics, audit, labels, power, exports, tree, reports)
    of_one = (job_document,)  # after the exports: the path of a document may be any
    of_review = (triage, decisions, continuing, lineage)
    whole = APIRouter()
    of_models = (new_documents, models, method_comparisons)
    of_corpora = (corpora, uploads, documents, vectors, descriptions, preview)
    for part in (*of_corpora, jobs, side_runs, *of_answers, *of_one, *of_review, *of_models, usage):
        whole.include_router(part.router, responses={**ANYWHERE, **WITH_KEYS})
    whole.include_router(health.router, responses=ANYWHERE)
    whole.include_router(page.router)
    return whole.routes


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document, which is the same for every application.

    The schema of problems, which no route returns by itself, is put into it.
    """
    found = get_openapi(title=TITLE, version=version("newfound"), description=DESCRIPTION, routes=routes())
    forget_validation_errors(found)
    describe_json_bodies(found)
    describe_keys(found)
    write_integers(found)
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    found["components"]["schemas"] |= {**schema.pop("$defs"), "Problem": schema}
    return found


def forget_validation_errors(document: dict[str, Any]) -> None:
    """Take the framework's own 422 out, which it names wherever an operation has parameters.

    Operations that can be malformed describe theirs as a problem; an id without the right shape is a 404.
    """
    for methods in document["paths"].values():
        for operation in methods.values():
            if "application/json" in operation["responses"].get("422", {"content": {}})["content"]:
                del operation["responses"]["422"]
    for name in ("HTTPValidationError", "ValidationError"):
        document["components"]["schemas"].pop(name, None)


def describe_json_bodies(document: dict[str, Any]) -> None:
    """Describe the refusal of a body of another kind wherever an operation takes JSON."""
    for methods in document["paths"].values():
        for operation in methods.values():
            if "application/json" in operation.get("requestBody", {"content": {}})["content"]:
                operation["responses"] = dict(sorted({**operation["responses"], **described(JSON_BODY)}.items()))


def describe_keys(document: dict[str, Any]) -> None:
    """Say which operations may ask for an API key: those that can refuse one, in either way; or in none, without."""
    document["components"]["securitySchemes"] = SCHEMES
    for methods in document["paths"].values():
        for operation in methods.values():
            if str(int(KeyMissing.status)) in operation["responses"]:
                operation["security"] = [*({name: []} for name in SCHEMES), {}]


def described(responses: dict[int | str, dict[str, Any]]) -> dict[str, Any]:
    """Responses under their status as OpenAPI writes it."""
    return {str(status): response for status, response in responses.items()}


def write_integers(part: Any) -> None:
    """Write limits that are whole numbers as such, in place; every limit of ours is exact as a float."""
    if isinstance(part, dict):
        for name in LIMITS:
            if isinstance(part.get(name), float) and part[name].is_integer():
                part[name] = int(part[name])
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        write_integers(inner)
