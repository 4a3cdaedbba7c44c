"""The application: routers and error rendering put together; the only wiring."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache, partial
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from app.access.callers import KnownKeys
from app.access.owners import KnownOwners
from app.broker import queue
from app.core.db import connect
from app.core.disk import shortage
from app.core.errors import (
    BadRequest,
    CrossSite,
    HeadTooLarge,
    KeyMissing,
    MalformedRequest,
    MisdirectedRequest,
    RequestTimeout,
    ScopeMissing,
    StorageFull,
    TooManyRequests,
)
from app.core.schema import check_schema
from app.core.settings import Settings
from app.frozen.models import OpenModels
from app.http.access import Access
from app.http.compression import Compression
from app.http.condition import broker
from app.http.dependencies import problems
from app.http.docs_pages import make_app
from app.http.event_streams import EventStreams
from app.http.front_door import FrontDoor
from app.http.measured import Measured
from app.http.negotiation import Negotiation
from app.http.openapi import DESCRIPTION, TITLE, describe
from app.http.preconditions import Preconditions
from app.http.problems import render_errors
from app.http.protocol import EVENT_STREAMS
from app.http.rates import FailedKeys, Rates
from app.http.remembered_groups import RememberedGroups
from app.http.request_ids import RequestIds
from app.http.response_headers import EXPOSED
from app.http.route_names import RouteNames
from app.http.routers import (
    answers,
    audit,
    continuing,
    corpora,
    decisions,
    descriptions,
    documents,
    events,
    exports,
    groups,
    health,
    job_document,
    jobs,
    labels,
    lineage,
    method_comparisons,
    metrics,
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
from app.http.security_headers import SecurityHeaders
from app.http.shared_reads import SharedReads
from app.http.validators import Validators
from app.observation import tracing
from app.observation.metrics import Metrics
from app.page import routes as page
from app.search.indexing import Indexing
from app.upkeep.keeper import Keeper
from app.uploads.corpus_counts import KnownCounts
from app.uploads.removal import Removal
from app.uploads.texts import RememberedTexts
from app.webhooks.sending import Sending

# What any operation may answer.
ANYWHERE = problems(BadRequest, RequestTimeout, MisdirectedRequest, MalformedRequest, HeadTooLarge, StorageFull)
WITH_KEYS = problems(KeyMissing, ScopeMissing, CrossSite, TooManyRequests)


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
    streams, sending = EventStreams(database, settings), Sending(database, settings)
    removal, indexing = Removal(database), Indexing(database, partial(shortage, settings))
    keeper = Keeper(database, settings, removal)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        sending.start()
        removal.wake()  # deletions that the last process did not come to the end of
        indexing.forget_erased()  # of which the same is true
        keeper.start()
        yield {EVENT_STREAMS: streams}  # for the protocol, which sees first that the server is to end
        await streams.stop()
        sending.stop()
        removal.stop()
        indexing.stop()
        keeper.stop()
        database.engine.dispose()

    app = make_app(
        title=TITLE,
        version=version("newfound"),
        description=DESCRIPTION,
        lifespan=lifespan,
        telemetry=tracing.telemetry(),
        redirect_slashes=False,  # to an absolute address, made of the Host header: `front_door` does it better
    )
    app.state.settings = settings
    app.state.database = database
    app.state.removal = removal
    app.state.indexing = indexing
    app.state.event_streams = streams
    app.state.known_keys = KnownKeys(database, settings.api_keys)
    app.state.known_owners = KnownOwners()
    app.state.known_counts = KnownCounts()
    app.state.remembered_texts = RememberedTexts()
    app.state.remembered_groups = RememberedGroups()
    app.state.open_models = OpenModels(settings.max_open_models_bytes)
    app.state.metrics = Metrics(database, settings, broker.calls_waiting)
    app.router.routes.extend(routes())
    render_errors(app)
    add_manners(app, settings)
    app.openapi = document  # type: ignore[method-assign]
    return app


def add_manners(app: FastAPI, settings: Settings) -> None:
    """Put what holds for every request around the routes, from the innermost outwards.

    The last three go around the framework's own last resort, too: an internal error has an id and is harmless as well.
    """
    app.add_middleware(FrontDoor, routes=app.routes, settings=settings)
    app.add_middleware(Negotiation, routes=app.routes, root_path=settings.root_path)
    app.add_middleware(Preconditions, routes=app.routes, root_path=settings.root_path)
    app.add_middleware(SharedReads, root_path=settings.root_path)
    app.add_middleware(Validators)
    app.add_middleware(Rates, settings=settings)
    app.add_middleware(Access, keys=app.state.known_keys, settings=settings)
    app.add_middleware(FailedKeys, settings=settings)
    app.add_middleware(Measured, names=RouteNames(app.routes, settings.root_path), metrics=app.state.metrics)
    app.add_middleware(Compression)
    build = app.build_middleware_stack

    def built() -> ASGIApp:
        return RequestIds(SecurityHeaders(with_cors(build(), settings)))

    app.build_middleware_stack = built  # type: ignore[method-assign]


def with_cors(app: ASGIApp, settings: Settings) -> ASGIApp:
    """The application, whose answers pages of some other origins may read; none, unless the operator names them.

    They send a key if they have one, never what a browser keeps for this service.
    """
    origins = [origin.strip() for origin in settings.cors_origins.split(",") if origin.strip()]
    if not origins:
        return app
    return CORSMiddleware(app, origins, allow_methods=["*"], allow_headers=["*"], expose_headers=EXPOSED)


@cache
def routes() -> list[BaseRoute]:
    """The routes of all parts, put together once a process: that takes longer than all else about an application."""
    of_answers = (results, answers, scores, groups, sources, topics, audit, labels, power, exports, tree, reports)
    of_one = (job_document,)  # after the exports: the path of a document may be any
    of_review = (triage, decisions, continuing, lineage)
    whole = APIRouter()
    of_models = (new_documents, models, method_comparisons)
    of_corpora = (corpora, uploads, documents, vectors, descriptions, preview)
    for part in (*of_corpora, jobs, events, side_runs, *of_answers, *of_one, *of_review, *of_models, metrics, usage):
        whole.include_router(part.router, responses={**ANYWHERE, **WITH_KEYS})
    whole.include_router(health.router, responses=ANYWHERE)
    whole.include_router(page.router)
    return whole.routes


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document, which is the same for every application."""
    return describe(routes())
