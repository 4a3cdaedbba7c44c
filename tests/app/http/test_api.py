"""The endpoints of corpora, jobs and health, over both databases."""

import json
from dataclasses import asdict
from typing import Any

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from app.broker import queue
from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import Encoding, Job
from app.schemas.job_settings import BASELINES
from app.uploads import corpus_counts
from sampler.hyperparameters import DEFAULT_ANSWER, DEFAULT_KERNEL, Hyperparameters
from sampler.text import TextOptions
from tests.app import rows
from tests.app.legs import claim, finish, save
from tests.app.rows import NOBODY_LISTENS, succeed, units

NOBODY = "99999999-2222-4333-8444-555555555555"


@pytest.fixture
def corpus_id(client: TestClient) -> str:
    """A corpus that a job can be run over."""
    location = client.post("/v1/corpora", json={"name": "corpus"}).headers["Location"]
    upload(
        client,
        location,
        [{"text": f"galaxy plasma {n}", "label": "known" if n % 2 else None} for n in range(10)],
    )
    return str(location.rpartition("/")[2])


def upload(client: TestClient, corpus: str, documents: list[dict[str, Any]]) -> None:
    content = "\n".join(map(json.dumps, documents)).encode()
    headers = {"Content-Type": "application/x-ndjson"}
    assert client.post(f"{corpus}/documents", content=content, headers=headers).status_code == 200


def submit(client: TestClient, corpus_id: str, **settings: Any) -> Any:
    return client.post("/v1/jobs", json={"corpus_id": corpus_id, **settings})


def pages(client: TestClient, path: str, name: str, /, **parameters: Any) -> list[Any]:
    """The rows of all pages of a list; no page is empty but a lonely first one."""
    found: list[Any] = []
    cursor: str | None = None
    while True:
        answer = client.get(path, params={**parameters, **({"cursor": cursor} if cursor else {})}).json()
        found += answer[name]
        cursor = answer["next"]
        if cursor is None:
            return found
        assert len(answer[name]) == parameters["limit"]


def test_a_corpus_is_made_looked_at_and_deleted(client: TestClient) -> None:
    made = client.post("/v1/corpora", json={"name": "Ünïcode 🜁"})
    assert made.status_code == 201
    corpus = client.get(made.headers["Location"]).json()
    assert corpus == {
        **made.json(),
        "documents": 0,
        "labeled": 0,
        "unlabeled": 0,
        "empty": 0,
        "copies": 0,
        "distinct_texts": 0,
        "vectors": {"documents": 0, "length": None},
        "categories": [],
        "warnings": [],
    }
    assert corpus["created_at"].endswith("Z")
    assert client.delete(made.headers["Location"]).status_code == 204
    assert client.get(made.headers["Location"]).status_code == 404
    assert client.delete(made.headers["Location"]).status_code == 404


def test_all_corpora_are_listed_once_newest_first(client: TestClient) -> None:
    made = [client.post("/v1/corpora", json={"name": f"corpus {n}"}).json()["id"] for n in range(7)]
    listed = [corpus["id"] for corpus in pages(client, "/v1/corpora", "corpora", limit=2)]
    assert sorted(listed) == sorted(made)
    times = [corpus["created_at"] for corpus in pages(client, "/v1/corpora", "corpora", limit=3)]
    assert times == sorted(times, reverse=True)


def test_the_list_of_corpora_counts_their_documents(client: TestClient, corpus_id: str) -> None:
    other = client.post("/v1/corpora", json={"name": "other"}).json()["id"]
    for n_empty in (1, 2):
        upload(client, f"/v1/corpora/{corpus_id}", [{"text": " ", "label": "known", "key": f"empty {n_empty}"}])
        listed = {corpus.pop("id"): corpus for corpus in client.get("/v1/corpora").json()["corpora"]}
        detail = client.get(f"/v1/corpora/{corpus_id}").json()
        assert listed[corpus_id] == {key: detail[key] for key in detail if key not in ("id", "categories", "warnings")}
        counts = [listed[corpus_id][name] for name in ("documents", "labeled", "unlabeled", "empty")]
        assert counts == [10 + n_empty, 5 + n_empty, 5, n_empty]
        assert [listed[other][name] for name in ("documents", "labeled", "unlabeled", "empty")] == [0, 0, 0, 0]


