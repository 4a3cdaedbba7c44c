"""Labels, keys, guards, and what comes again."""

# A case a line, however long, and in all scripts.
# ruff: noqa: E501, RUF001

from tests.app.uploads.black_box.cases import Case, Sent, document, labels, raw, rows, texts
from tests.app.uploads.files import workbook

NFC, NFD = "Caf\u00e9", "Cafe\u0301"
LABELS = [
    Case("composed and decomposed are one label", raw(rows({"text": "a", "label": NFC}, {"text": "b", "label": NFD})), documents=labels(NFC, NFC)),
    Case("outer blanks of all kinds", raw(rows({"text": "a", "label": "\u00a0 x\t"}, {"text": "b", "label": "\u3000x\u2003\n"})), documents=labels("x", "x")),
    Case("inner blanks stay", raw(rows({"text": "a", "label": "x  y"}, {"text": "b", "label": "x\ny"})), documents=labels("x  y", "x\ny")),
    Case("nothing and blanks are no label", raw(rows({"text": "a", "label": ""}, {"text": "b", "label": "  \u00a0"}, {"text": "c", "label": None}, {"text": "d"})), documents=labels(None, None, None, None)),
    Case("numbers are their decimal names", raw(rows({"text": "a", "label": 3}, {"text": "b", "label": 3.0}, {"text": "c", "label": 1.5}, {"text": "d", "label": -0.0}, {"text": "e", "label": 1e21}, {"text": "f", "label": 12345678901234567890123})), documents=labels("3", "3", "1.5", "0", "1000000000000000000000", "12345678901234567890123")),
    Case("a number with zeros behind it", raw('{"text": "a", "label": 1.50}\n{"text": "b", "label": 1e3}\n'), documents=labels("1.5", "1000")),
    Case("booleans", raw(rows({"text": "a", "label": True}, {"text": "b", "label": False})), documents=labels("true", "false")),
    Case("NA, null and None as text", raw("text,label\na,NA\nb,null\nc,None\nd,nan\n"), documents=labels("NA", "null", "None", "nan"), warnings=("NA", "unlabeled=")),
    Case("NA that means no label", raw("text,label\na,NA\nb,-\nc,x\n", unlabeled=["NA", "-"]), documents=labels(None, None, "x"), counts={"labeled": 1, "unlabeled": 2}),
    Case("NaN of pandas", raw('{"text": "a", "label": NaN, "n": NaN}\n'), documents=[document("a")]),
    Case("a comma, signs and emoji in labels", raw(rows({"text": "a", "label": "a,b"}, {"text": "b", "label": "日本語"}, {"text": "c", "label": "👩‍🚀"}, {"text": "d", "label": "<b>&amp;"}, {"text": "e", "label": "'; DROP TABLE documents;--"})), documents=labels("a,b", "日本語", "👩‍🚀", "<b>&amp;", "'; DROP TABLE documents;--")),
    Case("labels of 200 and of 201 characters", raw(rows({"text": "a", "label": "ü" * 200}, {"text": "b", "label": "x" * 201})), documents=labels("ü" * 200), errors={2: "label is longer than 200"}),
    Case("lists and objects are no labels", raw(rows({"text": "a", "label": "x"}, {"text": "b", "label": ["x", "y"]}, {"text": "c", "label": {"name": "x"}})), documents=labels("x"), errors={2: "label is a list", 3: "label is an object"}),
]  # fmt: skip


def labeled(*found: str) -> Sent:
    """Documents with these labels, six of each, and one without."""
    return raw(rows(*({"text": f"{label} {n}", "label": label} for label in found for n in range(6)), {"text": "a"}))


