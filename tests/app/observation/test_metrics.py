"""What `/metrics` says is what SQL says when it is counted by other means, in both formats that clients accept."""

from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parsed_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parsed_text
from sqlalchemy import text, update
from sqlalchemy.exc import OperationalError
from starlette.testclient import TestClient

from app.broker import queue
from app.core import counters as counting
from app.core import presence
from app.core.counters import Counters, Key, read_counts
from app.core.db import Database, now
from app.core.settings import Settings
from app.core.tables import Job, Unit
from app.observation import metrics
from app.observation.service_state import read_state
from tests.app import legs, rows
from tests.app.uploads.sending import lines, new_corpus, send
from tests.worker import jobs

OPENMETRICS = "application/openmetrics-text; version=1.0.0"


@pytest.fixture(autouse=True)
def read_each_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Without a memory of a moment ago; and nothing counted by an earlier test of this process is handed over."""
    monkeypatch.setattr(metrics, "STATE_SECONDS", -1.0)
    counting.counters.counts.clear()
    yield
    counting.counters.counts.clear()


def samples(client: TestClient, accept: str = "text/plain") -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Every sample by its name and labels."""
    answer = client.get("/metrics", headers={"Accept": accept})
    assert answer.status_code == 200
    parse: Any = parsed_openmetrics if "openmetrics" in answer.headers["Content-Type"] else parsed_text
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in parse(answer.text)
        for sample in family.samples
    }


def value(client: TestClient, name: str, **labels: str) -> float:
    """One sample of the service's."""
    return samples(client)[f"newfound_{name}", frozenset(labels.items())]


def rows_of(database: Database, statement: str) -> dict[tuple[Any, ...], Any]:
    """The last column by those before it, asked in plain SQL."""
    with database.readers.begin() as session:
        return {tuple(row[:-1]): row[-1] for row in session.execute(text(statement))}


def test_jobs_and_units_are_those_that_plain_sql_counts(client: TestClient, database: Database) -> None:
    for chains, model in ((1, "lbpl-ntm"), (2, "calibrated"), (1, "dpgm"), (1, "calibrated")):
        job_id, _ = rows.submit(database, chains, model)
    legs.cancel(database, job_id)  # its units stay as they are, and nobody will ever do them
    [first, *_] = unit_ids_of_first(database)
    legs.claim(database, first, "a token")
    found = samples(client)
    expected = rows_of(database, "SELECT status, model, count(*) FROM jobs GROUP BY status, model")
    assert len(expected) == 4
    assert {
        (dict(labels)["status"], dict(labels)["model"]): count
        for (name, labels), count in found.items()
        if name == "newfound_jobs"
    } == expected
    live = "SELECT id FROM jobs WHERE status IN ('queued', 'running')"
    units = rows_of(
        database,
        f"SELECT status, kind, count(*) FROM units WHERE status <> 'done' AND job_id IN ({live}) GROUP BY status, kind",
    )
    assert units["running", "encode"] == 1
    assert {
        (dict(labels)["status"], dict(labels)["kind"]): count
        for (name, labels), count in found.items()
        if name == "newfound_units"
    } == units


def unit_ids_of_first(database: Database) -> list[int]:
    """The units of the job that was submitted first."""
    with database.readers.begin() as session:
        return [unit.id for unit in session.query(Unit).order_by(Unit.id).all()]


def test_units_of_a_side_run_count_while_it_is_live(client: TestClient, database: Database, settings: Settings) -> None:
    job_id, _ = rows.submit(database, 1, "calibrated")
    rows.add_encoding(database, job_id)
    rows.end(database, job_id)
    assert client.post(f"/v1/jobs/{job_id}/power-test").status_code == 202
    assert value(client, "units", status="ready", kind="power") == 1
    assert client.post(f"/v1/jobs/{job_id}/power-test/cancel").status_code == 200
    with pytest.raises(KeyError):
        value(client, "units", status="ready", kind="power")


def test_the_age_of_the_queue_is_the_longest_wait_for_a_worker(client: TestClient, database: Database) -> None:
    assert value(client, "queue_age_seconds") == 0
    waiting, _ = rows.submit(database)
    worked_at, [unit_id] = rows.submit(database)
    with database.sessions.begin() as session:
        session.execute(update(Job).where(Job.id == waiting).values(created_at=now() - 500.0))
        turned = {"created_at": now() - 900.0, "claimed_at": now() - 20.0}
        session.execute(update(Job).where(Job.id == worked_at).values(turned))
    assert value(client, "queue_age_seconds") == pytest.approx(500, abs=20)
    legs.cancel(database, waiting)
    assert value(client, "queue_age_seconds") == pytest.approx(20, abs=15)
    legs.claim(database, unit_id, "a token")
    assert value(client, "queue_age_seconds") == 0


