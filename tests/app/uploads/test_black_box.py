"""Odd files over HTTP, as strangers send them: of each, the right answer stands in a table of `black_box`."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest
from starlette.testclient import TestClient

from app.core.settings import Settings
from app.http import main
from tests.app.uploads.black_box import encodings, formats, names, other_tools, tables, wrong_files
from tests.app.uploads.black_box.cases import Case

TABLES = (formats, tables, encodings, names, wrong_files, other_tools)
ON_BOTH = (encodings, names, other_tools)  # databases: what they store may differ there (make test-slow)

Services = Callable[[str], TestClient]


def parameter(case: Case, kind: str, *marks: pytest.MarkDecorator) -> object:
    """A case on a database."""
    return pytest.param(case, kind, marks=marks, id=f"{case.name}, {kind}")


CASES = [parameter(case, "sqlite") for table in TABLES for case in table.CASES]
CASES += [
    parameter(case, "postgresql", pytest.mark.slow) for table in ON_BOTH for case in table.CASES if case.status == 200
]


@pytest.fixture(scope="module")
def services(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """A service over each kind of database, for all cases: each has a corpus of its own."""
    folder = tmp_path_factory.mktemp("services")
    with ExitStack() as stack:

        @cache
        def service(kind: str) -> TestClient:
            if kind == "sqlite":
                url = f"sqlite:///{shutil.copy(request.getfixturevalue('migrated_file'), folder)}"
            else:
                url = request.getfixturevalue("migrated_postgres")
            settings = Settings(
                data_folder=folder,
                database_url=url,
                trusted_hosts="testserver",
                max_upload_bytes=2**20,
                max_document_bytes=2**12,
                max_line_bytes=2**14,
                max_files=50,
                max_cells=10_000,
                max_fields_bytes=2**13,
            )  # limits so low that small files pass them
            return stack.enter_context(TestClient(main.create_app(settings)))

        yield service


@pytest.fixture
def client(kind: str, services: Services) -> TestClient:
    """A client of the service over this kind of database."""
    return services(kind)


@pytest.mark.parametrize(("case", "kind"), CASES)
def test_an_odd_file_gets_the_right_answer(case: Case, client: TestClient) -> None:
    case.check(client)


def test_the_cases_have_names_of_their_own() -> None:
    found = [case.name for table in TABLES for case in table.CASES]
    assert len(found) == len(set(found)) > 400
