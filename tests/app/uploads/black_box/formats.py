"""Every format, sent in every way: the same two documents, or those that the format can hold."""

# A case a line, however long, and in all scripts.
# ruff: noqa: E501

import io
from typing import Any

import pyarrow
from pyarrow import parquet

from tests.app.uploads.black_box.cases import Case, Sent, document, form, labels, packed, raw, rows, texts, typed
from tests.app.uploads.files import workbook, zip_of

DOCUMENTS = [document("Galaxies at high redshift", "astronomy", "p1"), document("Solitons in optics", None, "p2")]
TEXTS = texts("Galaxies at high redshift", "Solitons in optics")
FOLDERS = [
    document("Galaxies at high redshift", "astronomy", "astronomy/p1.txt"),
    document("Solitons in optics", None, "unlabeled/p2.txt"),
]
BAGS = [
    {"text": '{"f1":3,"f2":1}', "label": "1", "is_counts": True},
    {"text": '{"f2":2}', "label": "2", "is_counts": True},
]


def table(columns: dict[str, Any]) -> bytes:
    """A Parquet file."""
    out = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), out)
    return out.getvalue()


OBJECTS = [
    {"key": "p1", "text": "Galaxies at high redshift", "label": "astronomy"},
    {"key": "p2", "text": "Solitons in optics"},
]
LISTS = [["key", "text", "label"], ["p1", "Galaxies at high redshift", "astronomy"], ["p2", "Solitons in optics", None]]
NAMES = ("key", "text", "label")
LINES = "\n".join(",".join(cell or "" for cell in row) for row in LISTS) + "\n"
ARRAY = "[\n  " + ",\n  ".join(line for line in rows(*OBJECTS).decode().splitlines()) + "\n]\n"

# Of each format: the file's ending, what a careful client calls it, the file, and what it holds.
FILES: dict[str, tuple[str, str, bytes, list[dict[str, Any]]]] = {
    "ndjson": ("jsonl", "application/x-ndjson", rows(*OBJECTS), DOCUMENTS),
    "json": ("json", "application/json", ARRAY.encode(), DOCUMENTS),
    "csv": ("csv", "text/csv", LINES.encode(), DOCUMENTS),
    "tsv": ("tsv", "text/tab-separated-values", LINES.replace(",", "\t").encode(), DOCUMENTS),
    "text": ("txt", "text/plain", b"Galaxies at high redshift\nSolitons in optics\n", TEXTS),
    "zip": (
        "zip",
        "application/zip",
        zip_of({"astronomy/p1.txt": "Galaxies at high redshift", "unlabeled/p2.txt": "Solitons in optics"}),
        FOLDERS,
    ),
    "xlsx": (
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        workbook(Documents=LISTS),
        DOCUMENTS,
    ),
    "parquet": (
        "parquet",
        "application/vnd.apache.parquet",
        table({name: [row.get(name) for row in OBJECTS] for name in NAMES}),
        DOCUMENTS,
    ),
    "svmlight": ("svm", "text/x-svmlight", b"1 1:3 2:1\n2 2:2 # rare\n", BAGS),
}


def ways(ending: str, content_type: str, data: bytes) -> dict[str, Sent]:
    """A file as it is sent by different people."""
    return {
        "curl -T": raw(data),
        "curl --data-binary": typed(data, "application/x-www-form-urlencoded"),
        "with its content type": typed(data, content_type),
        "as bytes": typed(data, "application/octet-stream"),
        "gzip by Content-Encoding": Sent(packed(data), None, content_type, "gzip"),
        "curl -T of a .gz": raw(packed(data)),
        "curl -F": form(data, f"documents.{ending}"),
        "curl -F of a .gz": form(packed(data), f"documents.{ending}.gz"),
        "a browser on Windows": form(data, f"Documents.{ending.upper()}", "application/octet-stream"),
        "a form without a name": form(data, "blob", "application/octet-stream"),
    }


