"""Jobs that continue others: with what was decided as labels, with documents that have arrived, and from any kill."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import func, select, update
from starlette.testclient import TestClient

from app.broker import queue
from app.core import lifecycle
from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import Answer, AtomRun, Category, Document, Encoding, EncodingPart, Job, Unit
from app.uploads.removal import Removal
from tests.worker import jobs
from tests.worker.jobs import SUBJECTS, arrive, run_to_the_end
from worker import runner

# Of both databases: what is asked of them here is asked in tests/worker/test_review_machine.py, too.
pytestmark = pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])

MODELS: dict[str, Callable[..., tuple[str, list[int]]]] = {
    "lbpl-ntm": jobs.submit,
    "calibrated": jobs.submit_calibrated,
}
PLANETS = "mercury venus mars jupiter saturn uranus neptune pluto ceres titan io europa ganymede callisto triton"


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> str:
    """The model of a job."""
    return str(request.param)


@pytest.fixture(autouse=True)
def woken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The units for which workers were called."""
    found: list[int] = []
    monkeypatch.setattr(queue, "wake", lambda _, unit_ids: found.extend(unit_ids))
    return found


@pytest.fixture
def source(database: Database, settings: Settings, model: str) -> str:
    """A job that has succeeded."""
    return jobs.finished(database, settings, MODELS[model], sweeps=20)


def decide(client: TestClient, job_id: str, *decisions: dict[str, Any]) -> None:
    answer = client.post(f"/v1/jobs/{job_id}/decisions", json={"decisions": decisions})
    assert answer.status_code == 201, answer.text


def ask_to_continue(client: TestClient, job_id: str, **body: Any) -> str:
    """The id of the job that continues one."""
    answer = client.post(f"/v1/jobs/{job_id}/continue", json=body)
    assert answer.status_code == 202, answer.text
    assert answer.json()["continues"] == job_id
    return str(answer.json()["id"])


def continued(client: TestClient, database: Database, settings: Settings, woken: list[int], source: str) -> str:
    """The job that continues one, when it has succeeded."""
    job_id = ask_to_continue(client, source)
    run_to_the_end(database, settings, woken)
    job = jobs.job(database, job_id)
    assert job.status == "succeeded", job.error
    return job_id


def answers(client: TestClient, job_id: str) -> dict[str, dict[str, Any]]:
    found = client.get(f"/v1/jobs/{job_id}/documents?limit=1000").json()["documents"]
    return {each["key"]: each for each in found}


def names(client: TestClient, job_id: str) -> dict[str, dict[str, Any]]:
    found = client.get(f"/v1/jobs/{job_id}/categories").json()["categories"]
    return {each["name"]: each for each in found}


def test_decisions_are_labels_of_the_job_that_continues(
    client: TestClient, database: Database, settings: Settings, woken: list[int], source: str
) -> None:
    before = names(client, source)
    [new] = [each for each in before.values() if not each["known"]]
    rivers = sorted(key for key, each in answers(client, source).items() if each["name"] == new["name"])
    decide(
        client,
        source,
        {"kind": "promote", "category": new["id"], "name": "river"},
        {"kind": "pin", "documents": ["fruit-0"], "category": "metal"},
        {"kind": "none", "documents": ["metal-0"]},
        {"kind": "name", "category": "fruit", "name": "fruits"},
    )
    job_id = continued(client, database, settings, woken, source)
    found, categories = answers(client, job_id), names(client, job_id)
    assert set(found) == set(answers(client, source)), "no document is lost"
    assert [each["name"] for each in categories.values() if each["known"]] == ["fruits", "metal", "river"]
    assert (categories["river"]["id"], categories["fruits"]["id"]) == (new["id"], before["fruit"]["id"])
    assert (found["fruit-0"]["name"], found["fruit-0"]["probability"]) == ("metal", 1.0)
    assert (found["metal-0"]["name"], found["metal-0"]["reason"][:16]) == (None, "somebody decided")
    assert sum(found[key]["name"] == "river" for key in rivers) >= 0.9 * len(rivers)
    assert all(found[f"fruit-{n}"]["name"] == "fruits" for n in range(2, 20, 2))
    compared = client.get(f"/v1/jobs/{job_id}/comparison?compared_with={source}").json()
    assert compared["counts"] == {"kept": 3, "grown": 0, "split": 0, "merged": 0, "new": 0, "gone": 0}
    assert (compared["benefit"]["confirmed"], compared["benefit"]["corrected"]) == (0, 2)
    for name, each in categories.items():
        assert each["documents"] == sum(answer["name"] == name for answer in found.values())
    assert categories["fruits"]["labeled"] == before["fruit"]["labeled"] == 10