def test_the_list_counts_anew_only_what_has_changed(
    client: TestClient, corpus_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.post("/v1/corpora", json={"name": "other"})
    before = client.get("/v1/corpora").json()
    counted: list[str] = []
    count = corpus_counts.count
    monkeypatch.setattr(corpus_counts, "count", lambda session, ids: counted.extend(ids) or count(session, ids))
    assert client.get("/v1/corpora").json() == before
    assert counted == []
    upload(client, f"/v1/corpora/{corpus_id}", [{"text": "new"}])
    assert {corpus["documents"] for corpus in client.get("/v1/corpora").json()["corpora"]} == {0, 11}
    assert counted == [corpus_id]


def test_a_job_over_a_corpus_without_a_label_must_be_asked_for(client: TestClient) -> None:
    corpus = client.post("/v1/corpora", json={"name": "unlabeled"}).json()["id"]
    upload(client, f"/v1/corpora/{corpus}", [{"text": f"galaxy star {n}", "Category!": "x"} for n in range(20)])
    refused = submit(client, corpus)
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:newfound:problem:no-labels")
    assert "discover=true" in refused.json()["detail"]
    taken = submit(client, corpus, discover=True)
    assert taken.status_code == 202
    assert "none of the 20 documents has a label" in taken.json()["warnings"][0]
    assert client.get(taken.headers["Location"]).json()["warnings"] == taken.json()["warnings"]


def test_a_job_tells_what_is_probably_wrong_with_the_labels(client: TestClient, corpus_id: str) -> None:
    upload(client, f"/v1/corpora/{corpus_id}", [{"text": "galaxy", "label": "KNOWN"}, {"text": "star", "label": "n/a"}])
    job = submit(client, corpus_id).json()
    assert any("“KNOWN”" in each for each in job["warnings"])
    assert any("unlabeled=n/a" in each for each in job["warnings"])
    assert client.get(f"/v1/corpora/{corpus_id}").json()["warnings"] == job["warnings"]


def test_a_corpus_cannot_be_deleted_under_a_live_job(client: TestClient, corpus_id: str) -> None:
    job = submit(client, corpus_id).json()
    refused = client.delete(f"/v1/corpora/{corpus_id}")
    assert refused.status_code == 409
    assert job["id"] in refused.json()["detail"]
    client.post(f"/v1/jobs/{job['id']}/cancel")
    assert client.delete(f"/v1/corpora/{corpus_id}").status_code == 204
    assert client.get(f"/v1/jobs/{job['id']}").status_code == 404


def test_a_job_is_accepted_with_all_defaults_told(client: TestClient, corpus_id: str) -> None:
    answer = submit(client, corpus_id, model="lbpl-ntm")
    job = answer.json()
    assert answer.status_code == 202
    assert answer.headers["Location"] == f"/v1/jobs/{job['id']}" == job["links"]["self"]
    assert answer.headers["Retry-After"] == "1"
    assert job["status"] == "queued"
    assert job["settings"] == {
        "text": {**asdict(TextOptions()), "extra_stop_words": [], "markup": []},
        "model": "lbpl-ntm",
        "kernel": DEFAULT_KERNEL,
        "hyperparameters": {**asdict(Hyperparameters()), "gamma_mean": 0.001, "alpha_mean": 0.5},
        "answer": DEFAULT_ANSWER,
        **dict.fromkeys(
            ("calibrated", "vectors", "embedding_model", "source_field", "n_categories", "split", *BASELINES)
        ),
        "sweeps": 500,
        "burn_in": 250,
        "chains": 2,
        "seed": 0,
    }
    followed = client.get(job["links"]["self"])
    assert followed.json() == job
    assert followed.headers["Retry-After"] == "1"


def test_a_job_keeps_what_it_was_given(client: TestClient, corpus_id: str) -> None:
    job = submit(
        client,
        corpus_id,
        text={"stop_words": "none", "extra_stop_words": ["plasma"], "min_document_frequency": 2},
        kernel="collapsed",
        hyperparameters={"gamma_shape": 2, "category_step": "as_printed"},
        sweeps=7,
        burn_in=0,
        chains=3,
        seed=2**63 - 1,
    ).json()
    settings = job["settings"]
    assert settings["text"]["extra_stop_words"] == ["plasma"]
    assert (settings["kernel"], settings["hyperparameters"]["gamma_mean"]) == ("collapsed", 0.002)
    assert (settings["sweeps"], settings["burn_in"], settings["chains"], settings["seed"]) == (7, 0, 3, 2**63 - 1)
    assert [chain["chain"] for chain in job["progress"]["chains"]] == [0, 1, 2]
    assert job["progress"]["sweeps_total"] == 21


MALFORMED: list[tuple[dict[str, Any], str]] = [
    ({"sweeps": 0}, "body.sweeps"),
    ({"sweeps": "5"}, "body.sweeps"),
    ({"sweeps": 10**30}, "body.sweeps"),
    ({"chains": 65}, "body.chains"),
    ({"seed": 2**63}, "body.seed"),
    ({"sweeps": 5, "burn_in": 5}, "body"),
    ({"model": "lda"}, "body.model"),
    ({"surprise": 1}, "body.surprise"),
    ({"\ud800": 1}, "body"),
    ({"text": {"stop_words": "xx"}}, "body.text.stop_words"),
    ({"text": {"extra_stop_words": ["\0"]}}, "body.text.extra_stop_words.0"),
    ({"text": {"extra_stop_words": ["\ud800"]}}, "body.text.extra_stop_words.0"),
    ({"text": {"min_document_frequency": 2**31}}, "body.text.min_document_frequency"),
    ({"hyperparameters": {"beta": 0}}, "body.hyperparameters.beta"),
    ({"hyperparameters": {"beta": float("nan")}}, "body.hyperparameters.beta"),
    ({"hyperparameters": {"gamma_mean": 1}}, "body.hyperparameters.gamma_mean"),
]


def test_a_malformed_job_is_a_422_that_says_where(client: TestClient, corpus_id: str) -> None:
    for given, where in MALFORMED:
        body = json.dumps({"corpus_id": corpus_id, **given})
        answer = client.post("/v1/jobs", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == 422, given
        assert where in [error["where"] for error in answer.json()["errors"]], given


def test_the_step_as_printed_is_refused_to_the_blocked_kernel_with_what_to_do(
    client: TestClient, corpus_id: str
) -> None:
    step = {"category_step": "as_printed"}
    answer = submit(client, corpus_id, kernel="blocked", hyperparameters=step)
    assert answer.status_code == 422
    [fault] = answer.json()["errors"]
    assert "category_step = 'as_printed' goes with kernel = 'collapsed' alone" in fault["reason"]
    assert submit(client, corpus_id, kernel="collapsed", hyperparameters=step).status_code == 202
    assert submit(client, corpus_id, kernel="blocked").json()["settings"]["kernel"] == "blocked"


def test_a_job_from_before_there_was_a_choice_of_kernels_tells_the_one_it_has(
    client: TestClient, database: Database
) -> None:
    job_id, _ = rows.submit(database)
    with database.sessions.begin() as session:
        job = session.get_one(Job, job_id)
        job.settings = {name: value for name, value in job.settings.items() if name != "kernel"}
    assert client.get(f"/v1/jobs/{job_id}").json()["settings"]["kernel"] == "collapsed"


def test_a_job_over_nothing_is_refused_with_what_to_do(client: TestClient, corpus_id: str) -> None:
    empty = client.post("/v1/corpora", json={"name": "empty"}).json()["id"]
    assert "has no documents" in submit(client, empty).json()["detail"]
    upload(client, f"/v1/corpora/{empty}", [{"text": "galaxy", "label": "known"}])
    assert "no unlabeled documents" in submit(client, empty).json()["detail"]
    frequent = submit(client, corpus_id, text={"min_document_frequency": 11})
    assert frequent.status_code == 409
    assert "min_document_frequency (now 11)" in frequent.json()["detail"]
    assert frequent.json()["type"] == "urn:newfound:problem:nothing-to-categorize"
    assert submit(client, NOBODY).status_code == 404
    assert submit(client, "\0").status_code == 404
    assert client.get("/v1/jobs").json()["jobs"] == []


def test_jobs_are_listed_once_and_filtered(client: TestClient, corpus_id: str) -> None:
    made = [submit(client, corpus_id).json()["id"] for _ in range(5)]
    client.post(f"/v1/jobs/{made[2]}/cancel")
    assert sorted(job["id"] for job in pages(client, "/v1/jobs", "jobs", limit=2)) == sorted(made)
    assert [job["id"] for job in pages(client, "/v1/jobs", "jobs", limit=2, status="cancelled")] == [made[2]]
    assert len(pages(client, "/v1/jobs", "jobs", limit=3, corpus_id=corpus_id, status="queued")) == 4
    assert pages(client, "/v1/jobs", "jobs", limit=3, corpus_id=NOBODY) == []


def test_a_job_is_cancelled_and_resumed(client: TestClient, corpus_id: str) -> None:
    job = submit(client, corpus_id).json()["links"]["self"]
    assert client.post(f"{job}/resume").json()["type"] == "urn:newfound:problem:job-not-resumable"
    cancelled = client.post(f"{job}/cancel")
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    assert "Retry-After" not in client.get(job).headers
    again = client.post(f"{job}/cancel")
    assert (again.status_code, again.json()["type"]) == (409, "urn:newfound:problem:job-finished")
    resumed = client.post(f"{job}/resume")
    assert (resumed.status_code, resumed.json()["status"], resumed.json()["finished_at"]) == (202, "queued", None)


def test_progress_tells_what_the_units_are_at(client: TestClient, database: Database, corpus_id: str) -> None:
    job = submit(client, corpus_id, model="lbpl-ntm", sweeps=10).json()
    assert job["progress"]["stage"] == "encode"
    [encode] = units(database, job["id"], "encode")
    claim(database, encode.id, "a")
    first, second = finish(database, encode.id, "a")
    for chain, n_sweeps in ((first, 4), (second, 6)):
        claim(database, chain, "a")
        save(database, chain, "a", n_sweeps)
    progress = client.get(job["links"]["self"]).json()["progress"]
    assert progress["stage"] == "sample"
    assert (progress["sweeps_done"], progress["sweeps_total"]) == (10, 20)
    assert 0.0 < progress["fraction"] < 1.0
    assert progress["sweeps_per_second"] == 7.0
    assert 0.0 < progress["seconds_left"] < 6 / 3.5 + 1.0  # of the chain that has most to do, at the rate it tells
    assert progress["n_categories"] == 7
    finish(database, first, "a")
    [conclude] = finish(database, second, "a")
    concluding = client.get(job["links"]["self"]).json()["progress"]
    assert concluding["stage"] == "conclude"
    assert progress["fraction"] < concluding["fraction"] < 1.0
    assert concluding["seconds_left"] > 0.0
    succeed(database, job["id"], [conclude])
    done = client.get(job["links"]["self"]).json()
    assert (done["status"], done["progress"]["stage"]) == ("succeeded", "done")
    assert (done["progress"]["fraction"], done["progress"]["seconds_left"]) == (1.0, None)


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_job_is_accepted_while_the_broker_is_away(
    client: TestClient, corpus_id: str, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    queue.configure(settings.model_copy(update={"broker_url": NOBODY_LISTENS}))
    assert submit(client, corpus_id).status_code == 202
    assert "a reaper will call again" in caplog.text


def test_a_job_calls_for_one_worker(client: TestClient, corpus_id: str) -> None:
    folder = client.app.state.settings.broker_folder / "messages"  # type: ignore[attr-defined]
    assert list(folder.iterdir()) == []
    submit(client, corpus_id)
    [message] = folder.iterdir()
    assert json.loads(message.read_text())["headers"]["task"] == queue.CALL


def test_a_job_tells_what_was_chosen_for_its_texts_once_they_are_encoded(
    client: TestClient, database: Database
) -> None:
    job_id, _ = rows.submit(database)
    assert client.get(f"/v1/jobs/{job_id}").json()["texts"] is None
    rows.add_encoding(database, job_id)
    told = client.get(f"/v1/jobs/{job_id}").json()["texts"]
    assert (told["language"], told["stop_words"], told["vocabulary"], told["tokens"]) == (None, [], 2, 5)
    with database.sessions.begin() as session:
        facts = {"language": "de", "stop_words": ["de"], "stemming": None}
        session.execute(update(Encoding).values(facts=facts, n_texts=4))
    told = client.get(f"/v1/jobs/{job_id}").json()["texts"]
    assert told == {**facts, "vocabulary": 2, "tokens": 5, "distinct_texts": 4}