CASES = [
    Case(f"{name}: {way}", sent, documents=documents, counts={"accepted": 2, "rejected": 0, "errors": []})
    for name, (ending, content_type, data, documents) in FILES.items()
    for way, sent in ways(ending, content_type, data).items()
]
CASES += [
    Case("curl -d, which takes the line ends away", typed(rows(*OBJECTS).replace(b"\n", b""), "application/x-www-form-urlencoded"), documents=DOCUMENTS),
    Case("a CSV that a browser on Windows calls Excel's", form(LINES, "export.csv", "application/vnd.ms-excel"), documents=DOCUMENTS),
    Case("a CSV that is called text", typed(LINES, "text/plain; charset=utf-8"), documents=DOCUMENTS, counts={"format": "csv"}),
    Case("a CSV in a file called .txt", form(LINES, "documents.txt", "text/plain"), documents=DOCUMENTS, counts={"format": "csv"}),
    Case("tabs in a file called .csv", form(LINES.replace(",", "\t"), "documents.csv", "text/csv"), documents=DOCUMENTS, counts={"delimiter": "\t"}),
    Case("pipes", raw(LINES.replace(",", "|")), documents=DOCUMENTS, counts={"delimiter": "|"}),
    Case("NDJSON in a file called .json", form(rows(*OBJECTS), "documents.json", "application/json"), documents=DOCUMENTS),
    Case("an array in a file called .jsonl", form(ARRAY, "documents.jsonl"), documents=DOCUMENTS),
    Case("an array within an object", raw('{"documents": ' + ARRAY + "}"), documents=DOCUMENTS),
    Case("an array within an object, with other members", raw('{"data": ' + ARRAY + ', "total": 2}'), documents=DOCUMENTS),
    Case("an XLSX that is called CSV", form(FILES["xlsx"][2], "export.csv", "text/csv"), documents=DOCUMENTS, counts={"format": "xlsx"}),
    Case("one CSV in a ZIP", form(zip_of({"export/documents.csv": LINES}), "export.zip"), documents=DOCUMENTS, counts={"format": "csv"}),
    Case("one CSV in a ZIP from a Mac", raw(zip_of({"documents.csv": LINES, "__MACOSX/._documents.csv": b"\0\5\x16\7", ".DS_Store": b"\0"})), documents=DOCUMENTS),
    Case("a .csv.gz with a content encoding, compressed twice", Sent(packed(packed(LINES)), None, "text/csv", "gzip"), documents=DOCUMENTS),
    Case("two gzips in a row, as cat makes them", raw(packed(rows(OBJECTS[0])) + packed(rows(OBJECTS[1]))), documents=DOCUMENTS),
    Case("a table of prose with commas is text", form("One, two, three.\nYes, it is so\n", "prose.txt", "text/plain"), documents=texts("One, two, three.", "Yes, it is so"), warnings=("plain text",)),
    Case("blank lines of a text are no documents", form("One\n\n  \nTwo", "lines.txt"), documents=texts("One", "Two"), counts={"labeled": 0}),
    Case("counts as objects", raw(rows({"counts": {"star": 1, "galaxy": 3}, "label": "a"}, {"counts": {}})), documents=[{"text": '{"galaxy":3,"star":1}', "label": "a", "is_counts": True}, {"text": "", "label": None}], counts={"empty": 1}),
    Case("counts of words that are numbers", raw(rows({"counts": {"0": 3, "7": 1}})), documents=[{"text": '{"0":3,"7":1}', "is_counts": True}]),
    Case("counts that are no whole numbers", raw(rows({"counts": {"star": 0.5}}, {"counts": {"star": 2.0}}, {"counts": {"star": -1}}, {"counts": [1]})), documents=texts('{"star":2}'), errors={1: "whole number", 3: "whole number", 4: "object"}),
    Case("SVMlight with tf-idf instead of counts", raw("1 1:0.31 2:0.7\n"), 422, [], errors={1: "whole number"}),
    Case("SVMlight with -1 for no label", form("+1 1:2\n-1 1:3\n", "a.svm", unlabeled="-1"), documents=labels("1", None)),
    Case("Parquet with categories, numbers and dates", raw(table({"text": ["a", None], "label": pyarrow.array([3.0, None]), "year": [2020, 2021], "n/a": pyarrow.array([None, None], pyarrow.string())})), documents=[document("a", "3", year=2020), document("", None, year=2021)]),
]  # fmt: skip
