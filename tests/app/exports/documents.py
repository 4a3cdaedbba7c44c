"""Documents as a corpus may hold them, with whatever uploads and corrections let in."""

from typing import Any
from unicodedata import normalize

from hypothesis import strategies as st
from sqlalchemy import delete, insert

from app.core.db import Database
from app.core.tables import Answer, Corpus, Document
from tests.app import rows

ODD = [
    *("=1+1", "+1", "-1", "@x", "'=1", "''-", "'tis", "\ta", "\r", "\n", "a\r\nb", "=\r", "😀", "\x01", "\uffff"),
    *("2024", "1e5", "true", "null", "NaN", '"q"', '"a" b', "[1]", "[x", "{}", "_x0041_", "a,b;c|d", '"', " 1"),
    *("\u2028", ""),
]
CHARACTERS = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
TEXTS = st.sampled_from(ODD) | st.text(CHARACTERS, max_size=12)
OURS = ["key", "text", "Text", "label", "category", "counts", "fields", "id"]
NAMES = st.sampled_from([*OURS, "year", " a", "=n", "n\n", ""]) | st.text(CHARACTERS, max_size=5)
NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | st.just(-3)
VALUES = st.recursive(
    TEXTS | NUMBERS | st.booleans(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
)


def label_of(text: str) -> str | None:
    """A text as an upload takes it for a label or a key."""
    return normalize("NFC", text.strip())[:100].strip() or None


@st.composite
def document(draw: Any, can_count: bool = True) -> dict[str, Any]:
    """A document."""
    is_counts = can_count and draw(st.integers(0, 5)) == 0
    text = draw(TEXTS)
    fields = draw(st.dictionaries(NAMES, VALUES, max_size=3) | st.dictionaries(st.sampled_from("abc"), TEXTS))
    return {
        "text": '{"a":1,"b c":2}' if is_counts else text if text.strip() else "",
        "is_counts": is_counts,
        "label": label_of(draw(TEXTS)),
        "fields": fields or None,
        "erased": False,
    }


@st.composite
def corpora(draw: Any) -> list[dict[str, Any]]:
    """Some documents, each with a key."""
    found = draw(st.lists(document(), min_size=1, max_size=6))
    for n, each in enumerate(found):
        each["key"] = label_of(f"{draw(TEXTS)}{n}")
    return list(found)


def fill(database: Database, documents: list[dict[str, Any]], corpus_id: str = rows.CORPUS) -> None:
    """Let a corpus hold these documents, and no others."""
    with database.sessions.begin() as session:
        session.execute(delete(Answer))
        session.execute(delete(Document).where(Document.corpus_id == corpus_id))
        if session.get(Corpus, corpus_id) is None:
            session.add(Corpus(id=corpus_id, name="corpus", version=1))
            session.flush()
        session.execute(insert(Document), [{**each, "corpus_id": corpus_id, "version": 1} for each in documents])


def documents(n: int, **more: Any) -> list[dict[str, Any]]:
    """Some plain documents."""
    plain = {"label": None, "is_counts": False, "fields": None, "erased": False}
    return [{"key": f"k{i}", "text": f"text {i}", **plain, **more} for i in range(n)]