def test_a_job_continues_with_the_documents_that_have_arrived(
    client: TestClient, database: Database, settings: Settings, woken: list[int], source: str
) -> None:
    texts = {"river-x": " ".join(SUBJECTS["river"].split()[:12]), "fruit-x": " ".join(SUBJECTS["fruit"].split()[:12])}
    planets = PLANETS.split()
    texts |= {f"planet-{n}": " ".join(planets[n % 5 :] + planets[: n % 3]) for n in range(20)}
    arrive(database, [{"key": key, "text": text} for key, text in texts.items()])
    with database.sessions.begin() as session:  # a document goes
        session.execute(update(Document).where(Document.key == "metal-0").values(until=2))
    job_id = continued(client, database, settings, woken, source)
    found = answers(client, job_id)
    assert set(found) == {*answers(client, source), *texts} - {"metal-0"}
    assert (found["fruit-x"]["name"], found["river-x"]["known"]) == ("fruit", False)
    assert found["river-x"]["name"] == found["river-2"]["name"]


def test_ids_and_given_names_survive(
    client: TestClient, database: Database, settings: Settings, woken: list[int], source: str
) -> None:
    [new] = [each for each in names(client, source).values() if not each["known"]]
    decide(client, source, {"kind": "name", "category": new["id"], "name": "waters"})
    first = continued(client, database, settings, woken, source)
    assert names(client, first)["waters"]["id"] == new["id"]
    woken.clear()
    second = continued(client, database, settings, woken, first)
    assert names(client, second)["waters"]["id"] == new["id"]
    assert {each["id"] for each in names(client, second).values()} == {
        each["id"] for each in names(client, source).values()
    }


def test_what_was_dissolved_stays_dissolved_if_it_is_found_again(
    client: TestClient, database: Database, settings: Settings, woken: list[int], source: str
) -> None:
    [new] = [each for each in names(client, source).values() if not each["known"]]
    decide(client, source, {"kind": "dissolve", "category": new["id"]})
    job_id = continued(client, database, settings, woken, source)
    assert new["id"] not in {each["id"] for each in names(client, job_id).values()}
    [again] = client.get(f"/v1/jobs/{job_id}/decisions").json()["decisions"]
    assert (again["kind"], again["category"]) == ("dissolve", new["id"])


