"""What is no file of documents, or is damaged, or is far more than it seems: bombs stop at the limit."""

# A case a line, however long, and in all scripts.
# ruff: noqa: E501

import base64
import io
import tarfile
import zipfile
import zlib
from functools import cache

from tests.app.uploads.black_box.cases import Case, Sent, document, form, packed, raw, rows, texts, typed
from tests.app.uploads.files import with_members_changed, workbook, zip_of

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
HTML = "<!DOCTYPE html>\n<html><head><title>x</title></head><body><p>text, label</p></body></html>\n"
MAIL = (
    "Return-Path: <a@example.org>\nFrom: A <a@example.org>\nTo: b@example.org\nSubject: Hello\n\nHow are you, today?\n"
)
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 1_000
CSV = "text,label\na,x\nb,y\n"
DOCX = zip_of({"[Content_Types].xml": "<Types/>", "_rels/.rels": "", "word/document.xml": "<w:document/>"})
PPTX = zip_of({"[Content_Types].xml": "<Types/>", "ppt/presentation.xml": ""})
ODS = zip_of({"mimetype": "application/vnd.oasis.opendocument.spreadsheet", "content.xml": "<x/>", "META-INF/manifest.xml": ""})  # fmt: skip
NUMBERS = zip_of({"Index/Document.iwa": b"\0\xff\x01", "Index/Tables/Tile.iwa": b"\0\xff\x02", "preview.jpg": b"\xff\xd8\xff"})  # fmt: skip


