"""Encodings, line ends, and characters that no database can hold."""

# A case a line, however long, and in all scripts.
# ruff: noqa: E501, RUF001

import codecs

from tests.app.uploads.black_box.cases import Case, Sent, document, form, packed, raw, texts, typed
from tests.app.uploads.files import zip_of

CSV = "text,label\nGrüße aus Köln,Ärger\nÉté à Besançon – “très” doux,été\n"
WESTERN = [document("Grüße aus Köln", "Ärger"), document("Été à Besançon – “très” doux", "été")]
PLAIN = "text,label\na,x\nb,y\n"
TWO = [document("a", "x"), document("b", "y")]
RUSSIAN = "text,label\nЗдравствуйте и до свидания,новости\n"
CHINESE = "text,label\n今天天气很好,天气\n"
JAPANESE = "text,label\nこんにちは世界,ニュース\n"
KOREAN = "text,label\n안녕하세요 세계,뉴스\n"
GREEK = "text,label\nΚαλημέρα κόσμε,νέα\n"
LATE = b"text,label\n" + b"some words,x\n" * 60_000 + "Größe,y\n".encode("cp1252")


def first(csv: str) -> list[dict[str, object]]:
    """The one document of a small file."""
    text, label = csv.splitlines()[1].split(",")
    return [document(text, label)]


