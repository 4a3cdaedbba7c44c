"""The lists of documents: every row once in every order, filtered by anything, and searched, on both databases."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, select, update
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.tables import Answer, Category, Corpus, Document
from app.http import searches, walks
from app.http.pages import to_cursor
from app.search import index
from app.search.indexing import Indexing
from tests.app.http.answered_jobs import Given, Made, add_job
from tests.app.uploads.sending import lines, new_corpus, send
from tests.waits import wait_for

TEXTS = (
    *("change my PIN, please", "the pin of my card", "card lost", "", "a café near the bank", "PIN PIN card"),
    *("the bank changed my address", "pin"),
)
# Of known categories 0 and 1, of new ones 2 and 3, and of none.
ANSWERS = ((0, 0.9), (2, 0.9), (0, 0.5), (None, None), (3, 0.4), (1, 0.5), (2, 0.5), (None, None))
ORDERS = (None, "probability", "unsure")


@pytest.fixture
def made(database: Database) -> Made:
    """A job that has answered a document of each text, of which every third is a copy, beside two with a label."""
    documents = [
        Given(f"document-{n}", None, category, {"year": 2000 + n % 2}, probability)
        for n, (category, probability) in enumerate(ANSWERS)
    ]
    labeled = [Given("labeled-0", "astronomy", fields={"year": 2000}), Given("labeled-1", "optics")]
    made = add_job(database, [*documents, *labeled])
    with database.sessions.begin() as session:
        ids = session.scalars(select(Document.id).order_by(Document.id)).all()
        for n, written in enumerate(TEXTS):
            session.execute(update(Document).where(Document.id == ids[n]).values(text=written))
            if n % 3 == 2:
                session.execute(update(Answer).where(Answer.document_id == ids[n]).values(copy_of=ids[0]))
        session.execute(update(Document).where(Document.key == "labeled-0").values(text="my pin has a label"))
        session.execute(update(Category).where(Category.category == 2).values(short_id="c-7kq2mx"))
    return made


@pytest.fixture
def indexed(made: Made, database: Database) -> Made:
    """The same with its texts in the index."""
    Indexing(database).fill(made.corpus.removeprefix("/v1/corpora/"))
    return made


@pytest.fixture
def short_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list is walked in windows of two rows, and each page is out of time after the first."""
    monkeypatch.setattr(walks, "FIRST_WINDOW", 2)
    monkeypatch.setattr(walks, "MAX_WINDOW", 2)
    monkeypatch.setattr(walks, "SECONDS", -1.0)


def pages(client: TestClient, path: str, **parameters: Any) -> Iterator[list[str]]:
    """The keys on each page of a list."""
    cursor: str | None = None
    while True:
        answer = client.get(path, params={**parameters, **({"cursor": cursor} if cursor else {})})
        assert answer.status_code == 200, answer.text
        yield [document["key"] for document in answer.json()["documents"]]
        cursor = answer.json()["next"]
        if cursor is None:
            return


def listed(client: TestClient, path: str, **parameters: Any) -> list[str]:
    return [key for page in pages(client, path, **parameters) for key in page]


def numbers(client: TestClient, made: Made, **parameters: Any) -> list[int]:
    """The numbers of the documents that a job lists."""
    return [int(key.removeprefix("document-")) for key in listed(client, f"{made.job}/documents", **parameters)]


def expected(sort: str | None, answers: Sequence[tuple[int | None, float | None]]) -> list[int]:
    """The order by what it is said to be."""
    unsure = sorted(range(len(answers)), key=lambda n: (answers[n][1] is not None, answers[n][1] or 0.0, n))
    return {None: list(range(len(answers))), "unsure": unsure, "probability": unsure[::-1]}[sort]


@pytest.mark.parametrize("sort", ORDERS)
@pytest.mark.parametrize("limit", [1, 3, 8, 100])
def test_documents_come_in_the_order_that_was_asked_for(
    client: TestClient, made: Made, sort: str | None, limit: int
) -> None:
    order = {"sort": sort} if sort else {}
    assert numbers(client, made, limit=limit, **order) == expected(sort, ANSWERS)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=15)
@given(st.lists(st.sampled_from([None, 0.0, 0.1, 0.5, 1 / 3, 1.0]), min_size=1, max_size=12), st.integers(1, 5))
def test_every_document_is_listed_once_in_every_order(
    client: TestClient, database: Database, probabilities: list[float | None], limit: int
) -> None:
    with database.sessions.begin() as session:
        session.execute(delete(Corpus))
    answers = [(None if p is None else n % 4, p) for n, p in enumerate(probabilities)]
    made = add_job(database, [Given(f"document-{n}", None, c, None, p) for n, (c, p) in enumerate(answers)])
    for sort in ORDERS:
        order = {"sort": sort} if sort else {}
        assert numbers(client, made, limit=limit, **order) == expected(sort, answers)
        known = [n for n in expected(sort, answers) if answers[n][0] in (0, 1)]
        assert numbers(client, made, limit=limit, known="true", **order) == known