GUARDS = [
    Case("labels that differ by case", labeled("Sport", "sport"), warnings=("Sport (6 documents) and sport", "case")),
    Case("labels that differ by inner blanks", labeled("new york", "newyork"), warnings=("new york", "blanks")),
    Case("labels that differ by width", labeled("ＡＢＣ", "ABC"), warnings=("ＡＢＣ", "width")),
    Case("labels that differ by what nobody sees", labeled("sport", "sp\u200bort"), warnings=(r"sp\u200bort", "nobody sees")),
    Case("labels that mean none", labeled("N/A", "-", "Unknown", "TBD", "politics"), warnings=("N/A", "- (6", "Unknown", "TBD", "unlabeled=")),
    Case("labels of few documents", raw("text,label\na,x\nb,\n"), warnings=("x (1)", "5")),
    Case("no label at all", raw("text\na\nb\n"), warnings=("none of the 2 documents has a label", "discover")),
    Case("labels of all documents", raw("text,label\na,x\nb,x\n"), warnings=("all 2 documents",)),
    Case("most rows are refused", raw(rows({"text": "a"}, {}, {}, {"x": 1})), documents=texts("a"), counts={"rejected": 3}, warnings=("most rows", "3 of 4")),
    Case("no row can be used", raw(rows({"text": [1]}, {"text": {}})), 422, [], errors={1: "text", 2: "text"}, detail=("none", "2")),
]  # fmt: skip
KEYS = [
    Case("a number is the same key as its name", raw(rows({"key": 7, "text": "a"}, {"key": "7", "text": "a"}, {"key": 7.0, "text": "a"})), documents=[document("a", None, "7")], counts={"added": 1, "unchanged": 2}),
    Case("keys of 500 and of 501 characters", raw(rows({"key": "k" * 500, "text": "a"}, {"key": "k" * 501, "text": "b"})), documents=texts("a"), errors={2: "key is longer than 500"}),
    Case("a key again with the same", raw("key,text\nk,a\nk,a\n"), documents=texts("a"), counts={"accepted": 2, "added": 1, "unchanged": 1, "rejected": 0}),
    Case("a key again with another text", raw("key,text\nk,a\nl,b\nk,c\n"), documents=texts("a", "b"), errors={4: "line 2"}),
    Case("a key again with another label", raw("key,text,label\nk,a,x\nk,a,y\n"), documents=labels("x"), errors={3: "label"}),
    Case("a key again with other fields", raw("key,text,n\nk,a,1\nk,a,2\n"), documents=[document("a", n="1")], errors={3: "line 2"}),
    Case("a key again, and the later row wins", raw("key,text\nk,a\nl,b\nk,c\n", on_conflict="replace"), documents=[document("c", None, "k"), document("b", None, "l")][::-1], errors={}),
    Case("a text again without a key is a document of its own, and counted as a copy", raw("text\na\nb\na\n"), documents=texts("a", "b", "a"), counts={"added": 3, "copies": 1}),
    Case("a key of blanks is none", raw("key,text\n  ,a\n,b\n"), documents=texts("a", "b")),
    Case("keys with slashes, dots and signs", raw("key,text\na/b/c,a\n../x,b\n?q=1#f,c\n100%,d\n日本,e\n"), documents=[document(text, None, key) for text, key in zip("abcde", ("a/b/c", "../x", "?q=1#f", "100%", "日本"), strict=True)]),
    Case("keys that differ in case are two", raw("key,text\nK,a\nk,b\n"), documents=texts("a", "b")),
]  # fmt: skip
CSV = "key,text,label\nk,a,x\nl,b,\n"
BEFORE = (raw(CSV),)
AGAIN = [
    Case("the same twice", raw(CSV), before=BEFORE, documents=texts("a", "b"), counts={"accepted": 2, "added": 0, "unchanged": 2}, warnings=("changed nothing",)),
    Case("the same in another format", raw(workbook(a=[["label", "text", "key"], ["x", "a", "k"], [None, "b", "l"]])), before=BEFORE, documents=texts("a", "b"), counts={"added": 0, "unchanged": 2}),
    Case("the same in another order, without keys", raw("text\nb\na\n"), before=(raw("text\na\nb\n"),), documents=texts("a", "b"), counts={"added": 0, "unchanged": 2}),
    Case("the same twice, without keys and with copies", raw("text\na\nb\na\n"), before=(raw("text\na\nb\na\n"),), documents=texts("a", "b", "a"), counts={"added": 0, "unchanged": 3}),
    Case("a label corrected without a key", raw("text,label\na,y\n", on_conflict="replace"), before=(raw("text,label\na,x\n"),), documents=[document("a", "y")], counts={"replaced": 1}),
    Case("another label without a key", raw("text,label\na,y\n"), before=(raw("text,label\na,x\nb,\n"),), status=422, documents=labels("x", None), errors={2: "label y instead of x"}),
    Case("a key with another text later", raw("key,text,label\nk,other,x\nm,c,\n"), before=BEFORE, documents=texts("a", "b", "c"), errors={2: "on_conflict=replace"}),
    Case("a wrong label, corrected by a later file", raw("key,text,label\nk,a,y\n", on_conflict="replace"), before=BEFORE, documents=[document("b", None, "l"), document("a", "y", "k")], counts={"replaced": 1, "added": 0}),
    Case("a replacement that says the same", raw(CSV, on_conflict="replace"), before=BEFORE, documents=texts("a", "b"), counts={"replaced": 0, "unchanged": 2}),
    Case("a dry run", raw("key,text,label\nk,a,x\nm,c,\nk,z,\n\n", validate_only="true"), before=BEFORE, documents=texts("a", "b"), counts={"added": 1, "unchanged": 1, "rejected": 1, "validated_only": True}, errors={4: "k"}),
    Case("a dry run of rows that come twice and are there", raw("key,text,label\nk,a,x\nk,a,x\n", validate_only="true"), before=BEFORE, documents=texts("a", "b"), counts={"added": 0, "unchanged": 2}),
    Case("a dry run of rows that come twice", raw("key,text\nm,a\nm,a\nm,b\n", validate_only="true"), before=BEFORE, documents=texts("a", "b"), counts={"added": 1, "unchanged": 1, "rejected": 1}, errors={4: "line 2"}),
    Case("a dry run of a replacement", raw("key,text\nk,z\n", validate_only="true", on_conflict="replace"), before=BEFORE, documents=texts("a", "b"), counts={"replaced": 1}),
    Case("a dry run of nothing usable", raw(rows({"text": 1, "label": []}), validate_only="true"), 422, []),
    Case("all or nothing, with one bad row", raw("text,label\na,x\nb\n", on_error="abort"), 422, [], errors={3: "1 field"}, detail=("nothing", "abort")),
    Case("all or nothing, with a key that is taken", raw("key,text,label\nm,c,\nk,z,\n", on_error="abort"), 422, before=BEFORE, documents=texts("a", "b"), errors={3: "k"}),
    Case("all or nothing, with a key twice", raw("key,text\nm,c\nm,d\n", on_error="abort"), 422, [], errors={3: "line 2"}),
    Case("all or nothing, all", raw(CSV, on_error="abort"), documents=texts("a", "b"), counts={"added": 2}),
    Case("a way of refusal that is not there", raw(CSV, on_error="ignore"), 422, [], detail=("on_error",)),
]  # fmt: skip
CASES = [*LABELS, *GUARDS, *KEYS, *AGAIN]
