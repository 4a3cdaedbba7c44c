"""The notebook among the examples: well-formed, without old output, and each cell does what it shows."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from app.commands.embedded import embedded_service
from newfound_client import Client

FILE = Path(__file__).resolve().parent.parent / "examples" / "notebook.ipynb"


@pytest.fixture
def notebook() -> Any:
    return json.loads(FILE.read_text(encoding="utf-8"))


def test_the_notebook_has_the_form_of_version_4_5_and_no_output(notebook: Any) -> None:
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert set(notebook) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids) and all(re.fullmatch(r"[\w-]{1,64}", id_) for id_ in ids)
    for cell in notebook["cells"]:
        of_code = {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
        assert set(cell) == {"cell_type", "id", "metadata", "source", *of_code}
        assert cell["cell_type"] in ("code", "markdown") and all(isinstance(line, str) for line in cell["source"])
        assert not cell.get("outputs") and cell.get("execution_count") is None


def test_the_notebooks_cells_categorize_the_sample_and_leave_nothing(
    notebook: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed: list[str] = []
    monkeypatch.setenv("NEWFOUND_WORKERS", "1")
    with embedded_service("the test", tmp_path / "data", Path(os.environ["NUMBA_CACHE_DIR"])) as (_, url):
        monkeypatch.setenv("NEWFOUND_URL", url)
        monkeypatch.chdir(FILE.parent)
        names: dict[str, Any] = {}
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), f"{FILE.name}:{cell['id']}", "exec"), names)
                printed.append(capsys.readouterr().out)
        assert list(Client(url).corpora()) == []
    _, uploaded, refused, waited, categories, least_sure, by_category, cuts, unseen, _ = printed
    assert uploaded.startswith("500 documents, 120 of them labeled")
    assert refused.startswith("422 ") and "body.sweeps" in refused
    assert waited.endswith("done: 100%")
    assert "6 known categories" in categories and len(re.findall(r"Robotics +\d+ documents: \w+", categories)) == 1
    assert len(least_sure.splitlines()) == 3
    assert "Robotics" in by_category
    numbers = [int(line.partition(" ")[0]) for line in cuts.splitlines()]
    assert len(numbers) >= 2 and [line.count(";") + 1 for line in cuts.splitlines()] == numbers
    assert all(re.search(r"^\d+ new, \d+% of its pairs are apart in draws: new \d", line) for line in cuts.splitlines())
    assert unseen.count("\n") == 6 and unseen.splitlines()[-1].startswith("50 documents, ")
