"""The index of words, asked and filled: FTS5 on SQLite, a GIN index over tsvectors on PostgreSQL.

Its tables are those of migration 0011; `text_indexes` says how far it is.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Integer,
    Select,
    String,
    bindparam,
    cast,
    column,
    func,
    insert,
    select,
    table,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import TSQUERY, TSVECTOR
from sqlalchemy.orm import Session

from app.core.db import upsert
from app.core.tables import Document, TextIndex, is_visible
from app.search.words import Phrase, Search, words

FEW = 4_000  # documents that a list reads all of, rather than walk through its order
# Of a tsvector, which has a mebibyte, words of up to 2,046 bytes, and places up to 16,383, two bytes each.
MAX_VECTOR_BYTES, MAX_WORD, MAX_PLACE = 1_000_000, 500, 16_383
MERGED_AT_ONCE = 250  # pages of FTS5 that are written in a transaction

FTS = table("text_index", column("rowid", Integer), column("text", String), column("text_index", String))
VECTORS = table("document_words", column("document_id", BigInteger), column("words", TSVECTOR))


def is_sqlite(session: Session) -> bool:
    """Whether a session is one of SQLite."""
    return session.get_bind().dialect.name == "sqlite"


def is_whole(session: Session, corpus_id: str, last: int | None) -> bool:
    """Whether the index has the documents of a corpus up to this one."""
    done = session.scalar(select(TextIndex.document_id).where(TextIndex.corpus_id == corpus_id))
    return last is None or (done is not None and done >= last)


def first_document(session: Session, corpus_id: str) -> int | None:
    """The first document of a corpus, of whatever version."""
    return session.scalar(select(func.min(Document.id)).where(Document.corpus_id == corpus_id))


def last_document(session: Session, corpus_id: str) -> int | None:
    """The last document of a corpus, of whatever version."""
    return session.scalar(select(func.max(Document.id)).where(Document.corpus_id == corpus_id))


def few(session: Session, search: Search, first: int, last: int) -> list[int] | None:
    """The documents between two that are found, in order; None if there are many."""
    number, is_found = found(session, search)
    ids = select(number).where(is_found, number >= first, number <= last).limit(FEW + 1)
    rows = session.scalars(ids).all()
    return None if len(rows) > FEW else sorted(rows)


def found(session: Session, search: Search) -> tuple[ColumnElement[int], ColumnElement[bool]]:
    """The number of a document in the index, and the condition that a search finds it."""
    if is_sqlite(session):
        return FTS.c.rowid, FTS.c.text_index.op("MATCH")(fts_query(search))
    return VECTORS.c.document_id, VECTORS.c.words.op("@@")(cast(ts_query(search), TSQUERY))


def fts_query(search: Search) -> str:
    """A search in the language of FTS5. Words are letters and digits alone, so that nothing in quotes ends them."""
    needed = " AND ".join(map(fts_phrase, search.needed))
    return f"({needed}) NOT ({' OR '.join(map(fts_phrase, search.excluded))})" if search.excluded else needed


def fts_phrase(phrase: Phrase) -> str:
    """A phrase in the language of FTS5."""
    return f'"{" ".join(phrase)}"'


def ts_query(search: Search) -> str:
    """A search as the text of a tsquery; the same holds of its quotes."""
    return " & ".join([*map(ts_phrase, search.needed), *(f"!{ts_phrase(phrase)}" for phrase in search.excluded)])


def ts_phrase(phrase: Phrase) -> str:
    """A phrase as the text of a tsquery."""
    words_in_order = "' <-> '".join(phrase)
    return f"('{words_in_order}')"


def index_some(session: Session, corpus_id: str, n: int) -> bool:
    """Put up to `n` more documents of a corpus into the index; False if all of them are there, or it is deleted.

    Whoever does the same at the same time waits here.
    """
    if not session.scalar(select(is_visible(corpus_id))):
        return False
    session.execute(upsert(session, TextIndex).values(corpus_id=corpus_id, document_id=0).on_conflict_do_nothing())
    place = select(TextIndex.document_id).where(TextIndex.corpus_id == corpus_id).with_for_update()
    done = session.scalars(place).one()
    mine = (Document.corpus_id == corpus_id, Document.id > done)
    ids = session.scalars(select(Document.id).where(*mine).order_by(Document.id).limit(n)).all()
    if not ids:
        return False
    some = select(Document.id, Document.text).where(*mine, Document.id <= ids[-1], Document.text != "")
    if is_sqlite(session):
        session.execute(insert(FTS).from_select(["rowid", "text"], some))
    else:
        add_vectors(session, session.execute(some))
    session.execute(update(TextIndex).where(TextIndex.corpus_id == corpus_id).values(document_id=ids[-1]))
    return True


def add_vectors(session: Session, documents: Iterable[Any]) -> None:
    """Put documents, by number and text, into PostgreSQL's index."""
    rows = [(number, vector(written)) for number, written in documents]
    arrays = (
        bindparam("numbers", [number for number, _ in rows], ARRAY(BigInteger)),
        bindparam("vectors", [found for _, found in rows], ARRAY(String)),
    )
    source = func.unnest(*arrays).table_valued(column("number", BigInteger), column("vector", String)).render_derived()
    values: Select[Any] = select(source.c.number, cast(source.c.vector, TSVECTOR))
    session.execute(insert(VECTORS).from_select(["document_id", "words"], values))


def vector(written: str) -> str:
    """The words of a text with their places, as the text of a tsvector; of a long one, as far as one holds them."""
    found = words(written)
    if len(found) > MAX_PLACE:
        return long_vector(found)
    entries: dict[str, str] = {}
    for place, word in enumerate(found, 1):
        entries[word] = f"{entries[word]},{place}" if word in entries else f"'{word}':{place}"
    return " ".join([entry for word, entry in entries.items() if len(word) <= MAX_WORD])


def long_vector(found: Sequence[str]) -> str:
    """The same of many words: those beyond the last place have none, those beyond the last byte are left out."""
    n_bytes = 0
    entries: dict[str, list[str]] = {}
    for place, word in enumerate(found, 1):
        if word not in entries and len(word) <= MAX_WORD:
            n_bytes += len(word.encode()) + 4
            if n_bytes > MAX_VECTOR_BYTES:
                break
            entries[word] = []
        if place <= MAX_PLACE and word in entries:
            entries[word].append(str(place))
    return " ".join([f"'{word}':{','.join(places)}" if places else f"'{word}'" for word, places in entries.items()])


def merge_some(session: Session, is_first: bool) -> bool:
    """Write a piece of FTS5's index anew, without what was deleted; False once there is nothing left to do.

    FTS5 keeps deleted words in its files, marked as such, until then.
    """
    session.connection().exec_driver_sql("PRAGMA secure_delete=ON")  # else they stay in pages that are free
    driver: Any = session.connection().connection.driver_connection
    before = driver.total_changes
    n_pages = -MERGED_AT_ONCE if is_first else MERGED_AT_ONCE
    session.execute(text("INSERT INTO text_index (text_index, rank) VALUES ('merge', :n)"), {"n": n_pages})
    return bool(driver.total_changes - before >= 2)
