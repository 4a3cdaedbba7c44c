"""newfound serve | api | worker | migrate | keys | prune | backup | categorize ...: what is started from a shell."""

import argparse
import importlib
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError

from app.access.opening import OpenToAll, check_opening
from app.commands import CommandFailed, keys
from app.commands.arguments import add_arguments, add_prune_arguments
from app.core import presence
from app.core.db import Database, connect
from app.core.embedding_models import check_folder, embedding_digest, try_model
from app.core.loading import collect_seldom, loading
from app.core.schema import SchemaError, check_schema, migrate
from app.core.settings import Settings
from app.observation import logs, tracing
from app.processes.address import AddressError, address_of, check_address
from app.processes.environment import WrongSetting, in_force, masked, read_settings
from app.processes.folders import PRIVATE_UMASK, FolderInUse, prepare, served_alone, warn_if_open
from app.processes.kernel_cache import (
    compile_first,
    kernel_cache,
    kernels_are_compiled,
    mark_compiled,
    prepare_kernel_cache,
    turn_to_compile,
)
from app.processes.supervisor import ApiEnded, Supervisor, stop_on_signals
from app.processes.trust import check_trusted
from embedding.folder import UnusableModel

logger = logging.getLogger(__name__)

COMPILING = "the sampler's kernels are being compiled: once per version, for about a minute"
WRONG_SETTING = 2  # the exit code, as of wrong arguments

