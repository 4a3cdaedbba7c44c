"""Columns: their names, delimiters, headers, quotes and widths, in CSV and in sheets."""

# A case a line, however long, and in all scripts.
# ruff: noqa: E501, RUF001

import datetime
import io
from collections.abc import Callable
from typing import Any

import xlsxwriter

from tests.app.uploads.black_box.cases import Case, document, form, labels, raw, texts, typed, with_fields
from tests.app.uploads.files import with_members_changed, workbook

TWO = [document("a", "x"), document("b", "y")]
GERMAN = "Betreff;Inhalt;Kategorie;Preis\nRückfrage;Wo bleibt’s?;Müll;1,5\n;„Größe“;;2,25\n"
PATIENTS = "Title;Abstract;Category\nOne;Two;x\n"
ODD = ["Größe (cm)", "a.b", "__proto__", "a:b", "日本", "🙂", "NULL", "id", "text length", 'a"b']
ODD_VALUES = ["1,80", "x", "y", "z", "値", "🙃", "null", "7", "2", "q"]


def quoted(cells: list[str]) -> str:
    """A record of CSV with quotes around each cell."""
    return ",".join('"' + cell.replace('"', '""') + '"' for cell in cells) + "\n"


NAMES = [
    Case("Category instead of label", raw("text,Category\na,x\nb,y\n"), 422, [], detail=("text, Category", "label=Category", "label=", "comma")),
    Case("Category, named", raw("text,Category\na,x\nb,y\n", label="category"), documents=TWO),
    Case("Category, unlabeled on purpose", raw("text,Category\na,x\n", label=""), documents=[document("a", None, Category="x")], warnings=("no", "label")),
    Case("Kategorie", raw("Text;Kategorie\na;x\n"), 422, [], detail=("label=Kategorie", "semicolon")),
    Case("an object with a category", raw('{"text": "a", "category": "x"}\n'), 422, [], detail=("label=category",)),
    Case("a sheet with a category", raw(workbook(a=[["text", "Topic"], ["a", "x"]])), 422, [], detail=("label=Topic",)),
    Case("names in capitals with blanks", raw(" TEXT , Label ,KEY\na,x,k\n"), documents=[document("a", "x", "k")]),
    Case("names in full width", raw("ｔｅｘｔ,ｌａｂｅｌ\na,x\nb,y\n"), documents=TWO),
    Case("names in another case in JSON", raw('{"Text": "a", "LABEL": "x"}\n{"TEXT": "b", "label ": "y"}\n'), documents=TWO),
    Case("no text at all", raw("Title;Abstract;Category\nOne;Two is longer;x\n"), 422, [], detail=("Title, Abstract, Category", "semicolon", "text=Abstract", "label=Category")),
    Case("several text columns", raw("Title;Abstract;Category\nOne;Two;x\nThree;;y\n", text=["Title", "Abstract"], label="Category"), documents=[document("One\n\nTwo", "x"), document("Three", "y")], counts={"delimiter": ";"}),
    Case("the same in the fields of a form", form(PATIENTS, "a.csv", text=["Title", "Abstract"], label="Category"), documents=[document("One\n\nTwo", "x")]),
    Case("a column that is not there", raw("text,label\na,x\n", text="Abstract"), 422, [], detail=("Abstract", "text, label", "comma")),
    Case("a label's column that is not there", raw("text,label\na,x\n", label="Klasse"), 422, [], detail=("Klasse", "text, label")),
    Case("a misspelt parameter", raw("text,label\na,x\n", txt="text"), 422, [], detail=("txt",)),
    Case("a misspelt field of a form", form("text,label\na,x\n", "a.csv", lable="label"), 422, [], detail=("lable",)),
    Case("one column for two roles", raw("text,label\na,x\n", text="text", label="text"), 422, [], detail=("two of",)),
    Case("two columns of one name", raw("text,label,note,note\na,x,1,2\n"), 422, [], detail=("note", "rename")),
    Case("two columns that are both the text", raw("Text,TEXT,label\na,b,x\n"), 422, [], detail=("Text and TEXT",)),
    Case("pandas' index", raw(",text,label\n0,a,x\n1,b,y\n"), documents=[with_fields("a", "x", {"column 1": "0"}), with_fields("b", "y", {"column 1": "1"})]),
    Case("fields of odd names", raw(quoted(["text", *ODD]) + quoted(["a", *ODD_VALUES])), documents=[with_fields("a", None, dict(zip(ODD, ODD_VALUES, strict=True)))]),
    Case("an id is no key unless somebody says so", raw("id,text,label\n7,a,x\n8,b,y\n"), documents=[document("a", "x", id="7"), document("b", "y", id="8")]),
    Case("an id as the key", raw("id,text,label\n7,a,x\n8,b,y\n", key="id"), documents=[document("a", "x", "7"), document("b", "y", "8")]),
    Case("too many columns", raw("text," + ",".join(f"c{n}" for n in range(1_000)) + "\na" + "," * 1_000 + "\n"), 422, [], detail=("1001", "NEWFOUND_MAX_COLUMNS")),
    Case("fields of JSON keep their kinds", raw('{"text": "a", "n": 1.5, "b": true, "l": [1, {"c": "d"}], "o": {}, "none": null, "e": ""}\n'), documents=[document("a", None, n=1.5, b=True, l=[1, {"c": "d"}], o={}, e="")]),
]  # fmt: skip
HEADERS = [
    Case("no header", raw("a,x\nb,y\n", format="csv"), 422, [], detail=("a, x", "header=false", "text=")),
    Case("no header, and said so", raw("x,a\ny,b\n", header="false", text="2", label="1"), documents=TWO),
    Case("no header, one column", raw("a\nb\n", format="csv", header="false"), documents=texts("a", "b")),
    Case("a header of unknown names, and said so", raw("Wort,Art\na,x\nb,y\n", text="Wort", label="Art"), documents=TWO),
    Case("a title above the header", raw("Export of 2024,\ntext,label\na,x\n"), 422, [], detail=("Export of 2024",)),
    Case("blank lines above the header", raw("\n\n,\ntext,label\na,x\nb,y\n"), documents=TWO),
    Case("a header and nothing else", raw("text,label\n"), 422, [], detail=("no document",)),
    Case("the header comes again, as cat makes it", raw("text,label\na,x\ntext,label\nb,y\n"), documents=[TWO[0], document("text", "label"), TWO[1]]),
    Case("a header of one column", raw("text\na\nb\n"), documents=texts("a", "b")),
]  # fmt: skip
DELIMITERS = [
    Case("sep=;", raw("sep=;\ntext;label\na;x\nb;y\n"), documents=TWO, counts={"delimiter": ";"}),
    Case("sep=; with quotes, CRLF and a mark", raw('\ufeff"sep=;"\r\ntext;label\r\na;x\r\nb;y\r\n'), documents=TWO),
    Case("sep=^", raw("sep=^\ntext^label\na, b; c^x\n"), documents=[document("a, b; c", "x")], counts={"delimiter": "^"}),
    Case("commas within a text between semicolons", raw("text;label\na, b, c;x\nd, e, f;y\n"), documents=[document("a, b, c", "x"), document("d, e, f", "y")], counts={"delimiter": ";"}),
    Case("a delimiter that is declared", raw("text~label\na~x\nb~y\n", delimiter="~"), documents=TWO),
    Case("a delimiter by name", raw("text\tlabel\na\tx\nb\ty\n", delimiter="tab"), documents=TWO),
    Case("the wrong delimiter is declared", raw("text;label\na;x\n", delimiter="comma"), 422, [], detail=("text;label",)),
    Case("a delimiter that is none", raw("text;label\na;x\n", delimiter=";;"), 422, [], detail=("delimiter", ";;")),
    Case("a delimiter for objects", raw('{"text": "a"}\n', delimiter=";"), 422, [], detail=("delimiter", "ndjson")),
    Case("a sheet for CSV", raw("text\na\n", sheet="Tabelle1"), 422, [], detail=("sheet",)),
    Case("German Excel's CSV UTF-8", form("\ufeff" + GERMAN.replace("\n", "\r\n"), "Export.csv", "application/vnd.ms-excel", text="Inhalt", label="Kategorie"), documents=[document("Wo bleibt’s?", "Müll", Betreff="Rückfrage", Preis="1,5"), document("„Größe“", None, Preis="2,25")]),
    Case("German Excel's CSV", form(GERMAN.encode("cp1252"), "Export.csv", charset="windows-1252", text="Inhalt", label="Kategorie"), documents=[document("Wo bleibt’s?", "Müll", Betreff="Rückfrage", Preis="1,5"), document("„Größe“", None, Preis="2,25")], counts={"charset": "windows-1252"}),
    Case("German Excel's CSV, nothing said", form(GERMAN.encode("cp1252"), "Export.csv"), 422, [], detail=("byte offset 32", "line 2", "windows-1252", "charset=")),
    Case("German Excel's Unicode text", form(GERMAN.replace(";", "\t").encode("utf-16"), "Export.txt", text="Inhalt", label="Kategorie"), documents=[document("Wo bleibt’s?", "Müll", Betreff="Rückfrage", Preis="1,5"), document("„Größe“", None, Preis="2,25")], counts={"charset": "utf-16-le"}),
]  # fmt: skip
QUOTES = [
    Case("quoted newlines", raw('text,label\n"a\nb\r\nc",x\nd,y\n'), documents=[document("a\nb\nc", "x"), document("d", "y")]),
    Case("doubled quotes", raw('text,label\n"say ""hi""",x\n'), documents=[document('say "hi"', "x")]),
    Case("quotes within a text without quotes", raw('text,label\n5" disk and "so" on,x\n'), documents=[document('5" disk and "so" on', "x")]),
    Case("a quote that is never closed", raw('text,label\na,x\n"b,y\nc,z\n'), documents=[document("a", "x"), document("c", "z")], errors={3: "quote"}),
    Case("quotes after a backslash, as MySQL writes them", raw('text,label\n"say \\"hi\\"",x\nb,y\n'), documents=[TWO[1]], errors={2: "written twice"}),
    Case("text behind a closing quote", raw('text,label\n"a" b,x\n"b",y\n'), documents=[TWO[1]], errors={2: "closing quote"}),
    Case("too few and too many values", raw("text,label\na\nb,y\nc,z,!\n"), documents=[document("b", "y")], errors={2: "1 field", 4: "3 fields"}),
    Case("rows of nothing but delimiters", raw("text;label\na;x\n;\nb;y\n;;\n;\n"), documents=TWO, errors={}),
    Case("a blank text in a row is a document", raw("text,label\n,x\na,\n"), documents=[document("", "x"), document("a")], counts={"empty": 1}),
    Case("blanks around a text stay", raw("text,label\n  a  ,x\n"), documents=[document("  a  ", "x")]),
    Case("numbers, dates and decimals stay text", raw("text,label,date,n\n007,1.50,01.02.2024,1e5\n"), documents=[document("007", "1.50", date="01.02.2024", n="1e5")]),
    Case("a formula is a text", raw('text,label\n"=SUM(A1:A9)",x\n'), documents=[document("=SUM(A1:A9)", "x")]),
]  # fmt: skip


