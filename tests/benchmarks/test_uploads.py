"""The upload benchmark: files that say the same in every format, what it calls a miss, and one small run."""

import json
import sys

import pytest

from app.uploads.limits import ReadLimits
from app.uploads.rows import Row
from benchmarks import uploads
from benchmarks.uploads import FORMATS, Contents
from tests.app.uploads.files import read

TEXTS = [
    {"key": "a", "text": 'one, "two"\nthree', "label": "x y", "year": "1999"},
    {"key": "b", "text": "Größe 🙂", "label": None},
]
BAGS = [{"counts": {"f3": 2, "f1": 1}, "label": "x"}, {"counts": {"f2": 5}, "label": "y"}]
SAME = Contents(documents=2, labeled=1, labels=1, digest="a")


def rows_of(data):
    """What the service reads of a file, without the places."""
    found = read(data, limits=ReadLimits())
    assert all(isinstance(row, Row) for row in found)
    return [row._replace(line=0, fields=row.fields or None) for row in found]


@pytest.mark.parametrize(
    ("found", "formats"),
    [(TEXTS, ["ndjson", "ndjson.gz", "csv", "xlsx", "parquet"]), (BAGS, ["ndjson", "ndjson.gz", "svmlight"])],
)
def test_a_corpus_is_the_same_in_all_formats_that_can_hold_it(found, formats):
    files = {kind: data for kind, write in FORMATS.items() if (data := write(found)) is not None}
    assert list(files) == formats
    assert all(rows_of(data) == rows_of(files["ndjson"]) for data in files.values())
    assert len(rows_of(files["ndjson"])) == len(found)


def test_what_no_cell_can_hold_is_no_workbook():
    assert FORMATS["xlsx"]([{"key": "a", "text": "x" * 32_768, "label": None}]) is None


def test_a_record_of_a_data_set_is_a_document_that_every_format_can_hold():
    record = {"id": "a", "text": "one\r\ntwo", "label": "x", "year": 1999, "split": "train", "note": ""}
    assert uploads.document_of(record) == {"key": "a", "text": "one\ntwo", "label": "x", "split": "train"}
    assert uploads.document_of({"counts": {"0": 2}, "label": "x y"}) == {"counts": {"f1": 2}, "label": "x-y"}


def test_other_documents_and_lost_ones_are_misses():
    assert list(uploads.misses_of("a", SAME, SAME, 2)) == []
    assert list(uploads.misses_of("a", SAME, SAME, 3)) == ["a: 2 documents are stored of 3"]
    [miss] = uploads.misses_of("a", SAME._replace(digest="b"), SAME, 2)
    assert miss.startswith("a: Contents(") and "but the first format brought" in miss


def test_contents_differ_by_every_part_of_a_document():
    document = {"key": "a", "text": "b", "label": "x", "fields": {"n": "1"}, "is_counts": False}
    others = [{**document, name: value} for name, value in (("key", "c"), ("text", "c"), ("label", None))]
    found = [uploads.contents_of([each]) for each in (document, {**document, "fields": {}}, *others)]
    assert len({contents.digest for contents in found}) == len(found)
    assert found[0][:3] == (1, 1, 1) and found[-1][:3] == (1, 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("most", "code"), [(uploads.MAX_SECONDS, 0), (0.0, 1)])
def test_a_simulated_corpus_is_measured_on_the_embedded_service(monkeypatch, capsys, most, code):
    chosen = {kind: write for kind, write in FORMATS.items() if kind in ("ndjson", "csv")}
    monkeypatch.setattr(uploads, "FORMATS", chosen)
    monkeypatch.setattr(uploads, "MAX_SECONDS", most)
    monkeypatch.setattr(sys, "argv", ["uploads", "--stack", "embedded", "--rounds", "2", "--simulated", "50"])
    assert uploads.main() == code
    out, err = capsys.readouterr()
    lines = [json.loads(line) for line in out.splitlines()]
    assert [(line["corpus"], line["format"]) for line in lines] == [
        (corpus, kind) for corpus in ("simulated", "simulated without keys") for kind in chosen
    ]
    for line in lines:
        assert line["documents"] == 50 and 0 < line["seconds"] <= line["median_seconds"] and line["mb"] > 0
        assert 30 < line["idle_mb"] <= line["peak_mb"]
    assert err.count("not under") == (4 if code else 0)