FILTERS: list[tuple[dict[str, Any], list[int]]] = [
    ({"category": "2"}, [1, 6]),
    ({"category": "c-7kq2mx"}, [1, 6]),
    ({"category": "c-000000"}, []),
    ({"category": "none"}, [3, 7]),
    ({"category": "none", "known": "true"}, []),
    ({"category": "2", "known": "true"}, []),
    ({"known": "true"}, [0, 2, 5]),
    ({"known": "false"}, [1, 4, 6]),
    ({"name": "new 1"}, [1, 6]),
    ({"name": "new 1", "category": "3"}, []),
    ({"min_probability": 0.5}, [0, 1, 2, 5, 6]),
    ({"max_probability": 0.5}, [2, 4, 5, 6]),
    ({"min_probability": 0.45, "max_probability": 0.6, "known": "false"}, [6]),
    ({"unsure": "true"}, [3, 4, 7]),
    ({"unsure": "false"}, [0, 1, 2, 5, 6]),
    ({"unsure": "true", "unsure_known": 0.6, "unsure_new": 0.2}, [2, 3, 5, 7]),
    ({"unsure": "false", "unsure_known": 0.6, "unsure_new": 0.2}, [0, 1, 4, 6]),
    ({"unsure": "true", "unsure_new": 1.0, "max_probability": 0.8}, [4, 6]),
    ({"copies": "true"}, [2, 5]),
    ({"copies": "false"}, [0, 1, 3, 4, 6, 7]),
    ({"key": "document-5"}, [5]),
    ({"key": "document"}, []),
    ({"key": "labeled-0"}, []),
    ({"key": "document-5", "search": "pin"}, [5]),
    ({"key": "document-5", "search": "bank"}, []),
    ({"key_prefix": "document-"}, list(range(8))),
    ({"key_prefix": "Document-"}, []),
    ({"key_prefix": "%"}, []),
    ({"field": "year:2001"}, [1, 3, 5, 7]),
    ({"search": "pin"}, [0, 1, 5, 7]),
    ({"search": "pin -card"}, [0, 7]),
    ({"search": '"my pin"'}, [0]),
    ({"search": '"PIN my"'}, []),
    ({"search": "cafe"}, [4]),
    ({"search": "pin", "field": "year:2001"}, [1, 5, 7]),
    ({"search": "pin", "known": "true"}, [0, 5]),
    ({"search": "pin", "category": "2"}, [1]),
    ({"search": "pin", "min_probability": 0.6}, [0, 1]),
    ({"search": "pin", "unsure": "true"}, [7]),
    ({"search": "my", "copies": "false"}, [0, 1, 6]),
    ({"search": "nothing"}, []),
]


@pytest.mark.parametrize("sort", ORDERS)
def test_documents_are_filtered_by_anything_in_every_order(client: TestClient, indexed: Made, sort: str | None) -> None:
    order = {"sort": sort} if sort else {}
    for parameters, found in FILTERS:
        in_order = [n for n in expected(sort, ANSWERS) if n in found]
        assert numbers(client, indexed, limit=1, **order, **parameters) == in_order, parameters


@pytest.mark.usefixtures("short_windows")
@pytest.mark.parametrize("sort", ORDERS)
def test_a_page_whose_time_is_up_goes_on_with_the_next(
    client: TestClient, made: Made, monkeypatch: pytest.MonkeyPatch, sort: str | None
) -> None:
    """And where the index is not there yet, the texts themselves are searched."""
    monkeypatch.setattr(Indexing, "wake", lambda *_: None)
    order = {"sort": sort} if sort else {}
    for parameters, found in FILTERS:
        in_order = [n for n in expected(sort, ANSWERS) if n in found]
        assert numbers(client, made, limit=2, **order, **parameters) == in_order, parameters
    sizes = [len(page) for page in pages(client, f"{made.job}/documents", search="cafe", limit=2)]
    assert sizes[0] == 0, "a page of the list may be empty"
    assert len(sizes) > 2


