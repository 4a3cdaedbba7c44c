"""What label tools, notebooks, crawlers and mailboxes export, and folders in a ZIP."""

# A case a line, however long, and in all scripts.
# ruff: noqa: E501

import json
import zipfile
from io import BytesIO

from tests.app.uploads.black_box.cases import Case, document, form, labels, raw, rows, texts, with_fields
from tests.app.uploads.files import zip_of

LABEL_STUDIO = [
    {
        "id": n,
        "data": {"text": f"text {n}"},
        "annotations": [{"result": [{"from_name": "label", "type": "choices", "value": {"choices": ["Sport"]}}]}],
    }
    for n in range(2)
]
LABEL_STUDIO_MIN = [
    {"text": "a", "id": 1, "sentiment": "Sport", "annotator": 1},
    {"text": "b", "id": 2, "annotator": 1},
]
FRAME = {"text": {"0": "a", "1": "b"}, "label": {"0": "x", "1": "y"}}
TABLE = {"schema": {"fields": [{"name": "text", "type": "string"}]}, "data": [{"text": "a"}, {"text": "b"}]}
JSON = [
    Case("doccano's lists of labels", raw(rows({"id": 1, "text": "a", "label": ["Sport"]}, {"id": 2, "text": "b", "label": []})), 422, [], detail=("label", "list")),
    Case("doccano's lists of labels, unlabeled on purpose", raw(rows({"id": 1, "text": "a", "label": ["Sport"]}), label=""), documents=[with_fields("a", None, {"id": 1, "label": ["Sport"]})]),
    Case("doccano's spans", raw(rows({"text": "a", "label": [[0, 1, "PER"]]})), 422, [], detail=("label", "list")),
    Case("doccano's CSV", form("id,text,label\n1,a,Sport\n", "all.csv", "text/csv"), documents=[document("a", "Sport", id="1")]),
    Case("Label Studio's JSON", form(json.dumps(LABEL_STUDIO, indent=2), "project.json"), 422, [], detail=("text", "id, data, annotations")),
    Case("Label Studio's JSON_MIN", form(json.dumps(LABEL_STUDIO_MIN), "project.json"), documents=[document("a", None, id=1, sentiment="Sport", annotator=1), document("b", None, id=2, annotator=1)], warnings=("none of the 2 documents has a label",)),
    Case("Label Studio's JSON_MIN, with its label named", form(json.dumps(LABEL_STUDIO_MIN), "project.json", label="sentiment"), documents=labels("Sport", None)),
    Case("Label Studio's CSV", form('text,id,choice,annotator\na,1,Sport,1\n', "project.csv"), 422, [], detail=("label=choice",)),
    Case("Prodigy's JSONL", raw(rows({"text": "a", "label": "SPORT", "answer": "accept", "_input_hash": 17})), documents=[document("a", "SPORT", answer="accept", _input_hash=17)]),
    Case("Hugging Face's JSON, with numbers for labels", raw(rows({"text": "a", "label": 0}, {"text": "b", "label": 1})), documents=labels("0", "1")),
    Case("pandas' to_json, by columns", raw(json.dumps(FRAME)), 422, [], detail=("orient", "records")),
    Case("lines that begin with an object of numbers", raw(rows({"meta": {"0": 1}, "text": "a"}, {"meta": {"0": 2}, "text": "b"})), documents=texts("a", "b")),
    Case("pandas' to_json as a table", raw(json.dumps(TABLE)), 422, [], detail=("text", "schema, data")),
    Case("pandas' to_json as values", raw('[["a", "x"], ["b", "y"]]'), 422, [], detail=("object",)),
    Case("a list of strings", raw('["a", "b"]'), 422, [], detail=("object",)),
    Case("one object", raw('{"text": "a", "label": "x"}'), documents=[document("a", "x")]),
    Case("one object over several lines", raw('{\n  "text": "a",\n  "label": "x"\n}\n'), documents=[document("a", "x")]),
    Case("objects over several lines, one after the other", raw('{\n  "text": "a"\n}\n{\n  "text": "b"\n}\n'), documents=texts("a", "b")),
    Case("objects with commas between the lines", raw('{"text": "a"},\n{"text": "b"},\n'), documents=texts("a", "b")),
    Case("a comma too many", raw('[{"text": "a"}, {"text": "b"},]'), documents=texts("a", "b"), errors={3: "JSON"}),
    Case("an array that breaks off", raw('[{"text": "a"}, {"text": "b"}, {"te'), documents=texts("a", "b"), errors={3: "nothing after it can be read"}),
    Case("a line that is no JSON", raw('{"text": "a"}\nnonsense\n[1]\n"b"\nnull\n{"text": "c"}\n'), documents=texts("a", "c"), errors={2: "not JSON", 3: "not an object", 4: "not an object", 5: "not an object"}),
    Case("objects as Python prints them", raw("{'text': 'a', 'label': 'x'}\n{'text': 'b', 'label': 'y'}\n", format="ndjson"), 422, [], detail=("JSON",)),
    Case("lines of Elasticsearch's bulk", raw(rows({"index": {"_id": "1"}}, {"text": "a"}, {"index": {"_id": "2"}}, {"text": "b"})), documents=texts("a", "b"), errors={1: "text is missing", 3: "text is missing"}),
    Case("a text that is a number, a boolean, a list", raw(rows({"text": 1.50}, {"text": True}, {"text": ["a"]}, {"text": None})), documents=texts("1.5", ""), errors={2: "text is not a string", 3: "text is not a string"}),
    Case("an object without text", raw(rows({"text": "a"}, {"label": "x"}, {})), documents=texts("a"), errors={2: "text is missing", 3: "text is missing"}),
]  # fmt: skip


