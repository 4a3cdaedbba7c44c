"""The first view: two ways to begin for newcomers, jobs and corpora for all others."""

import re
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.settings import Settings
from app.http import main
from app.page.views import home
from tests.app.page.seen import asked, part, view, words
from tests.app.rows import CORPUS, end, submit
from tests.app.uploads.sending import new_corpus

pytestmark = pytest.mark.parametrize("kind", ["sqlite"])  # the API is tested on both databases

SCRIPT = "<script>alert(1)</script>"


def links(html: str, beginning: str = "") -> list[str]:
    """Where the links of a page lead that begin so."""
    return re.findall(rf'href="({re.escape(beginning)}[^"]*)"', html)


def submitted(client: TestClient, corpus: str, **facts: Any) -> str:
    """The id of a job that is queued."""
    told = client.post("/v1/jobs", json={"corpus_id": corpus, "discover": True, **facts})
    assert told.status_code == 202, told.text
    return str(told.json()["id"])


def filled(client: TestClient) -> str:
    """The id of a corpus with documents that a job can be over."""
    corpus = new_corpus(client)
    text = "galaxies at high redshift and their stars"
    rows = "".join(f'{{"key": "{n}", "text": "{text}"}}\n' for n in range(8))
    client.post(f"{corpus}/documents", content=rows, headers={"Content-Type": "application/x-ndjson"})
    return corpus.rpartition("/")[2]


def test_a_newcomer_reads_what_this_is_and_finds_a_place_for_a_file_and_the_sample(client: TestClient) -> None:
    page = view(client, "/")
    assert "a new one that it finds by itself" in words(page)
    assert '<input type="file" id="upload-file"' in page
    assert "data-first-run" in page
    assert 'id="jobs"' not in page


def test_without_its_files_no_sample_is_offered(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "sample_files", dict)
    page = view(client, "/")
    assert "data-first-run" not in page
    assert 'id="upload-file"' in page


def test_later_the_jobs_and_corpora_come_first_each_with_what_the_api_says(client: TestClient) -> None:
    corpus = filled(client)
    job = submitted(client, corpus, name="Tickets", tags=["autumn"])
    page = view(client, "/")
    jobs, corpora = part(page, "jobs"), part(page, "corpora")
    assert links(jobs) == [f"/jobs/{job}"]
    assert all(word in words(jobs) for word in ("Tickets", "queued", "autumn"))
    assert f"/corpora/{corpus}" in links(corpora)
    assert "8 documents, 0 with a label" in words(corpora)
    assert 'data-live="3"' in jobs
    assert "POST /v1/corpora" in asked(page)


def test_jobs_that_have_ended_are_not_watched(client: TestClient, database: Database) -> None:
    job_id, _ = submit(database)
    end(database, job_id)
    page = view(client, "/")
    assert "succeeded" in words(part(page, "jobs"))
    assert "data-live" not in page


def test_both_lists_are_paged_and_keep_each_others_place(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "N_CARDS", 2)
    corpora = [filled(client) for _ in range(3)]
    jobs = [submitted(client, corpora[0], name=f"job {n}") for n in range(3)]
    first = view(client, "/")
    assert links(first, "/jobs/") == [f"/jobs/{job}" for job in reversed(jobs[1:])]
    [of_jobs], [of_corpora] = links(first, "?jobs_from"), links(first, "?corpora_from")
    second = view(client, "/" + of_jobs.partition("#")[0])
    assert links(second, "/jobs/") == [f"/jobs/{jobs[0]}"]
    assert f"/corpora/{corpora[0]}" not in links(second)
    [of_both] = [each for each in links(second, "?") if "corpora_from" in each]
    last = view(client, "/" + of_both.partition("#")[0].replace("&amp;", "&"))
    assert links(last, "/jobs/") == [f"/jobs/{jobs[0]}"]
    assert f"/corpora/{corpora[0]}" in links(last)
    assert of_corpora != of_both


def test_markup_in_names_is_text(client: TestClient) -> None:
    corpus = filled(client)
    client.patch(f"/v1/corpora/{corpus}", json={"name": f"corpus {SCRIPT}"})
    submitted(client, corpus, name=f"job {SCRIPT}", tags=[SCRIPT])
    page = view(client, "/")
    assert SCRIPT not in page
    assert words(page).count(SCRIPT) == 3


def test_a_cursor_that_is_none_is_refused_in_words(client: TestClient) -> None:
    answer = client.get("/?jobs_from=nothing")
    assert answer.status_code == 422
    assert answer.headers["content-type"].startswith("text/html")
    assert "cursor" in words(answer.text)


def test_below_a_root_path_all_links_lead_there(settings: Settings, database: Database) -> None:
    submit(database)
    below = settings.model_copy(update={"root_path": "/new/found"})
    with TestClient(main.create_app(below)) as client:
        page = view(client, "/")
    found = [each for each in links(page) if each.startswith("/")]
    assert f"/new/found/corpora/{CORPUS}" in found
    assert all(each.startswith("/new/found/") for each in found)
