"""The benchmark of the page asks for all addresses, over a small job here."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import page


def test_what_views_ask_is_measured_and_a_view_that_loads_too_much_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "VIEWS", ("/docs",))  # it has one script of more than a megabyte
    monkeypatch.setattr(page, "MAX_MILLISECONDS", 1e6)
    sizes = ["--documents", "600", "--categories", "9", "--rounds", "1"]
    monkeypatch.setattr(sys, "argv", ["page", *sizes, "--keep", str(tmp_path)])
    assert page.main() == 1
    table, told = capsys.readouterr()
    rows = [line.split() for line in table.splitlines()[1:]]
    assert len(rows) == len(page.OPERATIONS) + len(page.POSTS) + 1
    assert rows[-1][4:] == ["/docs", "FAILS,", "large"]
    assert f"1 of {len(rows)} take or send more than they may: /docs" in told
    assert all(float(first) > 0 and float(median) > 0 for first, median, *_ in rows)

    made = json.loads((tmp_path / "made.json").read_text(encoding="utf-8"))
    monkeypatch.setattr(page, "make", lambda *_: pytest.fail("it is made again"))
    assert page.made_in(tmp_path, 600, 9)._asdict() == made