def test_the_same_bytes_in_one_leg_or_in_fifty_and_after_a_kill(
    client: TestClient, database: Database, settings: Settings, woken: list[int], source: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    decide(client, source, {"kind": "pin", "documents": ["fruit-0"], "category": "metal"})
    whole = outcome(database, continued(client, database, settings, woken, source))
    woken.clear()
    job_id = ask_to_continue(client, source)
    small = jobs.with_changes(settings, **jobs.ONE_STEP_A_LEG)
    assert run_to_the_end(database, small, list(woken)) > 20
    assert outcome(database, job_id) == whole

    woken.clear()
    job_id = ask_to_continue(client, source)
    units, n_killed = list(woken), 0
    while units:
        unit_id = units.pop(0)
        save = runner.Leg.save

        def kill(leg: Any, *arguments: Any, **named: Any) -> Any:
            raise jobs.Killed

        if n_killed < 12:
            with monkeypatch.context() as patched, pytest.raises(jobs.Killed):
                patched.setattr(runner.Leg, "save", kill)
                patched.setattr(runner.Leg, "end", kill)
                runner.run(database, small, unit_id, lambda: False)
            n_killed += 1
            with database.sessions.begin() as session:  # its lease runs out
                session.execute(update(Unit).where(Unit.id == unit_id).values(lease_until=0.0, attempts=0))
        assert runner.Leg.save is save
        units += runner.run(database, small, unit_id, lambda: False)
    assert outcome(database, job_id) == whole


def outcome(database: Database, job_id: str) -> Any:
    """All that a job leaves, but for its id and times; ids of categories follow from keys and the source."""
    found = jobs.outcome(database, job_id)
    with database.readers.begin() as session:
        ids = session.execute(select(Category.category, Category.short_id).where(Category.job_id == job_id)).all()
    return found, sorted(tuple(row) for row in ids)


def test_a_job_all_of_whose_documents_were_decided_about_answers_with_that(
    client: TestClient, database: Database, settings: Settings, woken: list[int], source: str
) -> None:
    found = answers(client, source)
    fruit, others = ([key for key in found if key.startswith("fruit") == is_fruit] for is_fruit in (True, False))
    decide(
        client,
        source,
        {"kind": "pin", "documents": fruit, "category": "fruit"},
        {"kind": "pin", "documents": others, "new_category": "no fruit"},
    )
    job_id = continued(client, database, settings, woken, source)
    assert {key: each["name"] for key, each in answers(client, job_id).items()} == {
        key: "fruit" if key in fruit else "no fruit" for key in found
    }
    woken.clear()
    assert answers(client, continued(client, database, settings, woken, job_id)) == answers(client, job_id)


def test_a_source_is_neither_deleted_nor_extended_while_it_is_continued(
    client: TestClient, database: Database, settings: Settings, woken: list[int], source: str
) -> None:
    job_id = ask_to_continue(client, source)
    for refused in (
        client.delete(f"/v1/jobs/{source}"),
        client.post(f"/v1/jobs/{source}/extend", json={"sweeps": 5}),
    ):
        assert (refused.status_code, f"job {job_id} continues" in refused.text) == (409, True)
    run_to_the_end(database, settings, woken)
    assert client.delete(f"/v1/jobs/{source}").status_code == 204
    assert client.get(f"/v1/jobs/{job_id}/categories").status_code == 200


def test_a_deleted_job_leaves_nothing_that_is_its_own_and_all_that_is_shared(
    client: TestClient, database: Database, settings: Settings, woken: list[int], source: str
) -> None:
    def kept() -> tuple[int, int, int]:
        with database.readers.begin() as session:
            tables = (Encoding, EncodingPart, AtomRun)
            return tuple(session.scalar(select(func.count()).select_from(table)) or 0 for table in tables)  # type: ignore[return-value]

    before = kept()
    decide(client, source, {"kind": "pin", "documents": ["fruit-0"], "category": "metal"})
    job_id = continued(client, database, settings, woken, source)
    assert kept() > before
    assert client.delete(f"/v1/jobs/{job_id}").status_code == 204
    Removal(database).run()
    assert kept() == before
    woken.clear()
    continued(client, database, settings, woken, source)


def test_a_job_whose_source_was_deleted_says_so(
    client: TestClient, database: Database, settings: Settings, woken: list[int], source: str
) -> None:
    job_id = ask_to_continue(client, source)
    client.post(f"/v1/jobs/{job_id}/cancel")
    assert client.delete(f"/v1/jobs/{source}").status_code == 204
    with database.sessions.begin() as session:
        _, unit_ids = lifecycle.resume(session, lifecycle.Run(job_id))
    run_to_the_end(database, settings, unit_ids)
    job = jobs.job(database, job_id)
    assert job.status == "failed" and "has been deleted; submit a new job" in str(job.error)


def test_what_cannot_be_continued_is_refused(client: TestClient, database: Database, source: str) -> None:
    tag = client.get(f"/v1/jobs/{source}/categories").headers["ETag"]
    decide(client, source, {"kind": "none", "documents": ["fruit-0"]})
    refused = client.post(f"/v1/jobs/{source}/continue", json={}, headers={"If-Match": tag})
    assert refused.status_code == 412
    assert client.post(f"/v1/jobs/{source}/extend", json={"sweeps": 5}).status_code == 202
    refused = client.post(f"/v1/jobs/{source}/continue", json={})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:newfound:problem:job-not-continuable")
    with database.readers.begin() as session:
        assert session.scalar(select(Job.id).where(Job.continues == source)) is None
        assert session.scalars(select(Answer.job_id).distinct()).all() == [source]


def test_a_job_that_continues_another_one_can_be_asked_all_that_others_can(
    client: TestClient, database: Database, settings: Settings, woken: list[int], source: str, model: str
) -> None:
    decide(client, source, {"kind": "pin", "documents": ["fruit-0"], "category": "metal"})
    job_id = continued(client, database, settings, woken, source)
    woken.clear()
    assert client.post(f"/v1/jobs/{job_id}/extend", json={"sweeps": 5}).status_code == 202
    if model == "calibrated":
        with database.sessions.begin() as session:
            woken += lifecycle.begin_power_test(session, job_id)[1]
    run_to_the_end(database, settings, list(woken))
    job = client.get(f"/v1/jobs/{job_id}").json()
    assert job["extension"]["status"] == "succeeded" and job["settings"]["sweeps"] == 25
    if model == "calibrated":
        assert job["power_test"]["status"] == "succeeded"
    for part in ("audit", "labels", "labels/pairs", "tree", "drift", "model", "triage", "trace", "groups?by=x"):
        answer = client.get(f"/v1/jobs/{job_id}/{part}")
        assert answer.status_code == (422 if part.startswith("groups") else 200), (part, answer.text)
    assert answers(client, job_id)["fruit-0"]["name"] == "metal", "an extension keeps what was decided"
