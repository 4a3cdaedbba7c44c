"""The API's server: uvicorn, within the bounds of `http_protocol` and as the settings say."""

import logging
import resource
from typing import Any

import uvicorn
from fastapi import FastAPI

from app.core.loading import loading
from app.core.settings import Settings
from app.http.interpreter import calm
from app.http.protocol import bounded

logger = logging.getLogger(__name__)

GRACEFUL_SECONDS = 3  # for open requests when the API ends
# A connection without a request is closed then. It is the server's part to wait longer: a client that asks in the very
# moment gets no answer. Jobs are to be asked for every ten seconds, and proxies keep connections for a minute.
KEEP_ALIVE_SECONDS = 75
OTHER_DESCRIPTORS = 512  # of the database's connections, files and the rest


def run(settings: Settings) -> None:
    """Serve the API in this process, until a signal ends it."""
    allow_descriptors(2 * settings.max_connections + OTHER_DESCRIPTORS)
    uvicorn.run("app.http.server:make_app", factory=True, **options(settings))


def make_app() -> FastAPI:
    """The application, with nothing left to do at its first request."""
    with loading():
        from app.http.main import create_app  # takes a while, and options are wanted without it

        app = create_app()
        app.openapi()
    calm()
    return app


def options(settings: Settings) -> dict[str, Any]:
    """What uvicorn is told."""
    return {
        "host": settings.host,
        "port": settings.port,
        "http": bounded(settings),
        "ws": "none",
        "log_config": None,  # as all else of this process, see `app.observation.logs`
        "access_log": False,  # `app.http.measured` has one
        "proxy_headers": bool(settings.forwarded_allow_ips.strip()),
        "forwarded_allow_ips": settings.forwarded_allow_ips,
        "timeout_graceful_shutdown": GRACEFUL_SECONDS,
        "timeout_keep_alive": KEEP_ALIVE_SECONDS,
    }


def allow_descriptors(n_wanted: int) -> None:
    """Let this process open so many files and connections, if the system does; each connection takes one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < n_wanted:
        logger.warning("the system allows %d open files, the API may need %d: see `ulimit -n`", hard, n_wanted)
        n_wanted = hard
    if soft != resource.RLIM_INFINITY and soft < n_wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (n_wanted, hard))