def tar_of(name: str, data: bytes) -> bytes:
    """A tar archive with one file."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def encrypted(data: bytes) -> bytes:
    """A ZIP that says that its first file has a password."""
    found = bytearray(data)
    found[found.index(b"PK\x01\x02") + 8] |= 1
    found[found.index(b"PK\x03\x04") + 6] |= 1
    return bytes(found)


@cache
def bomb(n_bytes: int) -> bytes:
    """A gzip that becomes so many bytes."""
    return packed(b"text\n" + b"a\n" * (n_bytes // 2))


def lying_zip(n_bytes: int) -> bytes:
    """A ZIP with a file that is far longer than it says."""
    data = bytearray(zip_of({"a/1.txt": "x" * n_bytes}))
    short = (100).to_bytes(4, "little")
    at, entry = data.index(b"PK\x03\x04"), data.index(b"PK\x01\x02")
    data[at + 22 : at + 26] = short
    data[entry + 24 : entry + 28] = short
    return bytes(data)


KINDS = [
    Case("a PDF", raw(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n"), 415, [], detail=("PDF", "text")),
    Case("a PDF that is called CSV", form(b"%PDF-1.7\n", "export.csv", "text/csv"), 415, [], detail=("PDF",)),
    Case("an image", raw(PNG), 415, [], detail=("image",)),
    Case("an image that is called one", typed(PNG, "image/png"), 415, [], detail=("image",)),
    Case("a JPEG", raw(b"\xff\xd8\xff\xe0\0\x10JFIF\0"), 415, [], detail=("image",)),
    Case("a web page", raw(HTML), 415, [], detail=("web page", "CSV")),
    Case("a web page that is called CSV", form(HTML, "export.csv", "text/csv"), 415, [], detail=("web page",)),
    Case("an old Excel's file that is a web page", form("<html xmlns:o=...><table><tr><td>text</td></tr></table></html>", "export.xls", "application/vnd.ms-excel"), 415, [], detail=("web page",)),
    Case("XML", raw('<?xml version="1.0"?>\n<rows><row text="a"/></rows>'), 415, [], detail=("XML", "CSV")),
    Case("a Word document", form(DOCX, "Brief.docx"), 415, [], detail=("Word", "text")),
    Case("a presentation", raw(PPTX), 415, [], detail=("presentation",)),
    Case("a spreadsheet of LibreOffice", form(ODS, "Tabelle.ods"), 415, [], detail=("OpenDocument", "XLSX")),
    Case("a spreadsheet of Apple's Numbers", form(NUMBERS, "Tabelle.numbers"), 415, [], detail=("Numbers", "CSV")),
    Case("an old workbook", form(OLE, "Mappe.xls", "application/vnd.ms-excel"), 415, [], detail=("old", "XLSX")),
    Case("a workbook with a password", raw(OLE + "EncryptedPackage".encode("utf-16-le")), 415, [], detail=("encrypted", "password")),
    Case("a ZIP with a password", raw(encrypted(zip_of({"a/1.txt": "x"}))), 415, [], detail=("encrypted", "password")),
    Case("a tar archive", raw(tar_of("a/1.txt", b"some words")), 415, [], detail=("tar", "ZIP")),
    Case("a .tar.gz", form(packed(tar_of("a/1.txt", b"some words")), "mails.tar.gz"), 415, [], detail=("tar", "ZIP")),
    Case("a 7z archive", raw(b"7z\xbc\xaf\x27\x1c\0\4"), 415, [], detail=("7z", "ZIP")),
    Case("a RAR archive", raw(b"Rar!\x1a\x07\1\0"), 415, [], detail=("RAR", "ZIP")),
    Case("bzip2", raw(b"BZh91AY&SY"), 415, [], detail=("bzip2", "gzip")),
    Case("xz", raw(b"\xfd7zXZ\0\0\4"), 415, [], detail=("xz", "gzip")),
    Case("zstd", raw(b"\x28\xb5\x2f\xfd\x04\0"), 415, [], detail=("zstd", "gzip")),
    Case("RTF", raw("{\\rtf1\\ansi some words}"), 415, [], detail=("RTF",)),
    Case("a pickle", raw(b"\x80\x04\x95\x10\0\0\0\0\0\0\0]."), 415, [], detail=("pickle",)),
    Case("a database", raw(b"SQLite format 3\0" + b"\0" * 100), 415, [], detail=("SQLite", "CSV")),
    Case("one mail", form(MAIL, "hello.eml", "message/rfc822"), 415, [], detail=("mail", "ZIP")),
    Case("one mail, nothing said", raw(MAIL), 415, [], detail=("mail", "ZIP")),
    Case("a mailbox", form("From a@example.org Thu Jan  1 00:00:00 2024\n" + MAIL, "inbox.mbox", "application/mbox"), 415, [], detail=("mail", "ZIP")),
    Case("a mailbox, nothing said", raw("From a@example.org Thu Jan  1 00:00:00 2024\n" + MAIL), 415, [], detail=("mailbox", ".eml")),
    Case("bytes of nothing", raw(bytes(range(128, 256)) * 20), 422, [], detail=("utf-8", "byte offset 0")),
]  # fmt: skip
EMPTY = [
    Case("nothing", raw(b""), 422, [], detail=("empty",)),
    Case("blanks", raw(" \n\t\n\r\n"), 422, [], detail=("empty",)),
    Case("a mark and nothing else", raw(b"\xef\xbb\xbf"), 422, [], detail=("empty",)),
    Case("nothing in gzip", raw(packed(b"")), 422, [], detail=("empty",)),
    Case("an empty array", raw("[]"), 422, [], detail=("empty",)),
    Case("an empty ZIP", raw(zip_of({})), 422, [], detail=("no file",)),
    Case("an empty file of a form", form(b"", "a.csv"), 422, [], detail=("empty",)),
    Case("delimiters and nothing else", raw(",,\n,,\n", format="csv"), 422, [], detail=("empty",)),
]  # fmt: skip
FORM = "multipart/form-data; boundary=b"
SENT = [
    Case("a form without a file", typed('--b\r\nContent-Disposition: form-data; name="text"\r\n\r\na\r\n--b--\r\n', FORM), 422, [], detail=("no file", "-F file=@")),
    Case("a form with two files", typed('--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\na\r\n--b\r\nContent-Disposition: form-data; name="other"; filename="b"\r\n\r\nb\r\n--b--\r\n', FORM), 422, [], detail=("more than one file",)),
    Case("a form with the file under another name", typed(f'--b\r\nContent-Disposition: form-data; name="upload"; filename="a.csv"\r\n\r\n{CSV}\r\n--b--\r\n', FORM), documents=[document("a", "x"), document("b", "y")]),
    Case("a form that breaks off", typed(f'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n{CSV}', FORM), 422, [], detail=("breaks off",)),
    Case("a form without a boundary", typed(CSV, "multipart/form-data"), 422, [], detail=("boundary",)),
    Case("a form that is none", typed(CSV, FORM), 422, [], detail=("form",)),
    Case("a form's name of a file in Latin-1", typed('--b\r\nContent-Disposition: form-data; name="file"; filename="Größe.csv"\r\n\r\n'.encode("latin-1") + CSV.encode() + b"\r\n--b--\r\n", FORM), documents=[document("a", "x"), document("b", "y")]),
    Case("a content type that nobody knows", typed(CSV, "application/x-unknown"), 415, [], detail=("application/x-unknown", "text/csv")),
    Case("a content type that is none", typed(CSV, "csv"), 415, [], detail=("csv",)),
    Case("a compression that nobody knows", Sent(CSV.encode(), None, "text/csv", "br"), 415, [], detail=("br", "gzip")),
    Case("a gzip that is none", Sent(CSV.encode(), None, "text/csv", "gzip"), 422, [], detail=("gzip",)),
    Case("a gzip that breaks off", raw(packed(CSV * 100)[:-20]), 422, [], detail=("gzip",)),
    Case("a gzip that is damaged", raw(packed(CSV)[:-8] + b"\0" * 8), 422, [], detail=("gzip",)),
    Case("deflate without gzip", Sent(zlib.compress(CSV.encode()), None, "text/csv", "deflate"), 415, [], detail=("deflate", "gzip")),
    Case("gzip within gzip within gzip", raw(packed(packed(packed(CSV)))), 422, [], detail=("compressed more than",)),
    Case("a ZIP that breaks off", raw(zip_of({"a/1.txt": "x" * 500, "b/2.txt": "y"})[:-30]), 422, [], detail=("ZIP", "damaged")),
    Case("a workbook that breaks off", raw(workbook(a=[["text"], ["a"]])[:-200]), 422, [], detail=("damaged",)),
    Case("a Parquet file that breaks off", raw(b"PAR1" + b"\0" * 50), 422, [], detail=("Parquet",)),
    Case("a ZIP with a file that is damaged", raw(zip_of({"a/1.txt": "some words"}, zipfile.ZIP_STORED).replace(b"some words", b"same words")), 422, [], detail=("damaged",)),
    Case("a format that is not there", raw(CSV, format="yaml"), 422, [], detail=("format",)),
    Case("objects that are called CSV", typed(rows({"text": "a"}), "text/csv"), documents=texts("a"), counts={"format": "ndjson"}),
    Case("CSV that is called objects", typed(CSV, "application/x-ndjson"), 422, [], detail=("JSON", "line 1")),
    Case("CSV that is called JSON", form(CSV, "a.json", "application/json"), 422, [], detail=("JSON",)),
]  # fmt: skip
LIMITS = [
    Case("a body that is too long", raw(b"text\n" + b"some words\n" * 100_000), 413, [], detail=("NEWFOUND_MAX_UPLOAD_BYTES", "1048576")),
    Case("a file of a form that is too long", form(b"text\n" + b"some words\n" * 100_000, "a.csv"), 413, [], detail=("NEWFOUND_MAX_UPLOAD_BYTES",)),
    Case("a bomb of gzip", raw(bomb(2**27)), 413, [], detail=("NEWFOUND_MAX_UPLOAD_BYTES", "decompressed")),
    Case("a bomb of gzip in gzip", Sent(packed(bomb(2**27)), None, "text/csv", "gzip"), 413, [], detail=("NEWFOUND_MAX_UPLOAD_BYTES",)),
    Case("a bomb in a form", form(bomb(2**27), "a.csv.gz"), 413, [], detail=("NEWFOUND_MAX_UPLOAD_BYTES",)),
    Case("a bomb of a ZIP", raw(zip_of({"a/1.txt": "x" * 2**25})), 413, [], detail=("NEWFOUND_MAX_UPLOAD_BYTES",)),
    Case("a bomb of many files", raw(zip_of({f"a/{n}.txt": "x" * 2**17 for n in range(40)})), 413, [], detail=("NEWFOUND_MAX_UPLOAD_BYTES",)),
    Case("a ZIP that lies about its sizes", raw(lying_zip(2**23)), 422, [], detail=("damaged",)),
    Case("a ZIP of too many files", raw(zip_of({f"a/{n}.txt": "x" for n in range(51)})), 413, [], detail=("NEWFOUND_MAX_FILES", "50")),
    Case("a bomb of a workbook", raw(with_members_changed(workbook(a=[["text"], ["a"]]), "sheet1.xml", b"<sheetData>", b"<sheetData>" + b" " * 2**24)), 413, [], detail=("NEWFOUND_MAX_UPLOAD_BYTES",)),
    Case("a text that is too long", raw(rows({"text": "x" * 4_097}, {"text": "ü" * 2_049}, {"text": "x" * 4_096})), documents=texts("x" * 4_096), errors={1: "NEWFOUND_MAX_DOCUMENT_BYTES", 2: "NEWFOUND_MAX_DOCUMENT_BYTES"}),
    Case("a line that is too long", raw('{"text": "a"}\n{"text": "' + "x" * 2**15 + '"}\n{"text": "b"}\n'), documents=texts("a", "b"), errors={2: "NEWFOUND_MAX_LINE_BYTES"}),
    Case("a record that is too long", raw('text,label\na,x\n"' + "x" * 2**15 + '",y\nb,z\n'), documents=texts("a", "b"), errors={3: "NEWFOUND_MAX_LINE_BYTES"}),
    Case("a text without a line end", form("x" * 2**19, "a.txt"), 422, [], errors={1: "NEWFOUND_MAX_LINE_BYTES"}),
    Case("a header without an end", raw("text," + "x" * 2**19), 422, [], detail=("NEWFOUND_MAX_LINE_BYTES",)),
    Case("fields that are too long", raw(rows({"text": "a", "n": [0] * 4_000}, {"text": "b"})), documents=texts("b"), errors={1: "NEWFOUND_MAX_FIELDS_BYTES"}),
    Case("brackets in brackets", raw('{"text": "a", "n": ' + "[" * 8_000 + "]" * 8_000 + '}\n{"text": "b"}\n'), documents=texts("b"), errors={1: "deep"}),
    Case("brackets in brackets and no end", raw("[" * 2**16), 422, []),
    Case("a number of thousands of digits", raw('{"text": "a", "n": ' + "9" * 8_000 + '}\n{"text": "b", "n": 1e999}\n{"text": "c"}\n'), documents=texts("c"), errors={1: "number", 2: "number"}),
]  # fmt: skip
CASES = [*KINDS, *EMPTY, *SENT, *LIMITS]
