"""Files made to harm: each small to send, and large, slow or misleading to read."""

# A file a line, however long.
# ruff: noqa: E501

import gzip
import hashlib
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import pyarrow
from pyarrow import parquet

from sampler.frozen.model import MAGIC
from tests.app.uploads.files import workbook, zip_of

MUCH = 2**28  # bytes that a bomb becomes, where 100 MB are allowed
SHEET = "xl/worksheets/sheet1.xml"
WORKSHEET = b'<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
TITLE = b'<row r="1"><c r="A1" t="inlineStr"><is><t>text</t></is></c></row>'


class Hostile(NamedTuple):
    """A file, as what it is sent, and which answers are well; 200 where all of it is safe to read."""

    name: str
    made: Callable[[], bytes]
    content_type: str = "application/octet-stream"
    statuses: tuple[int, ...] = (413, 422)
    encoding: str = ""


def zeros(n_bytes: int, unit: bytes = b"\0" * 2**20) -> bytes:
    """Gzip of so many zeros."""
    packer = zlib.compressobj(9, wbits=31)
    return b"".join(packer.compress(unit) for _ in range(n_bytes // len(unit))) + packer.flush()


def xlsx(sheet: bytes, strings: bytes | None = None, extra: dict[str, bytes] | None = None) -> bytes:
    """A workbook with a sheet of this XML."""
    with zipfile.ZipFile(io.BytesIO(workbook(a=[["text"], ["a"]]))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    files[SHEET] = sheet
    if strings is not None:
        files["xl/sharedStrings.xml"] = strings
    return zip_of({**files, **(extra or {})})


def rows(xml: bytes, before: bytes = b"") -> bytes:
    """A workbook whose sheet has a header and these rows."""
    return xlsx(WORKSHEET + before + b"<sheetData>" + TITLE + xml + b"</sheetData></worksheet>")


def shared_strings() -> bytes:
    """A million cells that share one string of 30 kB."""
    cell = b'<row><c t="s"><v>0</v></c></row>'
    strings = b"<sst><si><t>" + b"x" * 30_000 + b"</t></si></sst>"
    return xlsx(WORKSHEET + b"<sheetData>" + TITLE + cell * 1_000_000 + b"</sheetData></worksheet>", strings)


def laughs() -> bytes:
    """Entities that are ten of another, ten times over."""
    entities = b"".join(b'<!ENTITY e%d "%b">' % (n, b"&e%d;" % (n - 1) * 10) for n in range(1, 10))
    doctype = b'<!DOCTYPE worksheet [<!ENTITY e0 "ha">' + entities + b"]>"
    row = b'<row><c t="inlineStr"><is><t>&e9;</t></is></c></row>'
    return xlsx(
        b'<?xml version="1.0"?>' + doctype + WORKSHEET[21:] + b"<sheetData>" + row + b"</sheetData></worksheet>"
    )


def external_entity() -> bytes:
    """An entity that is a file of the server."""
    doctype = b'<!DOCTYPE worksheet [<!ENTITY file SYSTEM "file:///etc/passwd">]>'
    row = b'<row><c t="inlineStr"><is><t>&file;</t></is></c></row>'
    sheet = b'<?xml version="1.0"?>' + doctype + WORKSHEET[21:] + b"<sheetData>" + TITLE + row
    return xlsx(sheet + b"</sheetData></worksheet>")


def zip_of_many(n: int) -> bytes:
    """A ZIP of so many empty files, put together by hand: the module takes a minute."""
    local = b"PK\3\4" + struct.pack("<5H3I2H", 20, 0, 0, 0, 0, 0, 0, 0, 1, 0) + b"a"
    entry = b"PK\1\2" + struct.pack("<6H3I5H2I", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    end = b"PK\5\6" + struct.pack("<4H2IH", 0, 0, min(n, 65_535), min(n, 65_535), n * len(entry), len(local), 0)
    return local + entry * n + end


def overlapping(n: int, n_bytes: int) -> bytes:
    """A ZIP in which all entries are the same bytes."""
    data = bytearray(zip_of({"a/0.txt": b"x" * n_bytes}))
    at = data.index(b"PK\1\2")
    entry, end = bytes(data[at : data.index(b"PK\5\6")]), data.index(b"PK\5\6")
    entries = b"".join(entry.replace(b"a/0.txt", b"a/%05d" % number) for number in range(n))
    tail = bytearray(data[end:])
    struct.pack_into("<2HI", tail, 8, n, n, len(entries))
    return bytes(data[:at]) + entries + bytes(tail)


def zip64_lies() -> bytes:
    """A ZIP whose file says that it has 2^63 bytes."""
    data = bytearray(zip_of({"a/1.txt": "some words"}))
    at = data.index(b"PK\1\2")
    extra = struct.pack("<2H2Q", 1, 16, 2**63, 2**63)
    struct.pack_into("<2I", data, at + 20, 2**32 - 1, 2**32 - 1)
    struct.pack_into("<H", data, at + 30, len(extra))
    end = data.index(b"PK\5\6")
    data[end:end] = extra
    struct.pack_into("<I", data, end + len(extra) + 12, end + len(extra) - at)
    return bytes(data)


def two_directories() -> bytes:
    """A ZIP in whose comment stands another end of a directory: programs differ in which one they take."""
    bomb = rows(b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')
    harmless = rows(b"<row><c><v>1</v></c></row>")
    end = bomb.rindex(b"PK\5\6")
    shift = len(bomb)
    moved = bytearray(harmless)
    at = moved.index(b"PK\1\2")
    while moved[at : at + 4] == b"PK\1\2":
        start, *sizes = struct.unpack_from("<I", moved, at + 42) + struct.unpack_from("<3H", moved, at + 28)
        struct.pack_into("<I", moved, at + 42, start + shift)
        at += 46 + sum(sizes)
    struct.pack_into("<I", moved, at + 16, struct.unpack_from("<I", moved, at + 16)[0] + shift)
    first = bytearray(bomb)
    struct.pack_into("<H", first, end + 20, len(moved))
    return bytes(first + moved)


def parquet_of(n: int, n_bytes: int, **options: object) -> bytes:
    """Parquet in which so many rows are the same long text."""
    out = io.BytesIO()
    texts = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * n, pyarrow.int32()), ["x" * n_bytes])
    parquet.write_table(pyarrow.table({"text": texts}), out, compression="zstd", **options)
    return out.getvalue()


def model(header: dict[str, object], data: bytes = b"") -> bytes:
    """A file that begins and ends like a model."""
    told = json.dumps(header).encode()
    body = MAGIC + (1).to_bytes(4, "little") + len(told).to_bytes(8, "little") + told + data
    return body + hashlib.sha256(body).digest()


def array(name: str, kind: str, shape: list[object], start: object = 0) -> dict[str, object]:
    """The description of an array in a model."""
    return {"name": name, "type": kind, "shape": shape, "start": start}


def npz(header: bytes, data: bytes = b"") -> bytes:
    """Keys and vectors of which the latter have this head."""
    head = b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header
    keys = (
        b"\x93NUMPY\1\0" + (60).to_bytes(2, "little") + b"{'descr':'<U1','fortran_order':False,'shape':(1,)}".ljust(60)
    )
    return zip_of({"keys.npy": keys + b"a\0\0\0", "vectors.npy": head + data})


def mail(head: bytes, body: bytes = b"hi") -> bytes:
    """A ZIP with one mail."""
    return zip_of({"in/1.eml": head + b"\r\nSubject: x\r\n\r\n" + body})


def form(n_parts: int = 1, header: bytes = b"", name: bytes = b"a.csv") -> bytes:
    """A form with a file behind so many fields."""
    field = b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n\r\n'
    file = b'--b\r\nContent-Disposition: form-data; name="file"; filename="' + name + b'"\r\n' + header
    return field * (n_parts - 1) + file + b"\r\ntext\r\nwords\r\n--b--\r\n"


FORM = "multipart/form-data; boundary=b"
NDJSON, CSV, JSON = "application/x-ndjson", "text/csv", "application/json"
SAFE = (200, 422)

FILES = [
    Hostile("a bomb of gzip", lambda: zeros(MUCH)),
    Hostile("a bomb of gzip in gzip", lambda: gzip.compress(zeros(MUCH))),
    Hostile("a bomb of gzip as an encoding of gzip", lambda: gzip.compress(zeros(MUCH)), CSV, encoding="gzip"),
    Hostile("a list of encodings", lambda: zeros(2**20), CSV, (415,), "gzip, gzip, gzip"),
    Hostile("gzip in gzip in gzip in gzip", lambda: gzip.compress(gzip.compress(gzip.compress(zeros(2**20))))),
    Hostile("a million streams of gzip", lambda: gzip.compress(b"") * 1_000_000),
    Hostile("a bomb of ZIP", lambda: zip_of({"a/1.txt": b"x" * MUCH})),
    Hostile("a ZIP of two million files", lambda: zip_of_many(2_000_000), statuses=(413,)),
    Hostile("a ZIP of a million files in one place", lambda: overlapping(20_000, 2**20)),
    Hostile("a ZIP with sizes of 2^63", zip64_lies, statuses=SAFE),
    Hostile("a ZIP that leads out of its folder", lambda: zip_of({"../../etc/passwd": "x", "/abs/1.txt": "y", "..\\..\\c.txt": "z"}), statuses=SAFE),
    Hostile("a workbook with a far cell", lambda: rows(b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'), statuses=(413,)),
    Hostile("a far cell behind a > in an attribute", lambda: rows(b'<row r="2"><c x=">" r="XFD20000"><v>1</v></c></row>'), statuses=(413,)),
    Hostile("a far cell behind another in an attribute", lambda: rows(b"<row r=\"2\"><c x=\" r='A2'\" r=\"XFD20000\"><v>1</v></c></row>"), statuses=(413,)),
    Hostile("rows that comments take back", lambda: rows((b"<row>" + b"<c/>" * 300 + b'</row><!--<row r="1">-->') * 20_000), statuses=(413,)),
    Hostile("rows in cells", lambda: rows(b'<row><c r="KN2"><v>1</v><row r="1"/></c></row>' * 20_000), statuses=(422,)),
    Hostile("a workbook with two directories", two_directories, statuses=(200,)),
    Hostile("tags without an end", lambda: xlsx(WORKSHEET + b"<sheetData>" + b"<c " * 5_000_000), statuses=(422,)),
    Hostile("tags in tags", lambda: xlsx(WORKSHEET + b"<a>" * 10_000_000), statuses=(422,)),
    Hostile("a tag of 50 MB", lambda: xlsx(WORKSHEET + b"<a " + b"x" * 50_000_000), statuses=(422,)),
    Hostile("a dimension of all cells", lambda: rows(b"<row><c><v>1</v></c></row>", b'<dimension ref="A1:XFD1048576"/>'), statuses=(200,)),
    Hostile("a million cells that share a long string", shared_strings, statuses=(413,)),
    Hostile("a sheet of more bytes than are allowed", lambda: xlsx(WORKSHEET + b" " * MUCH), statuses=(413,)),
    Hostile("a billion laughs", laughs, statuses=(422,)),
    Hostile("an entity that is a file", external_entity, statuses=(422,)),
    Hostile("Parquet of a text that is repeated", lambda: parquet_of(1_000_000, 2**20), statuses=SAFE),
    Hostile("Parquet of a long text that is repeated", lambda: parquet_of(1_000, 2**23), statuses=SAFE),
    Hostile("a line of 50 MB", lambda: b'{"text": "' + b"x" * 50_000_000 + b'"}\n', NDJSON, (422,)),
    Hostile("a CSV of one line of 50 MB", lambda: b"text\n" + b"x," * 25_000_000, CSV, (422,)),
    Hostile("a million quotes", lambda: b"text\n" + b'"' * 1_000_001, CSV, (200, 422)),
    Hostile("a million lines that open a quote", lambda: b"text,label\n" + b'"a,\n' * 1_000_000, CSV, (200, 422)),
    Hostile("100,000 brackets", lambda: b'{"text": "a", "n": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", NDJSON, (422,)),
    Hostile("30 million brackets", lambda: b"[" * 30_000_000, JSON, (422,)),
    Hostile("objects in objects", lambda: b'{"a":' * 1_000_000 + b"1" + b"}" * 1_000_000, JSON, (422,)),
    Hostile("a number of a million digits", lambda: b'{"text": "a", "n": ' + b"9" * 1_000_000 + b"}\n", NDJSON, (422,)),
    Hostile("a number with a huge exponent", lambda: b'{"text": 1e999999, "n": 1E+400}\n', NDJSON, (422,)),
    Hostile("a name that comes 100,000 times", lambda: b'{"text": "a"' + b', "text": "b"' * 100_000 + b"}\n", NDJSON, (200, 422)),
    Hostile("counts of 1e308", lambda: b'{"counts": {"a": 1e308, "b": 1e308}}\n', NDJSON, (422,)),
    Hostile("a million columns", lambda: b"text," + b",".join(b"%d" % n for n in range(500_000)) + b"\na\n", CSV, (422,)),
    Hostile("UTF-16 without a mark", lambda: "text\nwords\n".encode("utf-16-le"), CSV, (422,)),
    Hostile("two byte order marks", lambda: b"\xff\xfe\xef\xbb\xbftext\nwords\n", CSV, (422,)),
    Hostile("NULs", lambda: b"text\n" + b"\0" * 10_000_000, CSV, (422,)),
    *(Hostile(f"the charset {name}", lambda: b"text\n" + b"a" * 2_000_000, f"text/csv; charset={name}", (422,)) for name in ("unicode_escape", "idna", "punycode", "rot13", "zlib_codec", "hex", "undefined", "utf-7", "../etc", "a" * 5_000)),
    Hostile("a form of 100,000 fields", lambda: form(100_000), FORM, (422,)),
    Hostile("a form with a header of 50 MB", lambda: form(header=b"X: " + b"x" * 50_000_000 + b"\r\n"), FORM, (422,)),
    Hostile("a form with a million headers", lambda: form(header=b"".join(b"X-%d: x\r\n" % n for n in range(1_000_000))), FORM, (422,)),
    Hostile("a form whose file leads out of its folder", lambda: form(name=b"../../../etc/cron.d/x.csv"), FORM, (200, 422)),
    Hostile("a form whose file's name is not UTF-8", lambda: form(name=b"\xff\x00.csv"), FORM, (200, 422)),
    Hostile("a form in a form", lambda: form(header=b"Content-Type: multipart/form-data; boundary=b\r\n"), FORM, (415, 422)),
    Hostile("a mail of quotes", lambda: mail(b"From: " + b'"' * 1_000_000), statuses=(422,)),
    Hostile("a mail of addresses", lambda: mail(b"From: " + b"a.b." * 250_000), statuses=(422,)),
    Hostile("a mail whose type has many parameters", lambda: mail(b"Content-Type: text/plain;" + b" a=b;" * 200_000), statuses=(422,)),
    Hostile("a mail in punycode", lambda: mail(b"Content-Type: text/plain; charset=punycode", b"a" * 3_000_000), statuses=(422,)),
    Hostile("a subject in punycode", lambda: mail(b"Subject: =?punycode?q?" + b"z" * 10_000 + b"?="), statuses=(422,)),
    Hostile("a mail of a million parts", lambda: mail(b"Content-Type: multipart/mixed; boundary=b", b"--b\r\n\r\nx\r\n" * 500_000), statuses=(422,)),
    Hostile("mails in mails", lambda: mail(b"From: a@b.c", b"") + b"", statuses=SAFE),
    Hostile("parts in parts", lambda: mail(b"Content-Type: multipart/mixed; boundary=b", b"--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n" * 50_000), statuses=(422,)),
    Hostile("a mail of empty lines", lambda: mail(b"Content-Type: multipart/mixed; boundary=b", b"\n" * 8_000_000), statuses=(422,)),
    Hostile("text of one word of 5 MB", lambda: b"text\n" + b"'-" * 500_000 + b"\n" + b"a'" * 400_000 + b"\n", CSV, SAFE),
    Hostile("combining marks", lambda: ("text\n" + "a" + "\u0301" * 400_000 + "\n").encode(), CSV, SAFE),
    Hostile("keys of combining marks", lambda: ("text,key\nx,a" + "\u0301\u0323" * 200_000 + "\n").encode(), CSV, SAFE),
]  # fmt: skip

MODELS = [
    Hostile("a model with an array of 2^62 numbers", lambda: model({"facts": {}, "scalars": {}, "arrays": [array("weights", "<f4", [2**31, 2**31])]}), statuses=(422,)),
    Hostile("a model with sizes that overflow", lambda: model({"facts": {}, "scalars": {}, "arrays": [array("weights", "<f4", [2**63, 2**63], 2**64)]}), statuses=(422,)),
    Hostile("a model with an array before its file", lambda: model({"facts": {}, "scalars": {}, "arrays": [array("sizes", "<i8", [1], -64)]}), statuses=(422,)),
    Hostile("a model with a deep header", lambda: model({"facts": {}}).replace(b"{}", b"[" * 100_000), statuses=(422,)),
    Hostile("a model with a header of 2^60 bytes", lambda: MAGIC + (1).to_bytes(4, "little") + (2**60).to_bytes(8, "little") + bytes(64), statuses=(422,)),
    Hostile("a bomb of gzip as a model", lambda: zeros(MUCH), statuses=(422,)),
    Hostile("a pickle as a model", lambda: b"\x80\x04\x95cposix\nsystem\n", statuses=(422,)),
]  # fmt: skip

VECTORS = [
    Hostile("vectors of 2^62 numbers", lambda: npz(b"{'descr':'<f8','fortran_order':False,'shape':(4611686018427387904,2)}"), statuses=(422,)),
    Hostile("vectors of no numbers, many times", lambda: npz(b"{'descr':'<f8','fortran_order':False,'shape':(1,0,9223372036854775807)}"), statuses=(422,)),
    Hostile("vectors that are objects", lambda: npz(b"{'descr':'|O','fortran_order':False,'shape':(1,)}", b"cposix\nsystem\n"), statuses=(422,)),
    Hostile("vectors with a head of brackets", lambda: npz(b"(" * 60_000), statuses=(422,)),
    Hostile("a bomb of vectors", lambda: npz(b"{'descr':'<f8','fortran_order':False,'shape':(1,2)}", bytes(MUCH)), statuses=(413, 422)),
    Hostile("vectors of a line of 50 MB", lambda: b'{"key": "a", "vector": [' + b"1," * 25_000_000 + b"1]}\n", NDJSON, (422,)),
    Hostile("vectors of huge numbers", lambda: b'{"key": "a", "vector": [1e999, 1]}\n', NDJSON, (422,)),
]  # fmt: skip


@cache
def made(file: Hostile) -> bytes:
    """The bytes of a file."""
    return file.made()