def mail(subject: str, body: bytes, head: str = "Content-Type: text/plain; charset=utf-8\n") -> bytes:
    """A mail as a file."""
    return (
        f"From: Ann <ann@example.org>\nTo: bob@example.org\nSubject: {subject}\nMIME-Version: 1.0\n{head}\n".encode()
        + body
    )


HEADERS = {"from": "Ann <ann@example.org>", "to": "bob@example.org"}
MIXED = (
    b'--b\nContent-Type: text/plain; charset=utf-8\n\nPlease see the bill.\n--b\nContent-Type: application/pdf; name="a.pdf"\n'
    b'Content-Disposition: attachment; filename="a.pdf"\nContent-Transfer-Encoding: base64\n\nJVBERi0=\n--b--\n'
)
MAILS = zip_of(
    {
        "mails/sales/1.eml": mail("=?utf-8?q?Gr=C3=B6=C3=9Fe?=", b"How much?\n"),
        "mails/sales/2.eml": mail("Bill", MIXED, "Content-Type: multipart/mixed; boundary=b\n"),
        "mails/support/3.eml": mail("Help", "Schöne Grüße".encode("cp1252"), "Content-Type: text/plain; charset=windows-1252\n"),
        "mails/support/4.eml": mail("Sum", b"1 =3D 1 =\nof course\n", "Content-Transfer-Encoding: quoted-printable\n"),
        "mails/unlabeled/5.eml": mail("Page", b"<p>Some words</p>\n", "Content-Type: text/html; charset=utf-8\n"),
        "mails/.DS_Store": b"\0\0\0\1Bud1",
        "__MACOSX/mails/sales/._1.eml": b"\0\5\x16\x07",
    }
)  # fmt: skip


def old_names(name: bytes) -> bytes:
    """A ZIP with a file whose name is in UTF-8, but does not say so: Apple's Archive Utility makes such ones."""
    data = zip_of({"x" * len(name): "a", "other/2.txt": "b"}, zipfile.ZIP_STORED)
    return data.replace(b"x" * len(name), name)