Preparation = Callable[[Settings], None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    parsed = make_parser().parse_args(arguments)
    if not parsed.is_client:
        os.umask(PRIVATE_UMASK)
    try:
        settings = read_settings()
        process = getattr(parsed, "name", parsed.command)
        level = "WARNING" if parsed.is_client else settings.log_level
        logs.configure("text" if parsed.is_client else settings.log_format, level, process)
        tracing.check(settings)
        if parsed.is_traced:
            tracing.configure(settings, process)
        for prepare_for in parsed.preparations:
            prepare_for(settings)
        return int(parsed.run(settings, parsed))
    except WrongSetting as error:
        return refuse(str(error), WRONG_SETTING)
    except tracing.NoTelemetry as error:
        return refuse(f"NEWFOUND_OTEL: {error}", WRONG_SETTING)
    except (SchemaError, OpenToAll, ApiEnded, AddressError, FolderInUse, CommandFailed) as error:
        return refuse(str(error))
    except DBAPIError as error:
        if error.statement is not None and not isinstance(error, OperationalError | InterfaceError):
            raise  # a mistake of ours: its traceback is wanted
        return refuse(f"the database {masked(settings.database)} cannot be used: {' '.join(str(error.orig).split())}")
    except KeyboardInterrupt:
        return 130


def refuse(reason: str, code: int = 1) -> int:
    """Say on one line each why a command did not do its work; returns the exit code."""
    for line in reason.strip().splitlines():
        print(f"newfound: {line}", file=sys.stderr)
    return code


def make_parser() -> argparse.ArgumentParser:
    """The commands, each with what must be in order before it runs."""
    parser = argparse.ArgumentParser(prog="newfound", description="Open-set document categorization.")
    parser.add_argument("--version", action="version", version=f"newfound {version('newfound')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run: Callable[..., int], help: str, *preparations: Preparation) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=help)
        is_traced = name in ("api", "worker")
        command.set_defaults(command=name, run=run, preparations=preparations, is_client=False, is_traced=is_traced)
        return command

    everything = (prepare_data_folder, prepare_data, prepare_encodings, prepare_kernel_cache, check_embedding_folder)
    add("serve", serve, "migrate, then run the API and workers until Ctrl-C", *everything)
    add("api", api, "run the API alone", prepare_data, check_listening, try_embedding_model)
    for_workers = (prepare_data, prepare_encodings, prepare_kernel_cache, try_embedding_model)
    workers = add("worker", worker, "run one worker alone", *for_workers)
    workers.add_argument("--name", default=f"{socket.gethostname()}-{os.getpid()}", help="unique worker name")
    add(
        "compile",
        compile_kernels,
        "compile the sampler's kernels ahead of time, so that no job waits for them",
        prepare_kernel_cache,
    )
    add("migrate", migrate_database, "bring the database's schema up to date", prepare_data)
    with_keys = add("keys", manage_keys, "make, list and revoke API keys", prepare_data)
    keys.add_arguments(with_keys)
    add_prune_arguments(add("prune", prune, "take out old jobs and checkpoints, and what no job needs", prepare_data))
    in_use = add("backup", backup, "copy the embedded database to a file, while the service runs or not", prepare_data)
    in_use.add_argument("file", type=Path, metavar="FILE", help="that is not there yet")
    empty = add("restore", restore, "make a backup the database of a data folder that has none", prepare_data)
    empty.add_argument("file", type=Path, metavar="FILE", help="that `newfound backup` wrote")
    add("config", config, "show every setting in force").add_argument("--json", action="store_true")
    client = add("categorize", categorize, "categorize the documents of some files, and write the answers to a file")
    client.set_defaults(is_client=True)
    add_arguments(client)
    return parser


def prepare_data_folder(settings: Settings) -> None:
    """Make the data folder."""
    prepare("NEWFOUND_DATA_FOLDER", settings.data_folder.absolute())


def prepare_data(settings: Settings) -> None:
    """Make the folders of a database that is a file, and of a broker that is a folder."""
    if settings.database_url is None or settings.broker.startswith("filesystem:"):
        prepare_data_folder(settings)
    if settings.broker.startswith("filesystem:"):
        check_trusted("NEWFOUND_DATA_FOLDER", settings.data_folder.absolute(), with_group=True)
    url = make_url(settings.database)
    if url.get_backend_name() == "sqlite":
        prepare("NEWFOUND_DATABASE_URL" if settings.database_url else "NEWFOUND_DATA_FOLDER", file_of(url).parent)


def file_of(url: URL) -> Path:
    """The absolute path of an SQLite database."""
    return Path(url.database or "").absolute()


def prepare_encodings(settings: Settings) -> None:
    """Make the folder of encoded corpora."""
    prepare("NEWFOUND_ENCODINGS_FOLDER" if settings.encodings_folder else "NEWFOUND_DATA_FOLDER", settings.encodings)


def check_embedding_folder(settings: Settings) -> None:
    """Raise WrongSetting if the embedding model's folder is not one; the processes that need it try its files."""
    with refused_embedding_model():
        check_folder(settings)


def try_embedding_model(settings: Settings) -> None:
    """Raise WrongSetting if the embedding model, where one is named, cannot make a vector."""
    with refused_embedding_model():
        try_model(settings)


@contextmanager
def refused_embedding_model() -> Iterator[None]:
    """Within this context an embedding model that cannot be used is a WrongSetting."""
    try:
        yield
    except UnusableModel as error:
        raise WrongSetting(f"NEWFOUND_EMBEDDING_MODEL_FOLDER: {error}") from error


def check_listening(settings: Settings) -> None:
    """Raise AddressError if the API cannot listen."""
    check_address(settings.host, settings.port)


def check_keys(settings: Settings) -> None:
    """Raise SchemaError before `newfound migrate`, OpenToAll if strangers could reach the API without a key."""
    database = connect(settings.database)
    try:
        check_schema(database)
        check_opening(database, settings)
    finally:
        database.engine.dispose()


def serve(settings: Settings, _: argparse.Namespace) -> int:
    """The embedded service, until Ctrl-C, SIGTERM or the end of its terminal."""
    stop_on_signals()
    folder = settings.data_folder.absolute()
    try:
        with served_alone(folder):
            warn_if_open(folder)
            check_listening(settings)
            bring_up_to_date(settings)
            check_keys(settings)
            with Supervisor(settings) as supervisor:
                supervisor.wait_until_listening()
                address = address_of(settings.host, settings.port)
                print(f"Newfound at {address} (API pages: /docs). Ctrl-C ends it.", flush=True)
                supervisor.watch()
    except KeyboardInterrupt:
        pass  # an end that was asked for is no error
    return 0


def api(settings: Settings, _: argparse.Namespace) -> int:
    """The API in this process."""
    with loading():
        from app.http import server  # takes a while, and the other commands have no use for it

    check_keys(settings)
    # Uvicorn ends its requests, then raises the signal that it got once more: an end that was asked for is no error.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server.run(settings)
    return 0


def worker(settings: Settings, parsed: argparse.Namespace) -> int:
    """One worker in this process. By name, not by import: app does not know worker."""
    name = f"{parsed.name}@newfound"
    database = connect(settings.database)
    check_schema(database)
    if not kernels_are_compiled(settings):
        compile_first(settings, lambda: say_alive(database, name, settings))
    database.engine.dispose()
    with loading():
        tasks = importlib.import_module("worker.tasks")
    return int(tasks.run(name))


def say_alive(database: Database, name: str, settings: Settings) -> None:
    """Let the database know of a worker that does not work yet."""
    try:
        with database.sessions.begin() as session:
            presence.record(session, name, COMPILING, embedding_digest(settings))
    except SQLAlchemyError as error:
        logger.warning("this worker could not be recorded in the database: %s", error)


def compile_kernels(settings: Settings, _: argparse.Namespace) -> int:
    """Compile the sampler's kernels into the cache that this version's workers read, unless it has them."""
    with turn_to_compile(settings):
        if not kernels_are_compiled(settings):
            with loading():
                kernels = importlib.import_module("worker.kernels")
            collect_seldom()
            kernels.compile_kernels()
            mark_compiled(settings)
    logger.info("the kernels are compiled, in %s", kernel_cache(settings))
    return 0


def migrate_database(settings: Settings, _: argparse.Namespace) -> int:
    """Bring the schema up to date."""
    bring_up_to_date(settings)
    return 0


def bring_up_to_date(settings: Settings) -> None:
    """Upgrade the schema, in one transaction. Raises SchemaError if it is that of a newer version."""
    from alembic.util import CommandError  # takes a while, and no worker needs it

    try:
        migrate(settings.database)
    except CommandError as error:
        raise SchemaError(f"the schema of {masked(settings.database)} is at another version: {error}") from error


def manage_keys(settings: Settings, parsed: argparse.Namespace) -> int:
    """Make, list or revoke API keys."""
    return keys.run(settings, parsed)


def prune(settings: Settings, parsed: argparse.Namespace) -> int:
    """Take out what is old enough."""
    from app.commands import upkeep  # takes a while, as below

    return upkeep.prune(settings, parsed)


def backup(settings: Settings, parsed: argparse.Namespace) -> int:
    """Copy the embedded database to a file."""
    from app.commands import upkeep

    return upkeep.backup(settings, parsed)


def restore(settings: Settings, parsed: argparse.Namespace) -> int:
    """Make a backup the embedded database."""
    from app.commands import upkeep

    return upkeep.restore(settings, parsed)


def config(settings: Settings, parsed: argparse.Namespace) -> int:
    """Print every setting as it is in force, and whether it comes from the environment."""
    shown = in_force(settings)
    if parsed.json:
        print(json.dumps({name: {"value": value, "from": origin} for name, value, origin in shown}, indent=2))
    else:
        for name, value, origin in shown:
            print(f"{name} = {value}  ({origin})")
    return 0


def categorize(_: Settings, parsed: argparse.Namespace) -> int:
    """Categorize the documents of some files."""
    from app.commands import categorize as command  # takes a while, and no process of the service needs it

    return command.run(parsed)
