"""New documents and frozen models over HTTP, of jobs that workers have run, on both databases."""

import csv
import io
import json
import random
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import delete, select, update
from starlette.testclient import TestClient

from app.core import lifecycle
from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import CategorizedDay, FrozenModel, ModelPart
from app.frozen import answers, drift
from app.http.main import create_app
from tests.app.http.test_calibrated import pages
from tests.waits import wait_for
from tests.worker import jobs

FRUIT = "apple pear plum cherry peach grape"
RIVER = "danube rhine volga loire tagus ebro"


@pytest.fixture(params=["calibrated", "lbpl-ntm"])
def job(database: Database, settings: Settings, request: pytest.FixtureRequest) -> str:
    """The address of a job that has succeeded."""
    submit = jobs.submit_calibrated if request.param == "calibrated" else jobs.submit
    return f"/v1/jobs/{jobs.finished(database, settings, submit, text={'min_document_frequency': 1})}"


@pytest.fixture
def calibrated(database: Database, settings: Settings) -> str:
    """The address of a calibrated one."""
    text = {"min_document_frequency": 1}
    return f"/v1/jobs/{jobs.finished(database, settings, jobs.submit_calibrated, text=text)}"


def lines(documents: Sequence[dict[str, Any]]) -> bytes:
    """Documents as NDJSON."""
    return "".join(json.dumps(document) + "\n" for document in documents).encode()


