"""What is made to harm whoever reads it, read here; `tests/hostile` sends far larger ones to a process."""

import io
import time
import zipfile

import pytest
from python_calamine import CalamineWorkbook

from app.uploads import mails
from app.uploads.formats import sheet_size
from app.uploads.inflate import TemporaryFiles
from app.uploads.limits import ReadLimits
from tests.app.uploads.files import SMALL, read, reasons, refusal, texts, workbook, zip_of
from tests.hostile.files import WORKSHEET, external_entity, laughs, mail, parquet_of, rows, two_directories, xlsx
from tests.waits import slowness

LARGE = ReadLimits(max_bytes=10**8)
SECONDS = 2.0  # for what takes hours if it is read as it asks to be
FAR = "rows and 16384 columns, more than 5000000 cells"


@pytest.mark.parametrize(
    "row",
    [
        b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
        b'<row r="2"><c x=">" r="XFD20000"><v>1</v></c></row>',
        b'<row r="2"><c x=" r=\'A2\'" r="XFD20000"><v>1</v></c></row>',
        b'<row r="2"><c r="XFD20000"/><!-- </row><row r="1"> --></row>',
        b'<row r="2"><c\nr\n=\n"XFD20000"></c></row>',
        b'<x:row xmlns:x="x" r="2"><x:c r="XFD20000"/></x:row>',
    ],
)
def test_no_cell_is_so_far_away_that_nobody_measures_it(row: bytes) -> None:
    assert FAR in refusal(rows(row), limits=LARGE)


@pytest.mark.parametrize(
    "row, reason",
    [
        (b'<row><c><v>1</v><row r="1"/></c></row>', "<row> in <c>"),
        (b'<row><row r="1"/></row>', "<row> in <row>"),
        (b"<row><c><c/></c></row>", "<c> in <c>"),
        (b"<row><c </row>", "is no XML"),
        (b"<row>" + b"<a>" * 300, "more than 256 tags in tags"),
        (b"<row><c r='A2' r='XFD2'/></row>", "duplicate attribute"),
        (b"<row a='" + b"x" * 3_000_000 + b"'/>", "longer than 1048576 bytes"),
    ],
)
def test_a_sheet_that_two_programs_would_read_differently_is_refused(row: bytes, reason: str) -> None:
    assert reason in refusal(rows(row), limits=LARGE)


def test_rows_that_a_comment_takes_back_are_counted() -> None:
    row = b"<row>" + b"<c/>" * 300 + b'</row><!--<row r="1">-->'
    assert "101 rows and 300 columns" in refusal(rows(row * 100), limits=ReadLimits(max_cells=1_000))


def test_no_workbook_declares_entities() -> None:
    for data in (laughs(), external_entity()):
        assert refusal(data, limits=LARGE).endswith("its XML declares a document type")


def test_the_library_reads_the_directory_that_was_measured() -> None:
    """Of two directories in one ZIP either may be found, but the same one by all."""
    assert texts(read(two_directories(), limits=LARGE)) == {2: "1"}


def test_two_files_of_one_name_are_refused() -> None:
    data = xlsx(WORKSHEET + b"<sheetData/></worksheet>", extra={"XL\\worksheets\\SHEET1.xml": b"<a/>"})
    assert "two files called" in refusal(data, limits=LARGE)


def test_strings_that_are_shared_count_as_often_as_they_are_shared() -> None:
    strings = b"<sst><si><t>" + b"x" * 1_000 + b"</t></si></sst>"
    cells = b'<row><c t="s"><v>0</v></c></row>' * 2_000
    sheet = WORKSHEET + b"<sheetData>" + cells + b"</sheetData></worksheet>"
    few = ReadLimits(max_cells=20_000)
    other = {"a/sharedStrings.xml": b"<sst>" + b"<si/>" * 10 + b"</sst>"}
    assert "1280000 bytes together, 64 for each of NEWFOUND_MAX_CELLS" in refusal(
        xlsx(sheet, strings, other), limits=few
    )


def test_what_was_measured_is_what_is_read() -> None:
    with TemporaryFiles() as files, zipfile.ZipFile(io.BytesIO(workbook(a=[["text"], ["words"]]))) as source:
        packed = sheet_size.measured(source, SMALL, files.new())
        with zipfile.ZipFile(packed) as archive:
            assert set(archive.namelist()) < set(source.namelist())
        packed.seek(0)
        assert CalamineWorkbook.from_filelike(packed).get_sheet_by_index(0).to_python() == [["text"], ["words"]]


@pytest.mark.parametrize(
    "data, reason",
    [
        (mail(b"From: " + b'"' * 1_000_000), "header `From` of the mail is longer than 16384"),
        (mail(b"From: " + b'"' * 16_000), None),
        (mail(b"From: " + b"a.b." * 4_000), None),
        (mail(b"From: " + b"(" * 16_000), None),
        (mail(b"From: " + b"a@b.c," * 2_600), None),
        (mail(b"Content-Type: text/plain;" + b" a=b;" * 3_000), None),
        (mail(b"Content-Type: text/plain; charset=punycode", b"a" * 100_000), "not in punycode"),
        (mail(b"Content-Type: text/plain; charset=unicode_escape", b"\\x41"), "not in unicode_escape"),
        (mail(b"Content-Type: text/plain; charset=rot13", b"a"), "not in rot13"),
        (mail(b"From: =?idna?q?" + b"z." * 4_000 + b"?="), "not in idna"),
        (mail(b"Content-Type: multipart/mixed; boundary=b", b"--b\r\n\r\nx\r\n" * 10_000), "more than 100 parts"),
        (mail(b"From: a", b"\n" * 600_000), "more than 262144 lines"),
    ],
)
def test_a_mail_is_read_or_refused_at_once(data: bytes, reason: str | None) -> None:
    began = time.monotonic()
    found = read(data, limits=LARGE)
    assert time.monotonic() - began < SECONDS * slowness()
    assert reason is None or reason in reasons(found)[1]


def test_a_mail_in_a_mail_is_not_its_body() -> None:
    head = b"Subject: outer\nContent-Type: multipart/mixed; boundary=b\n\n"
    inner = b"--b\nContent-Type: message/rfc822\n\nSubject: inner\n\nsecret\n"
    attached = b"--b\nContent-Type: text/plain\nContent-Disposition: attachment\n\nattached\n"
    assert mails.mail_of(head + inner + attached + b"--b\nContent-Type: text/html\n\n<b>\n--b--\n")[0] == "outer\n\n<b>"


def test_headers_that_go_over_lines_and_are_not_ascii_are_one_text() -> None:
    raw = "Subject: =?utf-8?b?w6Q=?=\r\n =?iso-8859-1?q?=FC?= and\r\n\tmore\r\nFrom: Jürgen <j@x>\r\n\r\nb".encode()
    assert mails.mail_of(raw) == ("äü and more\n\nb", {"from": "Jürgen <j@x>"})


def test_parquet_whose_rows_share_a_long_text_is_read_a_few_at_a_time() -> None:
    data = parquet_of(2_000, 2**19)
    assert len(data) < 100_000
    found = read(data, limits=ReadLimits(max_bytes=2**24, max_document_bytes=2**19))
    assert len(found) < 64 and "NEWFOUND_MAX_UPLOAD_BYTES" in list(reasons(found).values())[-1]


def test_a_path_that_climbs_out_of_an_archive_is_no_label() -> None:
    found = read(zip_of({"../../etc/passwd": "x", "..\\..\\c.txt": "y", "/abs/1.txt": "z"}))
    assert len(reasons(found)) == 2 and all("climbs out" in reason for reason in reasons(found).values())
