"""The views of a corpus and of its documents: what they show is what the API says."""

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.settings import Settings
from app.http import main
from app.page.views import corpora
from tests.app.page.seen import asked, part, rows_of, view, words
from tests.app.page.test_home import SCRIPT, links
from tests.app.rows import CORPUS, submit
from tests.app.uploads.sending import new_corpus

pytestmark = pytest.mark.parametrize("kind", ["sqlite"])  # the API is tested on both databases

NOBODY = "00000000-0000-4000-8000-000000000000"


def corpus_of(client: TestClient, *documents: dict[str, Any]) -> str:
    """The id of a corpus with these documents."""
    corpus = new_corpus(client)
    if documents:
        content = "\n".join(map(json.dumps, documents))
        told = client.post(f"{corpus}/documents", content=content, headers={"Content-Type": "application/x-ndjson"})
        assert told.json()["rejected"] == 0, told.text
    return corpus.rpartition("/")[2]


def numbered(n: int, **values: Any) -> dict[str, Any]:
    """A document."""
    return {"key": f"key-{n}", "text": f"text number {n}", **values}


def keys_of(page: str) -> list[str]:
    """The keys of the documents that a page shows."""
    return [row[0].split()[0] for row in rows_of(page)[1:]]


def test_an_empty_corpus_asks_for_documents(client: TestClient) -> None:
    corpus = corpus_of(client)
    page = view(client, f"/corpora/{corpus}")
    assert "has no document yet" in words(page)
    assert f'data-corpus="{corpus}"' in page
    assert f"/corpora/{corpus}/new-job" not in links(page)
    assert "no document yet" in words(view(client, f"/corpora/{corpus}/documents"))


def test_counts_warnings_and_categories_are_those_of_the_api(client: TestClient) -> None:
    labels = ["a", "a", "a", "b", None, None, "N/A"]
    documents = [numbered(n, label=label) for n, label in enumerate(labels)]
    corpus = corpus_of(client, *documents, numbered(7, text=""), numbered(8, text="text number 1", vector=[1, 0, 0, 2]))
    said = client.get(f"/v1/corpora/{corpus}").json()
    page = view(client, f"/corpora/{corpus}")
    assert said["warnings"]
    assert all(warning in words(page) for warning in said["warnings"])
    facts = words(page[page.index("<dl") : page.index("</dl>")])
    assert facts == (
        "Documents 9 With a label 5 Without a label 4 Without text 1 Copies of others 1 With a vector of 4 numbers 1"
    )
    assert [row[:2] for row in rows_of(part(page, "categories"))[1:]] == [["a", "3"], ["N/A", "1"], ["b", "1"]]


def test_many_categories_are_paged_the_largest_first(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "N_BARS", 2)
    corpus = corpus_of(client, *(numbered(n, label=f"label {min(n, 4)}") for n in range(7)))
    page = view(client, f"/corpora/{corpus}")
    assert "1 to 2 of 5" in words(page)
    [following] = links(page, "?categories_from")
    second = view(client, f"/corpora/{corpus}{following.partition('#')[0]}")
    shown = [row[0] for each in (page, second) for row in rows_of(part(each, "categories"))[1:]]
    assert shown == ["label 4", "label 0", "label 1", "label 2"]


def test_its_jobs_are_listed_and_it_can_be_renamed_described_exported_and_deleted(
    client: TestClient, database: Database
) -> None:
    job, _ = submit(database)
    client.put(f"/v1/corpora/{CORPUS}/descriptions", json={"descriptions": [{"name": SCRIPT, "text": "money back"}]})
    page = view(client, f"/corpora/{CORPUS}")
    assert links(part(page, "jobs"), "/jobs/") == [f"/jobs/{job}"]
    assert asked(page) == {f"PATCH /v1/corpora/{CORPUS}", f"DELETE /v1/corpora/{CORPUS}"}
    assert f'data-descriptions="/v1/corpora/{CORPUS}/descriptions"' in page
    assert "money back" in part(page, "descriptions")
    assert SCRIPT not in page
    exports = links(page, f"/v1/corpora/{CORPUS}/export")
    assert exports
    assert {client.get(each).status_code for each in exports} <= {200, 501}