def book(fill: Callable[[Any, Any], object]) -> bytes:
    """A workbook that a function fills."""
    out = io.BytesIO()
    with xlsxwriter.Workbook(out) as made:
        fill(made, made.add_worksheet("Tabelle1"))
    return out.getvalue()


def merged(_: Any, sheet: Any) -> None:
    """A label that goes over three rows."""
    sheet.write_row(0, 0, ["text", "label"])
    sheet.write_column(1, 0, ["a", "b", "c", "d"])
    sheet.merge_range(1, 1, 3, 1, "x")


def hidden(made: Any, sheet: Any) -> None:
    """The first sheet is hidden, as those with lists of choices are."""
    sheet.write_row(0, 0, ["text", "label"])
    made.add_worksheet("Daten").write_column(0, 0, ["text", "a"])
    sheet.hide()
    made.worksheets_objs[1].activate()
    made.worksheets_objs[1].set_first_sheet()


def computed(_: Any, sheet: Any) -> None:
    """Formulas with the values that Excel computed, and an error."""
    sheet.write_row(0, 0, ["text", "label"])
    sheet.write_formula(1, 0, '="a"&"b"', None, "ab")
    sheet.write_formula(1, 1, "=1+2", None, 3)
    sheet.write(2, 0, "c")
    sheet.write_formula(2, 1, "=NA()", None, "#N/A")


