"""The benchmark of lists reads all of them, on few rows here."""

import json

import pytest

from benchmarks import lists


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_each_list_is_read_and_reported(
    kind: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.many_rows.N_JOBS", 3)
    monkeypatch.setattr("benchmarks.many_rows.N_SWEEPS", 10)
    monkeypatch.setattr(lists, "MAX_MILLISECONDS", -1.0)
    misses = lists.measure(kind, 400, 1)
    figures = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(misses) == len(figures) == len(list(lists.paths(400)))
    rows = {each["list"]: each["rows"] for each in figures}
    assert rows["/v1/jobs/JOB/documents?limit=1000"] == 400
    assert rows["/v1/jobs/JOB/documents?search=needle"] == 1
    assert rows["/v1/jobs/JOB/documents?category=none"] == 4
    assert rows["/v1/corpora/CORPUS/documents?label=nothing"] == 0


@pytest.mark.slow
def test_lists_are_read_where_people_have_decided(capsys: pytest.CaptureFixture[str]) -> None:
    lists.measure("sqlite", 400, 1, is_decided=True)
    rows = {each["list"]: each["rows"] for each in map(json.loads, capsys.readouterr().out.splitlines())}
    assert rows["/v1/jobs/JOB/documents?limit=1000"] == 400
    assert rows["/v1/jobs/JOB/decisions"] == 5
    assert rows["/v1/jobs/JOB/documents?category=none"] == 100, "more than 4 since some are set aside"
