"""newfound serve | api | worker | compile | migrate: the service's processes, started from a shell."""

import argparse
import hashlib
import importlib
import importlib.util
import logging
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from app.db import SchemaError, check_schema, connect, migrate
from app.interpreter import calm
from app.settings import Settings
from app.supervisor import ApiEnded, Supervisor, stop_on_signals

GRACEFUL_SECONDS = 3  # for open requests when the API ends


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="newfound", description="Open-set document categorization.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    commands.add_parser("serve", help="migrate, then run API and workers until Ctrl-C").set_defaults(run=serve)
    commands.add_parser("api", help="run the API alone").set_defaults(run=api)
    worker_parser = commands.add_parser("worker", help="run one worker alone")
    worker_parser.add_argument(
        "--name", default=f"{socket.gethostname()}-{os.getpid()}", help="its name, unlike any other's"
    )
    worker_parser.set_defaults(run=worker)
    commands.add_parser("compile", help="compile the sampler's kernels, so that no job waits for it").set_defaults(
        run=compile_kernels
    )
    commands.add_parser("migrate", help="bring the database's schema up to date").set_defaults(run=migrate_database)
    parsed = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        return int(parsed.run(Settings(), parsed))
    except (SchemaError, ApiEnded) as error:
        print(f"newfound: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def serve(settings: Settings, _: argparse.Namespace) -> int:
    """The embedded service, until Ctrl-C or SIGTERM."""
    migrate(settings.database)
    stop_on_signals()
    with Supervisor(settings) as supervisor:
        print(f"Newfound at http://{settings.host}:{settings.port} (API pages: /docs). Ctrl-C ends it.", flush=True)
        try:
            supervisor.watch()
        except KeyboardInterrupt:
            return 0
    return 0


def api(settings: Settings, _: argparse.Namespace) -> int:
    """The API in this process."""
    import uvicorn  # takes a while, and the other commands have no use for it

    check_schema(connect(settings.database))
    importlib.import_module("app.main")  # which uvicorn would load later
    calm()
    # Uvicorn ends its requests, then raises the signal that it got once more: an end that was asked for is no error.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    uvicorn.run(
        "app.main:create_app",
        factory=True,
        host=settings.host,
        port=settings.port,
        timeout_graceful_shutdown=GRACEFUL_SECONDS,
    )
    return 0


def worker(settings: Settings, parsed: argparse.Namespace) -> int:
    """One worker in this process. By name, not by import: app does not know worker."""
    database = connect(settings.database)
    check_schema(database)
    database.engine.dispose()
    os.environ["NUMBA_CACHE_DIR"] = str(kernel_cache(settings))  # numba reads it when it is imported
    return int(importlib.import_module("worker.tasks").run(f"{parsed.name}@newfound"))


def compile_kernels(settings: Settings, _: argparse.Namespace) -> int:
    """Compile the sampler's kernels into the cache that this version's workers read."""
    os.environ["NUMBA_CACHE_DIR"] = str(kernel_cache(settings))
    importlib.import_module("worker.kernels").compile_kernels()
    return 0


def kernel_cache(settings: Settings) -> Path:
    """Where this version's compiled kernels are kept: in NUMBA_CACHE_DIR, or else in the data folder.

    Each version of the sampler has a folder of its own there: numba's index of a file holds references into
    other files, and cannot be read at all once one of those has changed.
    """
    [folder] = importlib.util.find_spec("sampler").submodule_search_locations  # type: ignore[union-attr, misc]
    version = hashlib.sha256()
    for source in sorted(Path(folder).glob("*.py")):
        version.update(source.read_bytes())
    base = Path(os.environ.get("NUMBA_CACHE_DIR") or settings.data_folder / "kernels")
    return base.absolute() / version.hexdigest()[:12]


def migrate_database(settings: Settings, _: argparse.Namespace) -> int:
    """Bring the schema up to date."""
    migrate(settings.database)
    return 0


if __name__ == "__main__":
    sys.exit(main())