def categorize(client: TestClient, address: str, documents: Sequence[dict[str, Any]], **query: Any) -> Any:
    """What the model says of documents."""
    answer = client.post(f"{address}/categorize", content=lines(documents), params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def strangers(n: int) -> list[dict[str, Any]]:
    """Documents that no job has seen."""
    dice, words = random.Random(5), [word for subject in jobs.SUBJECTS.values() for word in subject.split()]
    return [{"key": f"new {i}", "text": " ".join(dice.choices(words, k=7))} for i in range(n)]


def test_a_document_of_the_job_gets_the_answer_that_the_job_gave(client: TestClient, job: str) -> None:
    given = {document["key"]: document for document in pages(client, f"{job}/documents", "documents", limit=1000)}
    told = categorize(client, job, [{"key": key, "text": row["text"]} for key, row in given.items()])
    assert len(told["documents"]) == len(given) > 40
    same = ("category", "name", "known", "probability", "known_probability", "category_probability", "unsure")
    for document in told["documents"]:
        expected = given[document["key"]]
        assert {name: document[name] for name in same} == {name: expected[name] for name in same}
        assert document["of_corpus"] is (expected["category"] is not None)
        if expected["runner_up"]:
            second = document["likely"][1]
            assert (second["category"], second["probability"]) == (
                expected["runner_up"]["category"],
                expected["runner_up"]["probability"],
            )


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_document_is_answered_alike_alone_or_among_others_in_any_order(client: TestClient, job: str) -> None:
    documents = strangers(60)
    together = {row["key"]: row for row in categorize(client, job, documents)["documents"]}
    backwards = {row["key"]: row for row in categorize(client, job, documents[::-1])["documents"]}
    for document in documents:
        [alone] = categorize(client, job, [document])["documents"]
        for other in (together[document["key"]], backwards[document["key"]]):
            assert {**other, "line": 1} == alone


@pytest.mark.parametrize("kind", ["sqlite"])
def test_new_documents_of_the_categories_are_put_into_them(client: TestClient, calibrated: str) -> None:
    told = categorize(client, calibrated, [{"text": FRUIT, "year": 2024}, {"text": RIVER}])
    fruit, river = told["documents"]
    assert (fruit["name"], fruit["known"], fruit["reason"]) == ("fruit", True, None)
    assert river["known"] is False and river["category"] >= 2
    assert (fruit["fields"], fruit["key"], fruit["line"]) == ({"year": 2024}, None, 1)
    assert {each["word"] for each in river["evidence"]} <= set(RIVER.split()) and river["evidence"]
    for document in told["documents"]:
        assert document["likely"][0]["probability"] == document["probability"]
        assert 0.0 <= document["novelty"] < 1.0 and document["unknown_words"] == 0.0
    assert told["novel"] == sum(document["novel"] for document in told["documents"])


@pytest.mark.parametrize("kind", ["sqlite"])
def test_what_the_model_knows_no_word_of_has_no_evidence(client: TestClient, calibrated: str) -> None:
    told = categorize(client, calibrated, [{"text": "quark gluon"}, {"text": " "}, {"text": "apple quark gluon boson"}])
    unknown, blank, mixed = told["documents"]
    for document, share in ((unknown, 1.0), (blank, None)):
        assert document["reason"].startswith("no evidence") and document["unknown_words"] == share
        assert document["category"] is None and document["unsure"] and document["likely"] == []
    assert mixed["unknown_words"] == 0.75 and mixed["name"] == "fruit"


@pytest.mark.parametrize("kind", ["sqlite"])
def test_thresholds_are_those_of_the_request(client: TestClient, calibrated: str) -> None:
    documents = [{"text": FRUIT}, {"text": RIVER}]
    for query, expected in (
        ({"unsure_known": 1, "unsure_new": 0}, [True, False]),
        ({"unsure_known": 0, "unsure_new": 1}, [False, True]),
    ):
        told = categorize(client, calibrated, documents, **query)
        assert [document["unsure"] for document in told["documents"]] == expected
    assert categorize(client, calibrated, documents, novel=0)["novel"] == 2
    assert categorize(client, calibrated, documents, novel=1)["novel"] == 0


@pytest.mark.parametrize("kind", ["sqlite"])
def test_answers_come_as_lines_or_as_a_table_as_well(client: TestClient, calibrated: str) -> None:
    sent = b"ID;Text;received\n1;apple pear;2024\n2;;2025\n3;danube rhine;=1+1\n"
    query = {"key": "ID", "text": "Text"}
    told = client.post(f"{calibrated}/categorize", content=sent, params=query).json()["documents"]
    as_lines = client.post(f"{calibrated}/categorize", content=sent, params={**query, "answer_format": "ndjson"})
    assert [json.loads(line) for line in as_lines.text.splitlines()] == told
    as_table = client.post(f"{calibrated}/categorize", content=sent, params={**query, "answer_format": "csv"})
    rows = list(csv.DictReader(io.StringIO(as_table.text)))
    assert [(row["key"], row["category"]) for row in rows] == [(row["key"], row["name"] or "") for row in told]
    assert [row["received"] for row in rows] == ["2024", "2025", "'=1+1"]
    assert rows[1]["reason"].startswith("no evidence") and rows[0]["line"] == "2"


@pytest.mark.parametrize("kind", ["sqlite"])
def test_lines_that_cannot_be_used_are_told_and_lose_no_other(client: TestClient, calibrated: str) -> None:
    sent = b'{"text": "apple"}\n{"text": 5\n{"text": "iron"}\n'
    told = client.post(f"{calibrated}/categorize", content=sent).json()
    assert [row["line"] for row in told["documents"]] == [1, 3]
    assert [row["line"] for row in told["errors"]] == [2]
    as_lines = client.post(f"{calibrated}/categorize", content=sent, params={"answer_format": "ndjson"})
    assert [json.loads(line)["line"] for line in as_lines.text.splitlines()] == [1, 2, 3]


@pytest.mark.parametrize("kind", ["sqlite"])
def test_more_documents_than_one_value_may_have_are_refused_and_answered_as_lines(
    client: TestClient, calibrated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "MOST_IN_JSON", 3)
    monkeypatch.setattr(answers, "AT_ONCE", 2)
    refused = client.post(f"{calibrated}/categorize", content=lines(strangers(7)))
    assert refused.status_code == 413 and "answer_format=ndjson" in refused.json()["detail"]
    told = client.post(f"{calibrated}/categorize", content=lines(strangers(7)), params={"answer_format": "ndjson"})
    assert [json.loads(line)["key"] for line in told.text.splitlines()] == [f"new {i}" for i in range(7)]


def test_an_imported_model_answers_bit_for_bit_after_the_job_is_gone(client: TestClient, job: str) -> None:
    documents = [*strangers(40), *({"key": row["key"], "text": row["text"]} for row in jobs.rows())]
    before = categorize(client, job, documents)
    file = client.get(f"{job}/model")
    assert file.headers["content-length"] == str(len(file.content))
    made = client.post("/v1/models", params={"name": "mine"}, content=file.content)
    assert made.status_code == 201, made.text
    assert client.get(made.headers["location"]).json() == made.json()
    assert client.delete(job).status_code in (202, 204)
    address = made.headers["location"]
    after = categorize(client, address, documents)
    assert {**after, "model": before["model"]} == before
    assert client.get(f"{address}/file").content == file.content
    [listed] = client.get("/v1/models").json()["models"]
    assert listed == made.json() and (listed["name"], listed["imported"]) == ("mine", True)
    assert client.delete(address).status_code == 204
    for gone in (client.get(address), client.post(f"{address}/categorize", content=b'{"text": "apple"}')):
        assert gone.status_code == 404 and gone.json()["type"].endswith("model-not-found")


@pytest.mark.parametrize("kind", ["sqlite"])
def test_the_same_job_again_has_the_same_model_but_for_its_id(
    client: TestClient, database: Database, settings: Settings, calibrated: str
) -> None:
    first = client.get(f"{calibrated}/model").content
    corpus_id = jobs.job(database, calibrated.rpartition("/")[2]).corpus_id
    job_id, unit_ids = jobs.submit_calibrated(database, corpus_id, text={"min_document_frequency": 1})
    jobs.run_to_the_end(database, jobs.with_changes(settings, **jobs.ONE_STEP_A_LEG), unit_ids)
    second = client.get(f"/v1/jobs/{job_id}/model").content
    old_id, new_id = calibrated.rpartition("/")[2].encode(), job_id.encode()
    assert first[:-32].replace(old_id, new_id) == second[:-32], "in one leg or in many; the rest is the checksum"


def test_models_are_those_of_present_results(client: TestClient, database: Database, calibrated: str) -> None:
    [model] = client.get("/v1/models").json()["models"]
    assert (model["imported"], model["job"]) == (False, calibrated.rpartition("/")[2])
    assert [category["known"] for category in model["categories"]][:2] == [True, True]
    address = f"/v1/models/{model['id']}"
    assert client.get("/v1/models", params={"imported": True}).json()["models"] == []
    refused = client.delete(address)
    assert refused.status_code == 409 and refused.json()["type"].endswith("model-of-job")
    with database.sessions.begin() as session:
        session.execute(update(FrozenModel).values(edition=2))  # of a conclusion that is not over
    assert client.get(address).status_code == 404 and client.get("/v1/models").json()["models"] == []
    refused = client.post(f"{calibrated}/categorize", content=b'{"text": "apple"}')
    assert refused.status_code == 409 and refused.json()["type"].endswith("no-model")


def test_an_extended_job_has_a_new_model_and_the_old_one_is_gone(
    client: TestClient, database: Database, settings: Settings, job: str
) -> None:
    [before] = client.get("/v1/models").json()["models"]
    with database.sessions.begin() as session:
        _, unit_ids = lifecycle.extend(session, job.rpartition("/")[2], 2)
    assert client.post(f"{job}/categorize", content=b'{"text": "apple"}').json()["model"] == before["id"]
    jobs.run_to_the_end(database, settings, unit_ids)
    [after] = client.get("/v1/models").json()["models"]
    assert after["id"] != before["id"] and client.get(f"/v1/models/{before['id']}").status_code == 404
    assert client.put(f"{job}/categorize", content=b'{"text": "apple"}').json()["model"] == after["id"]
    with database.readers.begin() as session:
        assert set(session.scalars(select(ModelPart.model_id))) == {after["id"]}


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_damaged_model_is_a_problem_and_no_crash(
    client: TestClient, database: Database, settings: Settings, calibrated: str
) -> None:
    with database.sessions.begin() as session:
        data = session.scalars(select(ModelPart.data)).one()
        session.execute(update(ModelPart).values(data=jobs.damaged(data)))
    refused = client.post(f"{calibrated}/categorize", content=b'{"text": "apple"}')
    assert refused.status_code == 409 and refused.json()["type"].endswith("model-damaged")
    with database.sessions.begin() as session:
        session.execute(delete(ModelPart))
    with TestClient(create_app(settings)) as anew:
        assert anew.post(f"{calibrated}/categorize", content=b'{"text": "apple"}').status_code == 409


@pytest.mark.parametrize("wrong", [b"hello", b"", b"newfound-model" + bytes(200)])
def test_what_is_no_model_is_refused(client: TestClient, wrong: bytes) -> None:
    refused = client.post("/v1/models", content=wrong)
    assert refused.status_code == 422 and refused.json()["type"].endswith("unusable-model"), refused.text
    assert client.get("/v1/models").json()["models"] == []


def test_a_model_larger_than_the_operator_allows_is_refused(settings: Settings, database: Database) -> None:
    with TestClient(create_app(settings.model_copy(update={"max_model_bytes": 100}))) as client:
        assert client.post("/v1/models", content=bytes(101)).status_code == 413


@pytest.mark.parametrize("kind", ["sqlite"])
def test_few_open_models_answer_as_many_do(client: TestClient, calibrated: str, settings: Settings) -> None:
    file = client.get(f"{calibrated}/model").content
    with TestClient(create_app(settings.model_copy(update={"max_open_models_bytes": 1}))) as narrow:
        addresses = [narrow.post("/v1/models", content=file).headers["location"], calibrated]
        told = [categorize(narrow, address, strangers(5))["documents"] for address in addresses * 2]
        assert told == [told[0]] * 4
        assert len(narrow.app.state.open_models.models) == 1  # type: ignore[attr-defined]


def test_documents_are_counted_by_day_and_a_day_of_strangers_is_an_alarm(
    client: TestClient, database: Database, calibrated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.http.routers.new_documents.time", lambda: 20_000.5 * drift.SECONDS_A_DAY)
    known = [{"text": row["text"]} for row in jobs.rows() if row["label"]]
    for _ in range(2):
        told = categorize(client, calibrated, [*known, {"text": "quark"}])
    [day] = client.get(f"{calibrated}/drift").json()["days"]
    n = 2 * len(known)
    assert (day["day"], day["documents"], day["without_evidence"]) == ("2024-10-04", n + 2, 2)
    assert day["novel"] == 2 * told["novel"] and day["share"] == day["novel"] / n and not day["alarm"]
    with database.sessions.begin() as session:
        session.execute(update(CategorizedDay).values(n_novel=n // 2))
    told = client.get(f"{calibrated}/drift").json()
    assert told["days"][0]["alarm"] and told["days"][0]["share"] == 0.5
    assert told["days"][0]["level"] == drift.alarm_level(told["expected"], n)
    assert client.get(f"{calibrated}/drift", params={"since": "2024-10-05"}).json()["days"] == []
    assert client.get(f"/v1/models/{told['model']}/drift").json() == told


def test_the_alarm_level_lets_chance_pass() -> None:
    """Three deviations of a binomial share and one document: 100 of which 5 % are expected may have 12.5 %."""
    assert drift.alarm_level(0.05, 100) == pytest.approx(0.05 + 3 * (0.05 * 0.95 / 100) ** 0.5 + 0.01)
    assert drift.alarm_level(0.0, 1) == 1.0 and drift.alarm_level(0.3, 0) == 1.0


def test_a_model_goes_with_its_job(client: TestClient, database: Database, calibrated: str) -> None:
    categorize(client, calibrated, strangers(3))
    assert client.delete(calibrated).status_code in (202, 204)
    assert client.get("/v1/models").json()["models"] == []

    def is_gone() -> bool:
        with database.readers.begin() as session:
            return not any(session.scalars(select(table)).all() for table in (FrozenModel, ModelPart, CategorizedDay))

    wait_for(is_gone, "the rows of the model")


def test_answers_of_a_job_tell_the_words_that_speak_for_them(
    client: TestClient, database: Database, calibrated: str
) -> None:
    plain = client.get(f"{calibrated}/documents").json()["documents"]
    told = client.get(f"{calibrated}/documents", params={"evidence": True}).json()["documents"]
    assert [{**document, "evidence": None} for document in told] == plain
    by_text = categorize(client, calibrated, [{"text": document["text"]} for document in told])["documents"]
    for document, same in zip(told, by_text, strict=True):
        assert document["evidence"] == same["evidence"] and document["likely"] == same["likely"]
        assert bool(document["evidence"]) == (document["category"] is not None)
    with database.sessions.begin() as session:
        session.execute(delete(FrozenModel))
    refused = client.get(f"{calibrated}/documents", params={"evidence": True})
    assert refused.status_code == 409 and refused.json()["type"].endswith("no-model")
    assert client.get(f"{calibrated}/documents").status_code == 200