def test_workers_are_working_or_starting(client: TestClient, database: Database) -> None:
    with database.sessions.begin() as session:
        presence.record(session, "a")
        presence.record(session, "b")
        presence.record(session, "c", "it compiles")
    assert value(client, "workers", state="working") == 2
    assert value(client, "workers", state="starting") == 1


def test_a_real_job_is_counted_as_its_rows_say(
    client: TestClient, database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sweeps, checkpoints and legs, by what the legs themselves left; speed and sizes while a chain runs."""
    counted = Counters()
    for module in ("worker.chains", "worker.leg", "worker.runner", "app.core.leases"):
        monkeypatch.setattr(f"{module}.counters", counted)
    _, unit_ids = jobs.submit(database, jobs.upload(database, jobs.rows(8)), chains=2, sweeps=6)
    often = jobs.with_changes(settings, **jobs.SAVE_AFTER_EVERY_SWEEP)
    jobs.run_to_the_end(database, often, unit_ids)
    counted.flush(database)
    found = samples(client)
    [n_draws] = rows_of(database, "SELECT count(*) FROM draws").values()
    ends = rows_of(database, "SELECT kind, count(*) FROM units WHERE status = 'done' GROUP BY kind")
    assert n_draws > 0 and found["newfound_sweeps_total", frozenset()] == n_draws
    for (kind,), count in ends.items():
        assert value(client, "legs_total", kind=kind, end="done") == count
    assert found["newfound_checkpoint_bytes_count", frozenset()] == n_draws  # a save after every sweep
    seconds = sum(value for (name, _), value in found.items() if name == "newfound_leg_seconds_total")
    worked = rows_of(database, "SELECT sum(seconds) FROM units")[()]
    assert worked <= seconds <= worked + 5 * len(unit_ids) + 5
    [largest, smallest] = [
        rows_of(database, f"SELECT {which}(length(data)) FROM checkpoints")[()] for which in ("max", "min")
    ]
    mean = found["newfound_checkpoint_bytes_sum", frozenset()] / n_draws
    assert smallest / 4 <= mean <= largest * 4
    with database.sessions.begin() as session:  # as if one chain were at work
        chain = session.query(Unit).filter_by(kind="chain", chain=0).one()
        chain.status, chain.lease_until, chain.saved_at = "running", session.scalar(text("SELECT 4e9")), 0.0
    size = rows_of(
        database,
        f"SELECT length(data) FROM checkpoints WHERE unit_id = {chain.id} ORDER BY id DESC LIMIT 1",
    )[()]
    n_tokens = rows_of(database, "SELECT n_tokens FROM encodings")[()]
    assert value(client, "running_checkpoint_bytes") == size
    assert value(client, "sweeps_per_second") == pytest.approx(chain.sweeps_per_second)
    assert value(client, "tokens_per_second") == pytest.approx(chain.sweeps_per_second * n_tokens)
    assert value(client, "save_age_seconds") > 1e9


def test_a_lease_that_ran_out_is_counted_whoever_finds_it(database: Database) -> None:
    _, [first] = rows.submit(database)
    _, [second] = rows.submit(database)
    for unit_id in (first, second):
        legs.claim(database, unit_id, "a token")
    assert counting.counters.counts[Key("lease_losses")] == 0
    rows.expire(database, first, second)
    assert legs.claim(database, first, "of another worker") is not None
    assert counting.counters.counts[Key("lease_losses")] == 1
    assert legs.reap(database) == [second]
    assert counting.counters.counts[Key("lease_losses")] == 2
    assert legs.claim(database, second, "of a third one") is not None
    legs.release(database, second, "of a third one")
    assert counting.counters.counts[Key("lease_losses")] == 2


def test_counts_of_several_workers_add_up_and_outlive_them(database: Database) -> None:
    workers = [Counters(), Counters()]
    for number, worker in enumerate(workers):
        for _ in range(3):
            worker.add("legs", kind="chain", part="done")
            worker.observe("checkpoint_save_seconds", 0.02 * (number + 1))
            worker.flush(database)
        worker.flush(database)
    with database.readers.begin() as session:
        found = read_counts(session)
    assert found[Key("legs", "chain", "done")] == 6
    assert found[Key("checkpoint_save_seconds", part="0.025")] == 3
    assert found[Key("checkpoint_save_seconds", part="0.05")] == 3
    assert found[Key("checkpoint_save_seconds", part="sum")] == pytest.approx(3 * 0.02 + 3 * 0.04)


def test_what_could_not_be_handed_over_is_counted_later(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Counters()
    worker.add("sweeps", 5)
    with monkeypatch.context() as away:
        away.setattr(counting, "add_counts", lambda *_: (_ for _ in ()).throw(OperationalError("", {}, Exception())))
        with pytest.raises(OperationalError):
            worker.flush(database)
    worker.add("sweeps", 2)
    worker.flush(database)
    with database.readers.begin() as session:
        assert read_counts(session) == {Key("sweeps"): 7}


@pytest.mark.parametrize("kind", ["sqlite"])
def test_requests_are_counted_by_route_method_and_status(client: TestClient) -> None:
    for path in ("/v1/corpora/a-secret-name", "/v1/corpora/another", "/nowhere", "/wp-admin", "/v1/corpora?x=1"):
        client.get(path)
    client.request("BREW", "/v1/corpora")
    client.get("/")  # a page, which asks the API: within the process, and not as a client
    found = {labels: count for (name, labels), count in samples(client).items() if name.endswith("requests_total")}
    told = {tuple(dict(labels)[name] for name in ("method", "route", "status")): n for labels, n in found.items()}
    assert told == {
        ("GET", "/v1/corpora/{corpus_id}", "404"): 2,
        ("GET", "unknown", "404"): 2,
        ("GET", "/v1/corpora", "422"): 1,
        ("other", "/v1/corpora", "405"): 1,
        ("GET", "/", "200"): 1,
    }
    seconds = samples(client)
    asked = frozenset({("method", "GET"), ("route", "/v1/corpora/{corpus_id}")})
    assert seconds["newfound_http_request_duration_seconds_count", asked] == 2
    assert 0 < seconds["newfound_http_request_duration_seconds_sum", asked] < 60
    assert seconds["newfound_http_requests_in_flight", frozenset()] == 1  # this one


@pytest.mark.parametrize("kind", ["sqlite"])
def test_uploads_are_counted_with_their_bytes_and_rows(client: TestClient) -> None:
    corpus = new_corpus(client)
    good = lines({"text": "one two"}, {"text": "three"}) + b"{\n"
    assert send(client, corpus, good).json()["rejected"] == 1
    assert send(client, corpus, b"{").status_code >= 400
    assert send(client, corpus, b"x" * (2**20 + 1)).status_code == 413
    assert value(client, "uploads_total", outcome="accepted") == 1
    assert value(client, "uploads_total", outcome="refused") == 2
    assert value(client, "upload_documents_total", outcome="accepted") == 2
    assert value(client, "upload_documents_total", outcome="rejected") >= 1
    assert value(client, "upload_bytes_total") == len(good) + 1


@pytest.mark.parametrize("kind", ["sqlite"])
def test_clients_that_accept_openmetrics_get_it(client: TestClient) -> None:
    told = client.get("/metrics", headers={"Accept": OPENMETRICS})
    assert told.headers["Content-Type"].startswith("application/openmetrics-text")
    assert told.text.endswith("# EOF\n")
    found, plain = samples(client, OPENMETRICS), samples(client)
    assert {name for name, _ in found} == {name for name, _ in plain}
    assert any(name.startswith("process_resident") for name, _ in found)
    assert any(name.startswith("python_gc") for name, _ in found)


@pytest.mark.parametrize("kind", ["sqlite"])
def test_without_database_or_broker_the_rest_is_told(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    assert value(client, "database_up") == value(client, "broker_up") == 1
    assert value(client, "broker_calls_waiting") == 0
    assert value(client, "database_bytes") > 4096

    def away(*_: object) -> None:
        raise OperationalError("", {}, Exception())

    monkeypatch.setattr(metrics, "read_state", away)
    queue.configure(settings.model_copy(update={"broker_url": rows.NOBODY_LISTENS}))
    found = samples(client)
    assert found["newfound_database_up", frozenset()] == found["newfound_broker_up", frozenset()] == 0
    assert found["newfound_disk_free_bytes", frozenset({("folder", "data")})] > 0
    assert not [name for name, _ in found if name in ("newfound_jobs", "newfound_broker_calls_waiting")]


def test_two_scrapes_in_a_row_read_the_database_once(
    client: TestClient, database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    monkeypatch.setattr(metrics, "STATE_SECONDS", 60.0)
    monkeypatch.setattr(metrics, "read_state", lambda *given: read.append(1) or read_state(*given))
    assert samples(client).keys() and samples(client).keys()
    assert read == [1]
