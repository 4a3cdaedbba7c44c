"""The benchmark of a long queue asks all its questions, of a short one here."""

import json

import pytest

from benchmarks import queue


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_each_question_is_asked_and_reported(
    kind: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "MAX_MILLISECONDS", -1.0)
    misses = queue.measure(kind, 40, 3, 1)
    figures = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(misses) == len(figures) == 6 + len(queue.LISTS)
    assert {each["database"] for each in figures} == {kind}
    assert all(each["least_ms"] <= each["ms"] for each in figures)