def with_password_free_folders() -> bytes:
    """A ZIP that lists its folders, too."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in ("docs/", "docs/sales/", "docs/empty/"):
            archive.mkdir(name)
        archive.writestr("docs/sales/1.txt", "a")
        archive.writestr("docs/2.txt", "b")
    return out.getvalue()


ZIPS = [
    Case("a folder of mails", form(MAILS, "mails.zip"), documents=[
        {"text": "Größe\n\nHow much?", "label": "sales", "fields": HEADERS},
        {"text": "Bill\n\nPlease see the bill.", "label": "sales"},
        {"text": "Help\n\nSchöne Grüße", "label": "support"},
        {"text": "Sum\n\n1 = 1 of course", "label": "support"},
        {"text": "Page\n\n<p>Some words</p>", "label": None},
    ], counts={"rejected": 0}),
    Case("a folder in a folder", raw(zip_of({"a/b/1.txt": "a", "a/c/2.txt": "b", "d/3.txt": "c"})), documents=labels("a/b", "a/c", "d")),
    Case("files in no folder", raw(zip_of({"1.txt": "a", "sport/2.txt": "b"})), documents=labels(None, "sport")),
    Case("folders that mean no label", raw(zip_of({"Unlabeled/1.txt": "a", "sport/2.txt": "b", "unlabelled/3.txt": "c"})), documents=labels(None, "sport", None)),
    Case("one folder around all is no label", raw(zip_of({"export/1.txt": "a", "export/2.txt": "b"})), documents=labels(None, None), warnings=("export", "not taken as a label")),
    Case("folders of Windows", raw(zip_of({"sport\\1.txt": "a", "politics\\2.txt": "b"})), documents=labels("sport", "politics")),
    Case("folders with their own entries", raw(with_password_free_folders()), documents=labels("sales", None)),
    Case("folders with umlauts", raw(zip_of({"Müll/1.txt": "a", "Größe/2.txt": "b"})), documents=labels("Müll", "Größe")),
    Case("folders with umlauts, from a Mac", raw(old_names("Mu\u0308ll/1.txt".encode())), documents=labels("Müll", "other")),
    Case("folders with umlauts, from an old Windows", raw(old_names("Müll/1.txt".encode("cp437"))), documents=labels("Müll", "other")),
    Case("paths that climb", raw(zip_of({"../../etc/passwd.txt": "a", "/abs/2.txt": "b", "C:\\x\\3.txt": "c", "sport/4.txt": "d"})), documents=[document("b", "abs", "abs/2.txt"), document("c", "C:/x", "C:/x/3.txt"), document("d", "sport", "sport/4.txt")], errors={1: ".."}),
    Case("files that are no texts", raw(zip_of({"a/1.txt": "a", "a/2.png": b"\x89PNG\r\n\x1a\n", "b/3.zip": zip_of({"x": "y"}), "b/4.pdf": b"%PDF-1.4"})), documents=texts("a"), errors={2: "an image", 3: "a ZIP", 4: "a PDF"}),
    Case("an empty file of a ZIP", raw(zip_of({"a/1.txt": "", "b/2.txt": "b"})), documents=[document("", "a"), document("b", "b")], counts={"empty": 1}),
    Case("hidden files", raw(zip_of({"a/1.txt": "a", "b/.hidden": "x", ".git/config": "x", "b/Thumbs.db": "x", "b/2.txt": "b"})), documents=texts("a", "b"), errors={}),
    Case("a table and a readme", raw(zip_of({"documents.csv": "text\na\n", "README.md": "x"})), 415, [], detail=("documents.csv", "other files")),
    Case("line ends within a file of a ZIP", raw(zip_of({"a/1.txt": "a\r\nb\r\n", "b/2.txt": "c"})), documents=[{"text": "a\nb\n"}, {"text": "c"}]),
    Case("columns of a ZIP of texts", raw(zip_of({"a/1.txt": "a"}), text="Title"), 422, [], detail=("no column Title", "folders")),
    Case("two files of one name in a ZIP", raw(zip_of({"a/1.txt": "a", "b/1.txt": "b"})), documents=[document("a", "a", "a/1.txt"), document("b", "b", "b/1.txt")]),
]  # fmt: skip
CASES = [*JSON, *ZIPS]