def test_descriptions_with_vectors_which_a_form_would_lose_are_only_shown(client: TestClient) -> None:
    corpus = corpus_of(client, numbered(1, vector=[1, 0, 0, 2]))
    described = {"descriptions": [{"name": "refunds", "text": "money back", "vector": [0, 1, 0, 0]}]}
    assert client.put(f"/v1/corpora/{corpus}/descriptions", json=described).status_code == 200
    page = view(client, f"/corpora/{corpus}")
    assert "data-descriptions" not in page
    assert ["refunds", "money back"] in rows_of(part(page, "descriptions"))


def test_documents_are_shown_with_labels_fields_and_what_they_have(client: TestClient) -> None:
    long = "word " * 800
    corpus = corpus_of(
        client,
        numbered(1, label="a", year=2024, note="x" * 500),
        numbered(2, text=long.strip(), vector=[1, 0, 0, 2]),
        numbered(3, text=""),
        {"key": "key-4", "counts": {"galaxy": 2}},
    )
    rows = rows_of(view(client, f"/corpora/{corpus}/documents"))[1:]
    assert [row[0] for row in rows] == ["key-1 a", "key-2 no label", "key-3 no label", "key-4 no label"]
    texts = [row[1] for row in rows]
    assert texts[0].startswith("text number 1 year: 2024 note: xxx")
    assert len(texts[0]) < 200
    assert texts[1].endswith("all of it vector")
    assert len(texts[1]) < 3_200
    assert texts[2] == "no text"
    assert "word counts" in texts[3]


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("", ["key-1", "key-2", "key-3"]),
        ("?search=%22number+2%22", ["key-2"]),
        ("?label=a", ["key-1"]),
        ("?labeled=true", ["key-1", "key-3"]),
        ("?labeled=false&search=&label=", ["key-2"]),
        ("?field=year:2024", ["key-3"]),
        ("?search=nothing", []),
    ],
)
def test_documents_are_searched_and_filtered(client: TestClient, query: str, keys: list[str]) -> None:
    corpus = corpus_of(client, numbered(1, label="a"), numbered(2), numbered(3, label="b", year=2024))
    page = view(client, f"/corpora/{corpus}/documents{query}")
    assert keys_of(page) == keys
    assert bool(keys) or "No document has all of this" in words(page)


def test_documents_are_paged_and_the_filters_stay(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "N_ROWS", 2)
    corpus = corpus_of(client, *(numbered(n, label="a b") for n in range(3)), numbered(4))
    at = f"/corpora/{corpus}/documents"
    [following] = links(view(client, f"{at}?label=a+b"), "?label")
    page = view(client, at + following.replace("&amp;", "&"))
    assert keys_of(page) == ["key-2"]
    assert 'value="a b"' in page


def test_markup_in_documents_is_text(client: TestClient) -> None:
    document = {"key": f"key {SCRIPT}", "text": f"text {SCRIPT}", "label": f"label {SCRIPT}", SCRIPT: SCRIPT}
    corpus = corpus_of(client, document)
    client.patch(f"/v1/corpora/{corpus}", json={"name": SCRIPT})
    for address in (f"/corpora/{corpus}", f"/corpora/{corpus}/documents"):
        page = view(client, address)
        assert SCRIPT not in page
        assert SCRIPT in words(page)


@pytest.mark.parametrize("address", [f"/corpora/{NOBODY}", f"/corpora/{NOBODY}/documents", "/corpora/none"])
def test_an_unknown_corpus_is_a_page_with_404(client: TestClient, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 404
    assert "There is no such corpus" in words(answer.text)


def test_below_a_root_path_all_links_lead_there(settings: Settings, database: Database) -> None:
    submit(database)
    below = settings.model_copy(update={"root_path": "/new/found"})
    with TestClient(main.create_app(below)) as client:
        for address in (f"/corpora/{CORPUS}", f"/corpora/{CORPUS}/documents"):
            found = [each for each in links(view(client, address)) if each.startswith("/")]
            assert found
            assert all(each.startswith("/new/found/") for each in found)