@pytest.mark.parametrize("sort", ORDERS)
def test_a_word_that_many_documents_have_is_found_in_their_texts(
    client: TestClient, indexed: Made, monkeypatch: pytest.MonkeyPatch, sort: str | None
) -> None:
    monkeypatch.setattr(index, "FEW", 1)
    order = {"sort": sort} if sort else {}
    for parameters, found in FILTERS:
        in_order = [n for n in expected(sort, ANSWERS) if n in found]
        assert numbers(client, indexed, limit=2, **order, **parameters) == in_order, parameters


@pytest.mark.parametrize("kind", ["sqlite"])
def test_the_unsure_flag_follows_the_thresholds_of_the_request(client: TestClient, made: Made) -> None:
    for parameters in ({}, {"unsure_known": 0.6, "unsure_new": 0.2}, {"unsure_known": 0.0, "unsure_new": 1.0}):
        documents = client.get(f"{made.job}/documents", params=parameters).json()["documents"]
        flagged = {int(document["key"][-1]) for document in documents if document["unsure"]}
        assert flagged == set(numbers(client, made, unsure="true", **parameters))


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_cursor_of_another_order_is_refused_with_the_order_that_it_is_of(client: TestClient, made: Made) -> None:
    path = f"{made.job}/documents"
    cursors = {
        sort: client.get(path, params={"limit": 1, **({"sort": sort} if sort else {})}).json()["next"]
        for sort in ORDERS
    }
    for of, cursor in cursors.items():
        for sort in ORDERS:
            parameters = {"cursor": cursor, **({"sort": sort} if sort else {})}
            answer = client.get(path, params=parameters)
            assert answer.status_code == (200 if sort == of else 422)
            if sort != of:
                [error] = answer.json()["errors"]
                assert error["where"] == "query.cursor"
                assert (f"sort={of}" if of else "order of the upload") in error["reason"]


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize(
    "cursor", [["probability", 0.5, -1], ["probability", "x", 1], ["known", 0.5, 1], ["unsure", 0.5], 2**63, [1]]
)
def test_what_is_no_cursor_is_refused(client: TestClient, made: Made, cursor: Any) -> None:
    for sort in ("probability", "unsure"):
        answer = client.get(f"{made.job}/documents", params={"cursor": to_cursor(cursor), "sort": sort})
        assert answer.status_code == 422


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize(
    "parameters",
    [
        {"sort": "name"},
        {"category": "c-"},
        {"category": "C-7KQ2MX"},
        {"min_probability": "1.5"},
        {"max_probability": "nan"},
        {"search": ""},
        {"search": "-pin"},
        {"search": "x" * 301},
        {"key": "k" * 501},
    ],
)
def test_what_cannot_be_asked_for_is_a_422_that_says_where(
    client: TestClient, made: Made, parameters: dict[str, str]
) -> None:
    answer = client.get(f"{made.job}/documents", params=parameters)
    assert answer.status_code == 422
    assert all(error["where"].startswith(f"query.{next(iter(parameters))}") for error in answer.json()["errors"])


FTS_SYNTAX = [
    *('"', '""', "a AND", "NOT", "a OR OR b", "NEAR(", "a*", "^a", "{a}:b", "text:a", "a'b", "\\", ":*", "!a", "a&|b"),
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=100)
@given(st.text(max_size=80) | st.sampled_from(FTS_SYNTAX) | st.text("\"-* :()^\\'a&|!<>", max_size=80))
def test_whatever_is_searched_is_answered_or_refused(client: TestClient, indexed: Made, search: str) -> None:
    for path in (f"{indexed.job}/documents", f"{indexed.corpus}/documents"):
        answer = client.get(path, params={"search": search})
        assert answer.status_code in (200, 422), search
        if answer.status_code == 422:
            assert [error["where"] for error in answer.json()["errors"]] == ["query.search"]


def test_a_search_of_bytes_that_are_no_text_is_answered(client: TestClient, indexed: Made) -> None:
    for raw in ("%ff%fe", "pin%00card", "%C3%28", "%ED%A0%80pin"):
        assert client.get(f"{indexed.job}/documents?search={raw}").status_code in (200, 422)


def test_a_search_has_the_corpus_indexed(client: TestClient, made: Made, database: Database) -> None:
    corpus_id = made.corpus.removeprefix("/v1/corpora/")
    assert numbers(client, made, search="pin") == [0, 1, 5, 7]

    def is_whole() -> bool:
        with database.readers.begin() as session:
            return index.is_whole(session, corpus_id, index.last_document(session, corpus_id))

    wait_for(is_whole, "the corpus is indexed")
    assert numbers(client, made, search="pin") == [0, 1, 5, 7]