MARKS = [
    Case("UTF-8 with a mark", raw(codecs.BOM_UTF8 + CSV.encode()), documents=WESTERN, counts={"charset": "utf-8"}),
    Case("UTF-8 with a mark, objects", raw(codecs.BOM_UTF8 + '{"text": "ü"}\n'.encode()), documents=texts("ü")),
    Case("UTF-8 with a mark, an array", raw(codecs.BOM_UTF8 + '[{"text": "ü"}]'.encode()), documents=texts("ü")),
    Case("UTF-16 from Windows", raw(codecs.BOM_UTF16_LE + CSV.encode("utf-16-le")), documents=WESTERN, counts={"charset": "utf-16-le"}),
    Case("UTF-16 in the other order", raw(codecs.BOM_UTF16_BE + CSV.encode("utf-16-be")), documents=WESTERN),
    Case("UTF-32", raw(codecs.BOM_UTF32_LE + CSV.encode("utf-32-le")), documents=WESTERN),
    Case("UTF-16, objects", raw('{"text": "日本語"}\n{"text": "🙂"}\n'.encode("utf-16")), documents=texts("日本語", "🙂")),
    Case("UTF-16 without a mark, nothing said", raw(CSV.encode("utf-16-le")), 422, [], detail=("utf-16-le", "charset=")),
    Case("UTF-16 without a mark, declared", raw(CSV.encode("utf-16-le"), charset="utf-16-le"), documents=WESTERN),
    Case("UTF-16 cut off within a character", raw(codecs.BOM_UTF16_LE + CSV.encode("utf-16-le")[:-1]), 422, [], detail=("utf-16-le", "byte offset")),
    Case("a mark that comes again, as cat makes it", raw(codecs.BOM_UTF8 + b"text\na\n" + codecs.BOM_UTF8 + b"b\n"), documents=[{"text": "a"}, {"text": "\ufeffb"}]),
]  # fmt: skip
DECLARED = [
    Case("Windows-1252, nothing said", raw(CSV.encode("cp1252")), 422, [], detail=("utf-8", "byte offset 13", "line 2", "windows-1252", "charset=windows-1252")),
    Case("Windows-1252, nothing said, objects", raw('{"text": "a"}\n{"text": "Größe und Maß"}\n'.encode("cp1252")), 422, [], detail=("line 2", "windows-1252")),
    Case("Windows-1252, nothing said, far behind", raw(LATE), 422, [], detail=("byte offset 780013", "line 60002", "windows-1252")),
    Case("Windows-1252 by the address", raw(CSV.encode("cp1252"), charset="windows-1252"), documents=WESTERN, counts={"charset": "windows-1252"}),
    Case("Windows-1252 by another name", raw(CSV.encode("cp1252"), charset="CP1252"), documents=WESTERN),
    Case("Windows-1252 by the content type", typed(CSV.encode("cp1252"), 'text/csv; charset="windows-1252"'), documents=WESTERN),
    Case("Windows-1252 by the part of a form", form(CSV.encode("cp1252"), "a.csv", "text/csv; charset=windows-1252"), documents=WESTERN),
    Case("Windows-1252 by the field of a form", form(CSV.encode("cp1252"), "a.csv", charset="windows-1252"), documents=WESTERN),
    Case("Windows-1252 in gzip", raw(packed(CSV.encode("cp1252")), charset="windows-1252"), documents=WESTERN),
    Case("Windows-1252 in gzip by Content-Encoding", Sent(packed(CSV.encode("cp1252")), None, "text/csv; charset=cp1252", "gzip"), documents=WESTERN),
    Case("a byte that Windows-1252 does not have", raw(b"text\n\x81\n", charset="windows-1252"), 422, [], detail=("windows-1252", "byte offset 5")),
    Case("Latin-1", raw("text\nGrüße\n".encode("latin-1"), charset="iso-8859-1"), documents=texts("Grüße"), counts={"charset": "iso-8859-1"}),
    Case("GB18030", raw(CHINESE.encode("gb18030"), charset="gb18030"), documents=first(CHINESE)),
    Case("GBK", raw(CHINESE.encode("gbk"), charset="gbk"), documents=first(CHINESE)),
    Case("Big5", raw("text\n今天天氣很好\n".encode("big5"), charset="big5"), documents=texts("今天天氣很好")),
    Case("Shift_JIS", raw(JAPANESE.encode("shift_jis"), charset="shift_jis"), documents=first(JAPANESE)),
    Case("EUC-KR", raw(KOREAN.encode("euc-kr"), charset="euc-kr"), documents=first(KOREAN)),
    Case("KOI8-R", raw(RUSSIAN.encode("koi8-r"), charset="koi8-r"), documents=first(RUSSIAN)),
    Case("Windows-1253", raw(GREEK.encode("cp1253"), charset="windows-1253"), documents=first(GREEK)),
    Case("Windows-1251, nothing said", raw(RUSSIAN.encode("cp1251") * 3), 422, [], detail=("windows-1251",)),
    Case("Shift_JIS, nothing said", raw(JAPANESE.encode("shift_jis") * 3), 422, [], detail=("byte offset", "charset=")),
    Case("GB18030, nothing said", raw(CHINESE.encode("gb18030") * 3), 422, [], detail=("byte offset", "gb18030")),
    Case("UTF-8 declared as ASCII", raw(CSV, charset="us-ascii"), 422, [], detail=("us-ascii", "byte offset 13", "utf-8")),
    Case("ASCII declared as ASCII", typed(PLAIN, "text/csv; charset=us-ascii"), documents=TWO),
    Case("Windows-1252 declared as UTF-8", typed(CSV.encode("cp1252"), "text/csv; charset=utf-8"), 422, [], detail=("utf-8", "declared", "byte offset 13")),
    Case("UTF-8 declared as UTF-16", raw(CSV[:40], charset="utf-16"), 422, [], detail=("utf-16",)),
    Case("a mark against what is declared", raw(codecs.BOM_UTF8 + CSV.encode(), charset="windows-1252"), 422, [], detail=("windows-1252", "mark", "utf-8")),
    Case("two charsets", typed(CSV, "text/csv; charset=utf-8", charset="windows-1252"), 422, [], detail=("windows-1252", "utf-8")),
    Case("a charset that nobody knows", raw(CSV, charset="klingon"), 422, [], detail=("klingon", "windows-1252")),
    Case("a charset that nobody knows, by the content type", typed(PLAIN, "text/csv; charset=klingon"), 422, [], detail=("klingon",)),
    Case("a codec that is no charset", raw(CSV, charset="base64"), 422, [], detail=("base64",)),
    Case("a charset that is a path", raw(CSV, charset="../../utf-8"), 422, [], detail=("charset",)),
    Case("a file of a ZIP in Windows-1252", raw(zip_of({"a/1.txt": "Grüße".encode("cp1252")}), charset="windows-1252"), documents=texts("Grüße")),
    Case("a file of a ZIP in Windows-1252, nothing said", raw(zip_of({"a/1.txt": "a", "b/2.txt": "Grüße".encode("cp1252")})), 422, [], detail=("b/2.txt", "windows-1252", "byte offset 2")),
    Case("UTF-8 cut off within a character", raw("text\nüü\n".encode()[:-2]), 422, [], detail=("byte offset 7",)),
    Case("half of a surrogate pair in bytes", raw(b"text\n\xed\xa0\x80\n"), 422, [], detail=("byte offset 5",)),
    Case("a UTF-8 that is longer than need be", raw(b"text\n\xc0\xaf\n"), 422, [], detail=("byte offset 5",)),
]  # fmt: skip
LINE_ENDS = [
    Case("CR alone, as old Macs write", raw(PLAIN.replace("\n", "\r")), documents=TWO),
    Case("CR alone, objects", raw('{"text": "a"}\r{"text": "b"}\r'), documents=texts("a", "b")),
    Case("CRLF", raw(PLAIN.replace("\n", "\r\n")), documents=TWO),
    Case("CRLF, objects", raw('{"text": "a"}\r\n\r\n{"text": "b"}\r\n'), documents=texts("a", "b")),
    Case("mixed line ends", raw("text\ra\r\nb\nc\r"), documents=texts("a", "b", "c")),
    Case("no line end at the end", raw("text,label\na,x\nb,y"), documents=TWO),
    Case("separators of Unicode end no line", raw('{"text": "a\u2028b\u2029c\u0085d"}\n'), documents=texts("a\u2028b\u2029c\u0085d")),
    Case("separators of Unicode end no record", raw("text,label\na\u2028b\u0085c\x0bd\x0ce\x1cf,x\n"), documents=[document("a\u2028b\u0085c\x0bd\x0ce\x1cf", "x")]),
    Case("separators of Unicode end no line of a text", form("a\u2028b\u0085c\nd\n", "a.txt"), documents=texts("a\u2028b\u0085c", "d")),
]  # fmt: skip
CHARACTERS = [
    Case("a NUL in a record", raw("text,label\na\0b,x\nc,y\n"), documents=[document("c", "y")], errors={2: "text contains a NUL"}),
    Case("a NUL in an object", raw('{"text": "a\\u0000"}\n{"text": "b", "label": "\\u0000"}\n{"text": "c", "key": "k\\u0000"}\n{"text": "d", "n": ["\\u0000"]}\n{"text": "e"}\n'), documents=texts("e"), errors={1: "text contains a NUL", 2: "label contains a NUL", 3: "key contains a NUL", 4: "n contains a NUL"}),
    Case("half of a surrogate pair", raw('{"text": "a \\ud800"}\n{"text": "b", "label": "\\udc00x"}\n{"text": "c", "n": {"\\ud800": 1}}\n{"text": "d"}\n'), documents=texts("d"), errors={1: "text contains half of a surrogate pair at character 3", 2: "label contains half", 3: "half"}),
    Case("a whole surrogate pair", raw('{"text": "\\ud83d\\ude42"}\n'), documents=texts("🙂")),
    Case("a NUL in the name of a field", raw('{"text": "a", "b\\u0000": 1}\n{"text": "c"}\n'), documents=texts("c"), errors={1: "NUL"}),
    Case("a file of NULs", raw(b"\0" * 1_000), 422, [], detail=("NUL",)),
    Case("texts of all scripts", raw(PLAIN + "ไทย,ภาษา\nالعربيّة,عربي\nहिन्दी,भाषा\n👩‍👩‍👧‍👦 👍🏽,🏳️‍🌈\n"), documents=[*TWO, document("ไทย", "ภาษา"), document("العربيّة", "عربي"), document("हिन्दी", "भाषा"), document("👩‍👩‍👧‍👦 👍🏽", "🏳️‍🌈")]),
    Case("a text stays as it is, decomposed and with controls", raw('{"text": "e\\u0301\\u200b\\u0007\\t"}\n'), documents=texts("e\u0301\u200b\x07\t")),
]  # fmt: skip
CASES = [*MARKS, *DECLARED, *LINE_ENDS, *CHARACTERS]
