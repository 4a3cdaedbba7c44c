"""The index of words, on both databases: what it finds is what the texts say, whatever becomes of them."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, func, select, text, update
from sqlalchemy.exc import OperationalError

from app.core.db import Database
from app.core.tables import Corpus, Document, TextIndex
from app.search import index
from app.search.indexing import Indexing
from app.search.words import Search, parsed
from tests.app.rows import CORPUS

OTHER = "99999999-2222-4333-8444-555555555555"
WORDS = ["pin", "change", "Pin", "café", "cafe", "naïve", "Ärger", "или", "Ελλάδα", "k2", "42", "日本", "x_y", "don't"]
SIGNS = [" ", ", ", "\n", " - ", "; "]


def add(database: Database, texts: Sequence[str], corpus_id: str = CORPUS, version: int = 1) -> list[int]:
    """Documents with these texts in a corpus; returns their numbers."""
    with database.sessions.begin() as session:
        if session.get(Corpus, corpus_id) is None:
            session.add(Corpus(id=corpus_id, name="corpus", version=version))
            session.flush()
        rows = [
            Document(corpus_id=corpus_id, version=version, key=f"{version}-{n}", text=written, label=None)
            for n, written in enumerate(texts)
        ]
        session.add_all(rows)
        session.flush()
        return [row.id for row in rows]


def found(database: Database, written: str | Search) -> list[int] | None:
    """The documents that a search finds in the index, of all corpora."""
    search = parsed(written) if isinstance(written, str) else written
    with database.readers.begin() as session:
        return index.few(session, search, 0, 2**62)


def fill(database: Database, corpus_id: str = CORPUS) -> None:
    Indexing(database).fill(corpus_id)


def is_whole(database: Database, corpus_id: str = CORPUS) -> bool:
    with database.readers.begin() as session:
        return index.is_whole(session, corpus_id, index.last_document(session, corpus_id))


def n_indexed(database: Database) -> int:
    """Documents that the index holds."""
    table = {"sqlite": "text_index_docsize", "postgresql": "document_words"}[database.engine.dialect.name]
    with database.readers.begin() as session:
        return session.scalar(text(f"SELECT count(*) FROM {table}")) or 0


phrases = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
searches = st.tuples(st.lists(phrases, min_size=1, max_size=3), st.lists(phrases, max_size=2)).map(
    lambda parts: " ".join([f'"{phrase}"' for phrase in parts[0]] + [f'-"{phrase}"' for phrase in parts[1]])
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=30)
@given(st.data())
def test_the_index_finds_what_the_texts_themselves_say(database: Database, data: st.DataObject) -> None:
    with database.sessions.begin() as session:
        session.execute(delete(Corpus))
    parts = st.lists(st.sampled_from(WORDS) | st.sampled_from(SIGNS), max_size=12)
    texts = data.draw(st.lists(parts.map(" ".join), min_size=1, max_size=12))
    ids = add(database, texts)
    fill(database)
    for search in map(parsed, data.draw(st.lists(searches, min_size=1, max_size=6))):
        by_text = [document_id for document_id, written in zip(ids, texts, strict=True) if search.matches(written)]
        assert found(database, search) == by_text, search


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=200)
@given(st.text(max_size=60), st.text(max_size=60))
def test_no_search_and_no_text_is_more_than_a_database_takes(database: Database, needed: str, excluded: str) -> None:
    search = parsed(f'word {needed} "{needed}" -"{excluded}"')
    with database.sessions.begin() as session:
        index.few(session, search, 0, 2**62)
        if database.engine.dialect.name == "postgresql":
            session.execute(text("SELECT CAST(:vector AS tsvector)"), {"vector": index.vector(needed)})


def test_the_index_is_made_a_few_documents_at_a_time_and_goes_on_where_it_ended(database: Database) -> None:
    first = add(database, [f"pin {n}" for n in range(5)])
    add(database, ["pin of another corpus"], OTHER)
    with database.sessions.begin() as session:
        assert index.index_some(session, CORPUS, 2)
    assert (found(database, "pin"), is_whole(database)) == (first[:2], False)
    fill(database)
    assert (found(database, "pin"), is_whole(database)) == (first, True)
    later = add(database, ["pin again"], version=2)
    assert not is_whole(database)
    fill(database)
    assert (found(database, "pin"), is_whole(database)) == (first + later, True)
    assert not is_whole(database, OTHER)


def test_two_that_index_at_once_index_each_document_once(database: Database) -> None:
    ids = add(database, [f"pin {n}" for n in range(30)])
    both = [Indexing(database) for _ in range(2)]
    for each in both:
        each.wake(CORPUS)
    for each in both:
        each.thread.shutdown()  # after its work
    assert found(database, "pin") == ids
    assert n_indexed(database) == 30


def erase(database: Database, document_id: int) -> None:
    with database.sessions.begin() as session:
        session.execute(update(Document).where(Document.id == document_id).values(text="", erased=True))


def remove(database: Database, document_id: int) -> None:
    with database.sessions.begin() as session:
        session.execute(delete(Document).where(Document.id == document_id))


def remove_corpus(database: Database, _: int) -> None:
    with database.sessions.begin() as session:
        session.execute(delete(Corpus).where(Corpus.id == CORPUS))


@pytest.mark.parametrize(("take_out", "left"), [(erase, 2), (remove, 2), (remove_corpus, 1)])
def test_with_a_text_its_words_go_at_once(
    database: Database, take_out: Callable[[Database, int], None], left: int
) -> None:
    """And a document that gets the number of a deleted one is not found by the words of that one."""
    [kept] = add(database, ["pin of another corpus"], OTHER)
    ids = add(database, ["pin and secret", "pin and card"])
    for corpus_id in (CORPUS, OTHER):
        fill(database, corpus_id)
    take_out(database, ids[0])
    assert found(database, "secret") == []
    assert found(database, "pin") == ([kept, ids[1]] if left == 2 else [kept])
    assert n_indexed(database) == left
    add(database, ["a later text"], OTHER, version=3)
    fill(database, OTHER)
    assert found(database, "secret") == []


def test_documents_that_are_not_in_the_index_are_changed_and_deleted_as_before(database: Database) -> None:
    ids = add(database, ["pin one", "pin two", "pin three"])
    erase(database, ids[0])
    remove(database, ids[1])
    fill(database)
    assert found(database, "pin") == [ids[2]]
    assert n_indexed(database) == 1, "an erased text has no words"


@pytest.mark.parametrize("kind", ["sqlite"])
def test_words_of_erased_texts_are_taken_out_of_the_index_and_its_pages(database: Database) -> None:
    ids = add(database, ["qwhisper of a zsecret", *(f"pin {n}" for n in range(2_000))])
    fill(database)
    assert b"qwhisper" in pages_of(database)
    erase(database, ids[0])
    with database.sessions.begin() as session:
        session.execute(update(TextIndex).values(n_erasures=1))
    assert b"qwhisper" in pages_of(database), "FTS5 only marks what is deleted"
    Indexing(database).merge()
    assert b"qwhisper" not in pages_of(database)
    assert b"zsecret" not in pages_of(database)
    assert len(found(database, "pin") or ()) == 2_000
    with database.readers.begin() as session:
        assert session.scalars(select(TextIndex.n_erasures)).all() == [0]


def pages_of(database: Database) -> bytes:
    """All that the index's own table of pages holds."""
    with database.readers.begin() as session:
        return b"".join(session.scalars(text("SELECT block FROM text_index_data")))