def test_a_search_that_the_index_answers_reads_no_text(
    client: TestClient, indexed: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[searches.Found] = []
    look_up = searches.look_up

    def noted(*arguments: Any) -> searches.Found:
        found.append(look_up(*arguments))
        return found[-1]

    monkeypatch.setattr("app.http.answer_pages.look_up", noted)
    assert numbers(client, indexed, search="cafe") == [4]
    assert found[0].document_ids is not None
    assert found[0].matches is None


def test_documents_of_a_corpus_are_searched_as_they_are_now(client: TestClient, indexed: Made) -> None:
    path = f"{indexed.corpus}/documents"
    assert listed(client, path, search="pin", limit=2) == [
        *("document-0", "document-1", "document-5", "document-7", "labeled-0")
    ]
    assert listed(client, path, search="pin", labeled="true") == ["labeled-0"]
    assert listed(client, path, search="pin", field="year:2001", limit=1) == ["document-1", "document-5", "document-7"]
    assert client.patch(f"{path}/document-0", json={"text": "a giraffe"}).status_code == 200
    assert client.delete(f"{path}/document-1").status_code == 200
    for _ in range(2):  # before and after the new text is in the index
        assert listed(client, path, search="pin") == ["document-5", "document-7", "labeled-0"]
        assert listed(client, path, search="giraffe") == ["document-0"]
        client.app.state.indexing.fill(indexed.corpus.removeprefix("/v1/corpora/"))  # type: ignore[attr-defined]
    assert numbers(client, indexed, search="pin") == [0, 1, 5, 7], "the job keeps the texts that it saw"
    assert numbers(client, indexed, search="giraffe") == []


def test_an_erased_text_is_not_found_any_more(client: TestClient, indexed: Made) -> None:
    assert client.post(f"{indexed.job}/cancel").status_code in (200, 202, 409)
    assert client.delete(f"{indexed.corpus}/documents/document-0?erase=true").status_code == 200
    assert numbers(client, indexed, search="pin") == [1, 5, 7]
    assert listed(client, f"{indexed.corpus}/documents", search="change") == []


@pytest.mark.usefixtures("short_windows")
def test_documents_of_a_corpus_are_filtered_in_any_windows(
    client: TestClient, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Indexing, "wake", lambda *_: None)
    path = f"{made.corpus}/documents"
    odd = [f"document-{n}" for n in (1, 3, 5, 7)]
    assert listed(client, path, field="year:2001", limit=1) == odd
    assert listed(client, path, search="pin", limit=1)[-2:] == ["document-7", "labeled-0"]


@pytest.mark.parametrize("is_whole", [True, False])
def test_an_export_has_the_documents_that_the_list_has(
    client: TestClient, made: Made, database: Database, monkeypatch: pytest.MonkeyPatch, is_whole: bool
) -> None:
    monkeypatch.setattr(Indexing, "wake", lambda *_: None)
    if is_whole:
        Indexing(database).fill(made.corpus.removeprefix("/v1/corpora/"))
    for parameters, found in FILTERS:
        for as_ in ("answers", "labels"):
            answer = client.get(f"{made.job}/documents/export", params={"format": "ndjson", "as": as_, **parameters})
            assert answer.status_code == 200
            keys = [json.loads(line)["key"] for line in answer.text.splitlines()]
            assert keys == [f"document-{n}" for n in found], (parameters, as_)


@pytest.mark.parametrize(
    ("parameters", "labeled"),
    [
        ({}, ["labeled-0", "labeled-1"]),
        ({"search": "pin"}, ["labeled-0"]),
        ({"category": "0"}, ["labeled-0"]),
        ({"known": "true"}, ["labeled-0", "labeled-1"]),
        ({"known": "false"}, []),
        ({"name": "optics"}, ["labeled-1"]),
        ({"category": "none"}, []),
        ({"unsure": "true"}, []),
        ({"copies": "false"}, []),
        ({"min_probability": 0.1}, []),
        ({"field": "year:2000"}, ["labeled-0"]),
        ({"key": "labeled-1"}, ["labeled-1"]),
    ],
)
def test_a_labeled_document_is_exported_with_the_category_that_its_label_names(
    client: TestClient, indexed: Made, parameters: dict[str, Any], labeled: list[str]
) -> None:
    options = {"format": "ndjson", "include": "all", **parameters}
    rows = map(json.loads, client.get(f"{indexed.job}/documents/export", params=options).text.splitlines())
    assert [row["key"] for row in rows if row["label"] is not None] == labeled


def test_an_upload_can_be_searched_at_once(client: TestClient) -> None:
    corpus = new_corpus(client)
    assert send(client, corpus, lines({"key": "a", "text": "a giraffe"}, {"key": "b", "text": "a zebra"})).is_success
    assert listed(client, f"{corpus}/documents", search="giraffe") == ["a"]
