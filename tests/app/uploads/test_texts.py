"""How many documents have a text that was there before, on both databases: as uploads and corpora report it."""

import json
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select
from sqlalchemy.exc import OperationalError
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.tables import TextBatch
from app.uploads import texts
from app.uploads.rows import Row
from app.uploads.store import Batch, Store
from app.uploads.texts import KnownTexts, digest_of, merged
from tests.app.uploads.sending import BATCH, CSV, lines, new_corpus, send
from tests.app.uploads.test_interrupted_uploads import LosesTheNews


def counts(client: TestClient, corpus: str) -> tuple[int, int, int, int]:
    """What a corpus reports of its documents: all, empty ones, copies and distinct texts."""
    found = client.get(corpus).json()
    return found["documents"], found["empty"], found["copies"], found["distinct_texts"]


def plain(text: str) -> str:
    """A text as it is compared with others."""
    return " ".join(unicodedata.normalize("NFC", text).split())


@given(st.lists(st.text(st.sampled_from("aB \t\n\x1c\x1f\xa0\u2003e\u0301é"), max_size=6), max_size=12))
def test_texts_are_the_same_if_nothing_but_white_space_and_the_unicode_form_differs(given: list[str]) -> None:
    assert len({digest_of(text) for text in given}) == len({plain(text) for text in given})


@pytest.mark.usefixtures("small_batches")
def test_an_upload_and_its_corpus_count_texts_that_were_there_before(client: TestClient, corpus: str) -> None:
    first = send(client, corpus, lines({"text": "a  b"}, {"text": "c"}, {"text": "a\nb"}, {"text": " "}, {"text": ""}))
    assert (first.json()["copies"], counts(client, corpus)) == (1, (5, 2, 1, 2))
    second = send(client, corpus, b"text,label\n a b ,x\nA b,\n" + b"d,\n" * 2 * BATCH, CSV)
    assert second.json()["added"] == 2 + 2 * BATCH
    assert second.json()["copies"] == 1 + 2 * BATCH - 1
    assert counts(client, corpus) == (7 + 2 * BATCH, 2, 2 * BATCH + 1, 4)
    other = new_corpus(client)
    assert send(client, other, lines({"text": "a b"})).json()["copies"] == 0, "of another corpus"
    listed = {found["id"]: found for found in client.get("/v1/corpora").json()["corpora"]}
    assert (listed[corpus[-36:]]["copies"], listed[corpus[-36:]]["distinct_texts"]) == (2 * BATCH + 1, 4)


def test_a_line_that_is_refused_is_no_text_of_the_corpus(client: TestClient, corpus: str) -> None:
    send(client, corpus, lines({"text": "a", "key": "k"}))
    answer = send(client, corpus, lines({"text": "b", "key": "k"}, {"text": "b"}, {"text": "b", "key": "l"}))
    assert (answer.json()["accepted"], answer.json()["rejected"], answer.json()["copies"]) == (2, 1, 1)
    assert counts(client, corpus) == (3, 0, 1, 2)


def body() -> list[bytes]:
    """Lines whose texts repeat within a batch, and from batch to batch."""
    return [lines({"text": f"text {n % 7 if n % 3 else n}"}) for n in range(10 * BATCH)]


@pytest.mark.usefixtures("small_batches")
def test_what_others_upload_meanwhile_counts_for_whoever_comes_second(client: TestClient, corpus: str) -> None:
    mine, others = (lines(*({"text": f"text {n}", "key": f"{name} {n}"} for n in range(10))) for name in "ab")
    assert send(client, corpus, mine).json()["copies"] == 0
    assert send(client, corpus, others).json()["copies"] == 10
    assert counts(client, corpus) == (20, 0, 10, 10)


@pytest.mark.usefixtures("small_batches")
def test_uploads_at_once_count_each_text_once(client: TestClient, corpus: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: send(client, corpus, b"".join(body())), range(4)))
    n_texts = len(set(body()))
    assert sum(answer.json()["added"] for answer in answers) == 10 * BATCH
    assert sum(answer.json()["copies"] for answer in answers) == 10 * BATCH - n_texts
    assert counts(client, corpus) == (10 * BATCH, 0, 10 * BATCH - n_texts, n_texts)