def far_cell(_: Any, sheet: Any) -> None:
    """One cell at the far end."""
    sheet.write_row(0, 0, ["text", "label"])
    sheet.write(1_048_575, 16_383, "x")


DATED = workbook(a=[["text", "label", "when", 2024], ["a", 3.0, datetime.datetime(2024, 2, 1), 1.5], ["b", True, datetime.datetime(2024, 2, 1, 12, 30), None]])  # fmt: skip
SHEETS = [
    Case("dates, whole floats and booleans of a sheet", raw(DATED), documents=[with_fields("a", "3", {"when": "2024-02-01", "2024": 1.5}), document("b", "true", when="2024-02-01T12:30:00")]),
    Case("empty rows of a sheet keep the numbers of those after them", raw(workbook(a=[["text", "key"], [], ["a", "1"], [], ["b", "x" * 501]])), documents=texts("a"), errors={5: "500"}),
    Case("a second sheet is named", raw(workbook(Daten=[["text", "label"], ["a", "x"]], Liste=[["text"], ["no"]])), documents=[TWO[0]], warnings=("Liste", "sheet=")),
    Case("the second sheet is wanted", raw(workbook(Liste=[["no"]], Daten=[["text", "label"], ["a", "x"]]), sheet="Daten"), documents=[TWO[0]]),
    Case("the first sheet is empty", raw(workbook(Leer=[], Daten=[["text", "label"], ["a", "x"]])), documents=[TWO[0]]),
    Case("a sheet that is not there", raw(workbook(Daten=[["text"], ["a"]]), sheet="Tabelle1"), 422, [], detail=("Tabelle1", "Daten")),
    Case("a hidden sheet", raw(book(hidden)), documents=texts("a")),
    Case("merged cells", raw(book(merged)), documents=[document("a", "x"), document("b", "x"), document("c", "x"), document("d")]),
    Case("merged cells without number", raw(with_members_changed(book(merged), "sheet1.xml", b'<mergeCells count="1">', b"<mergeCells>" + b'<mergeCell ref="A7:A8"/>' * 2_000)), 413, [], detail=("NEWFOUND_MAX_CELLS", "merged")),
    Case("formulas and their errors", raw(book(computed)), documents=labels("3", None)),
    Case("a title above the header of a sheet", raw(workbook(a=[["Export of 2024"], ["text", "label"], ["a", "x"]])), 422, [], detail=("Export of 2024",)),
    Case("a table that begins in the middle of a sheet", raw(workbook(a=[[], [], [None, None, "text", "label"], [None, None, "a", "x"]])), documents=[TWO[0]]),
    Case("no header in a sheet", raw(workbook(a=[["a", "x"], ["b", "y"]]), header="false", text="1", label="2"), documents=TWO),
    Case("a workbook with nothing in it", raw(workbook(a=[])), 422, [], detail=("no sheet", "anything")),
    Case("German Excel's XLSX", form(workbook(Tabelle1=[["Betreff", "Inhalt", "Kategorie"], ["Rückfrage", "Größe", "Müll"]]), "Export.xlsx", text=["Betreff", "Inhalt"], label="Kategorie"), documents=[document("Rückfrage\n\nGröße", "Müll")]),
    Case("a sheet with one cell at its far end", raw(book(far_cell)), 413, [], detail=("NEWFOUND_MAX_CELLS",)),
    Case("a CSV that is called XLSX", form("text,label\na,x\n", "export.xlsx"), 422, [], detail=("XLSX",)),
    Case("a charset for a workbook", typed(workbook(a=[["text"], ["a"]]), "application/octet-stream", charset="cp1252"), 422, [], detail=("charset", "xlsx")),
]  # fmt: skip
CASES = [*NAMES, *HEADERS, *DELIMITERS, *QUOTES, *SHEETS]
