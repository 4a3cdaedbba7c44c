"""Odd files over HTTP, as strangers send them: of each, the right answer stands in a table of `black_box`."""

import pytest
from starlette.testclient import TestClient

from app.core.settings import Settings
from tests.app.uploads.black_box import encodings, formats, names, other_tools, tables, wrong_files
from tests.app.uploads.black_box.cases import Case

TABLES = (formats, tables, encodings, names, wrong_files, other_tools)
CASES = [case for table in TABLES for case in table.CASES]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Limits so low that small files pass them."""
    small = {"max_line_bytes": 2**14, "max_files": 50, "max_cells": 10_000, "max_fields_bytes": 2**13}
    return settings.model_copy(update=small)


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_odd_file_gets_the_right_answer(case: Case, client: TestClient) -> None:
    case.check(client)