def test_a_batch_whose_commit_nobody_heard_of_counts_its_copies_once(
    client: TestClient, database: Database, corpus: str
) -> None:
    store = Store(database, corpus[-36:])
    for number in range(3):
        texts = ("text", f"text {number}", "text")
        batch = store.named(Batch([Row(line, text, f"{line} {number}", None) for line, text in enumerate(texts, 1)]))
        store.database = replace(database, sessions=cast(Any, LosesTheNews(database)))
        with pytest.raises(OperationalError):
            store.write(batch)
        store.database = database
        assert store.write(batch).n_copies == (2 if number else 1)
    assert counts(client, corpus) == (9, 0, 5, 4)


def test_a_process_that_remembers_nothing_knows_the_same(
    client: TestClient, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def again(number: int) -> int:
        rows = [{**json.loads(line), "key": f"{number} {n}"} for n, line in enumerate(body())]
        return int(send(client, corpus, lines(*rows)).json()["copies"])

    again(0)
    monkeypatch.setattr(texts, "MAX_KNOWN", 0)
    assert [again(1), again(2)] == [10 * BATCH] * 2
    client.app.state.remembered_texts.by_corpus.clear()  # type: ignore[attr-defined]
    assert again(3) == 10 * BATCH


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "MAX_KNOWN", 10)
    remembered = texts.RememberedTexts()
    for name, size in (("a", 6), ("b", 4), ("c", 3), ("d", 11)):
        remembered.keep(name, KnownTexts(1, 1, (np.arange(size, dtype=np.uint64),)))
    assert list(remembered.by_corpus) == ["c"]
    monkeypatch.setattr(texts, "MAX_CORPORA", 2)
    for name in ("e", "f"):
        remembered.keep(name, KnownTexts())
    assert list(remembered.by_corpus) == ["f"]


@given(st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=8), max_size=20))
def test_runs_hold_each_text_once_and_stay_few(batches: list[list[int]]) -> None:
    known, seen = KnownTexts(), set[int]()
    for batch in batches:
        new = known.new_among(np.array(batch, np.uint64))
        assert new.tolist() == sorted(set(batch) - seen)
        seen |= set(batch)
        if new.size:
            known = KnownTexts(None, 0, merged((*known.runs, new)))
        assert sorted(np.concatenate([*known.runs, []]).tolist()) == sorted(seen)
        sizes = [run.size for run in known.runs]
        assert all(long > 2 * short for long, short in pairwise(sizes))


def test_a_deleted_corpus_leaves_no_digest(client: TestClient, database: Database, corpus: str) -> None:
    send(client, corpus, b"".join(body()))
    assert client.delete(corpus).status_code == 204
    client.app.state.removal.thread.submit(int).result(60)  # type: ignore[attr-defined]
    with database.readers.begin() as session:
        assert session.scalars(select(TextBatch.version)).all() == []


@pytest.mark.usefixtures("small_batches")
def test_texts_that_were_taken_out_again_are_counted_no_more(client: TestClient, corpus: str) -> None:
    send(client, corpus, lines(*({"text": f"text {n % 4}", "key": f"{n}"} for n in range(8))))
    assert counts(client, corpus) == (8, 0, 4, 4)
    client.delete(f"{corpus}/documents", params={"key": ["0", "4", "5"]})
    assert counts(client, corpus) == (5, 0, 2, 3)
    client.patch(f"{corpus}/documents/1", json={"text": "text 2"})
    assert counts(client, corpus) == (5, 0, 3, 2)
    more = send(client, corpus, lines({"text": "text 0", "key": "a"}, {"text": "text 2", "key": "b"}))
    assert more.json()["copies"] == 1
    assert counts(client, corpus) == (7, 0, 4, 3)
    replaced = lines(*({"text": f"text {n}", "key": f"{n}"} for n in range(8)))
    assert client.post(f"{corpus}/documents?on_conflict=replace", content=replaced).json()["copies"] == 1
    assert counts(client, corpus) == (10, 0, 2, 8)