def test_of_many_documents_the_index_does_not_say_which(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = add(database, ["pin", "pin", "pin card"])
    fill(database)
    monkeypatch.setattr(index, "FEW", 2)
    assert found(database, "pin") is None
    assert found(database, "card") == ids[2:]
    with database.readers.begin() as session:
        assert index.few(session, parsed("pin"), ids[1], ids[2]) == ids[1:], "two between two numbers"


@pytest.mark.parametrize("kind", ["postgresql"])
def test_a_tsvector_takes_a_text_of_any_length(database: Database) -> None:
    """Places beyond the last that PostgreSQL knows are left out, and words beyond the bytes that it holds."""
    unlike = " ".join(f"{n:x}word" for n in range(200_000))
    long_word = "l" * 3_000
    ids = add(database, ["pin " * 300_000 + "last", f"{unlike} last", f"{long_word} pin"])
    fill(database)
    assert found(database, "pin") == [ids[0], ids[2]]
    assert found(database, "last") == [ids[0]], "the words of the second text fill a tsvector before its end"
    assert found(database, "fword") == [ids[1]]
    with database.readers.begin() as session:
        assert session.scalar(select(func.count()).select_from(index.VECTORS)) == 3


def test_a_deleted_corpus_is_not_indexed(database: Database) -> None:
    add(database, ["pin"])
    with database.sessions.begin() as session:
        session.execute(update(Corpus).values(deleted_at=1.0))
    fill(database)
    assert n_indexed(database) == 0


def test_where_room_is_short_texts_are_not_indexed(database: Database) -> None:
    ids = add(database, [f"pin {n}" for n in range(20)])
    reasons: list[str | None] = [None, None, "the disk is full"]
    Indexing(database, lambda: reasons.pop(0)).fill(CORPUS)
    assert 0 < n_indexed(database) < 20
    fill(database)
    assert found(database, "pin") == ids


def test_indexing_waits_for_a_database_that_is_away(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = add(database, ["pin"])
    errors: list[int] = []
    indexing = Indexing(database)

    def broken(*_: object, **__: object) -> bool:
        errors.append(1)
        monkeypatch.undo()
        raise OperationalError("SELECT 1", {}, Exception("the database is away"))

    monkeypatch.setattr("app.search.indexing.WAIT_SECONDS", 0.0)
    monkeypatch.setattr("app.search.indexing.index_some", broken)
    indexing.wake(CORPUS)
    indexing.thread.shutdown()
    assert (len(errors), found(database, "pin")) == (1, ids)
