"""Which workers live, and what a job that waits for one says; on both databases."""

from sqlalchemy import select, update
from starlette.testclient import TestClient

from app import cli
from app.broker import queue
from app.core import leases, presence
from app.core.db import Database, now
from app.core.settings import Settings
from app.core.tables import Worker
from app.http.condition import BUSY, NO_BROKER, NO_WORKER
from tests.app.legs import cancel, claim, pause, save
from tests.app.rows import NOBODY_LISTENS, expire, run, submit


def see(database: Database, name: str, seconds_ago: float = 0.0) -> None:
    """Let a worker be seen some time ago."""
    with database.sessions.begin() as session:
        presence.record(session, name)
        session.execute(update(Worker).where(Worker.name == name).values(seen_at=now() - seconds_ago))


def names(database: Database) -> list[str]:
    with database.readers.begin() as session:
        return list(session.scalars(select(Worker.name).order_by(Worker.name)))


def alive(database: Database, settings: Settings) -> int:
    with database.readers.begin() as session:
        return len(presence.living(session, settings))


def test_a_worker_counts_once_however_often_it_is_seen(database: Database, settings: Settings) -> None:
    assert alive(database, settings) == 0
    for _ in range(3):
        see(database, "worker-1")
    see(database, "worker-2")
    assert alive(database, settings) == 2


def test_a_worker_that_is_late_thrice_is_dead_until_it_is_seen_again(database: Database, settings: Settings) -> None:
    limit = 3 * settings.reap_seconds + 1
    see(database, "late", limit - 5)
    see(database, "dead", limit + 5)
    assert alive(database, settings) == 1
    see(database, "dead")
    assert alive(database, settings) == 2


def test_a_worker_that_was_not_seen_for_a_day_is_forgotten(database: Database) -> None:
    see(database, "old", 86_500)
    see(database, "older but not a day", 86_300)
    see(database, "new")
    assert names(database) == ["new", "older but not a day"]


def test_health_counts_the_workers(client: TestClient, database: Database) -> None:
    assert client.get("/health").json()["workers"] == 0
    see(database, "worker-1")
    assert client.get("/health").json()["workers"] == 1


def note(client: TestClient, job_id: str) -> str | None:
    told = client.get(f"/v1/jobs/{job_id}").json()["progress"]["note"]
    [listed] = [job for job in client.get("/v1/jobs").json()["jobs"] if job["id"] == job_id]
    assert listed["progress"]["note"] == told
    return None if told is None else str(told)


def test_a_job_that_waits_because_no_worker_lives_says_so(client: TestClient, database: Database) -> None:
    job_id, [encode] = submit(database)
    assert note(client, job_id) == NO_WORKER == "no worker is running: start one with `newfound worker`"
    see(database, "worker-1")
    assert note(client, job_id) is None
    see(database, "worker-1", 3600)
    assert note(client, job_id) == NO_WORKER
    claim(database, encode, "a")
    assert note(client, job_id) is None, "somebody works on it, seen or not"
    expire(database, encode)
    assert note(client, job_id) == NO_WORKER


def test_a_job_that_waits_for_its_turn_says_so(client: TestClient, database: Database) -> None:
    see(database, "worker-1")
    _, [encode] = submit(database)
    claim(database, encode, "a")
    waiting, _ = submit(database)
    assert note(client, waiting) == BUSY


def test_a_job_that_waits_for_kernels_to_be_compiled_says_so(client: TestClient, database: Database) -> None:
    job_id, _ = submit(database)
    with database.sessions.begin() as session:
        presence.record(session, "worker-1", cli.COMPILING)
    assert note(client, job_id) == cli.COMPILING
    see(database, "worker-1")
    assert note(client, job_id) is None, "it is ready now"


def test_a_job_that_waits_for_the_broker_says_so(client: TestClient, database: Database) -> None:
    see(database, "worker-1")
    job_id, _ = submit(database)
    assert note(client, job_id) is None
    settings: Settings = client.app.state.settings  # type: ignore[attr-defined]
    queue.configure(settings.model_copy(update={"broker_url": NOBODY_LISTENS}))
    try:
        assert note(client, job_id) == NO_BROKER
    finally:
        queue.configure(settings)


def test_a_leg_that_waits_says_why(client: TestClient, database: Database) -> None:
    see(database, "worker-1")
    job_id, [encode] = submit(database)
    claim(database, encode, "a")
    with database.sessions.begin() as session:
        leases.note(session, encode, "a", "there is no room")
    assert client.get(f"/v1/jobs/{job_id}").json()["progress"]["note"] == "there is no room"
    save(database, encode, "a")
    assert client.get(f"/v1/jobs/{job_id}").json()["progress"]["note"] is None


def test_a_job_that_nobody_is_to_work_on_misses_no_worker(client: TestClient, database: Database) -> None:
    cancelled, _ = submit(database)
    paused, _ = submit(database)
    cancel(database, cancelled)
    pause(database, paused)
    assert note(client, cancelled) is None
    assert note(client, paused) is None


def test_each_chain_shows_its_digest(client: TestClient, database: Database) -> None:
    job_id, [encode] = submit(database)
    first, _ = run(database, encode)
    claim(database, first, "a")
    save(database, first, "a", digest="0f" * 32)
    chains = client.get(f"/v1/jobs/{job_id}").json()["progress"]["chains"]
    assert [chain["digest"] for chain in chains] == ["0f" * 32, None]
