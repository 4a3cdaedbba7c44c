"""The commands of docker-compose.yml, run as processes over a real PostgreSQL and a real Redis.

They run from a read-only copy of what the Dockerfile installs, without capabilities, with no other
environment than image and compose file give. The tests follow each other as a deployment does.
"""

import json
from collections.abc import Iterator

import pytest

from tests.client import Client
from tests.deployment.conftest import Deployment, Image
from tests.deployment.image import last
from tests.deployment.processes import Process
from tests.deployment.servers import installed, service
from tests.waits import slowness, wait_for

READY = " is ready and hears calls from "
COMPILED = 10  # sweeps of both chains: by then every kernel is compiled, and none keeps a worker from ending


def grace() -> float:
    """Seconds to end in; docker-compose.yml gives 60."""
    return min(20.0 * slowness(), 60.0)


@pytest.fixture(scope="module")
def migrated(deployment: Deployment) -> Deployment:
    """The servers after the one-shot service has ended."""
    migrate = deployment.start("migrate")
    assert migrate.wait() == 0, migrate.tail()
    return deployment


@pytest.fixture(scope="module")
def key(migrated: Deployment) -> str:
    """An API key, made as an operator makes it."""
    made = migrated.run("api", [migrated.image.program(), "keys", "create", "--owner", "ada"])
    assert made.wait() == 0, made.tail()
    return next(line for line in made.log().splitlines() if line.startswith("nf_"))


@pytest.fixture
def client(migrated: Deployment, key: str) -> Iterator[Client]:
    """A client of the API, whether it is up or not."""
    client = Client(f"http://127.0.0.1:{migrated.port}", key)
    yield client
    client.http.close()


@pytest.fixture(scope="module")
def apis() -> list[Process]:
    """Every API that was started."""
    return []


@pytest.fixture
def api(migrated: Deployment, apis: list[Process], client: Client) -> Process:
    """The API, up: another one, if a test has ended the last."""
    if not apis or not apis[-1].is_running():
        apis.append(migrated.start("api"))
    process = apis[-1]

    def is_up() -> bool:
        assert process.is_running(), process.tail()
        return client.is_up()

    wait_for(is_up, "the API is up")
    return process


def test_the_api_refuses_an_empty_database_and_says_what_to_run(deployment: Deployment) -> None:
    api = deployment.start("api")
    assert api.wait() == 1, api.tail()
    assert "run `newfound migrate` first" in api.log()


def test_the_image_asks_for_a_key(migrated: Deployment, api: Process) -> None:
    stranger = Client(f"http://127.0.0.1:{migrated.port}")
    assert stranger.is_up()
    assert stranger.request("GET", "/v1/corpora").status_code == 401
    stranger.http.close()


def test_a_job_survives_the_stop_of_its_worker_and_succeeds_over_a_read_only_image(
    migrated: Deployment, api: Process, client: Client, image: Image
) -> None:
    before = image.files()
    corpus_id = client.upload_sample()
    job_id = client.submit(corpus_id, sweeps=300)
    worker = migrated.start("worker")
    wait_for(lambda: client.sweeps_done(job_id) >= COMPILED or not worker.is_running(), "the first sweeps")
    code, seconds = worker.terminate()
    assert code == 0, worker.tail()
    assert seconds < grace()
    assert client.job(job_id)["status"] == "running"

    second = migrated.start("worker")
    job = client.wait_until_succeeded(job_id)
    assert [draw["sweep"] for draw in client.trace(job_id)] == [*range(1, 301)] * 2
    assert job["progress"]["sweeps_done"] == 600
    code, seconds = second.terminate()
    assert code == 0, second.tail()
    assert seconds < grace()

    assert image.files() == before
    compiled = set(image.writable["/cache"].rglob("*.nbi")) - image.laid_in
    assert compiled, "numba's cache is not where it should be"
    assert len(compiled) < len(image.laid_in), "the worker found none of the kernels that were there"
    assert list(image.writable["/data"].iterdir()) == []  # so a tmpfs is enough


def test_the_health_checks_tell_a_service_that_is_well_from_one_that_is_not(migrated: Deployment, api: Process) -> None:
    def database_is_well(port: int) -> bool:
        kind, program, *arguments = service("db")["healthcheck"]["test"]
        assert kind == "CMD"
        return migrated.run("migrate", [str(installed() / program), *arguments, f"--port={port}"]).wait() == 0

    def worker_is_well() -> bool:
        return migrated.is_well("worker", service("worker")["healthcheck"]["test"])

    def api_is_well() -> bool:
        kind, command = last("HEALTHCHECK").rsplit("CMD", 1)
        assert kind.strip().startswith("--interval")
        return migrated.is_well("api", ["CMD", *json.loads(command)])

    assert database_is_well(migrated.postgres.port)
    assert not database_is_well(migrated.redis.port)

    assert api_is_well()
    worker = migrated.start("worker")
    wait_for(lambda: READY in worker.log(), "the worker is ready")  # each health check is a process of its own
    wait_for(worker_is_well, "the worker is well", every=1.0)
    assert worker.terminate()[0] == 0, worker.tail()
    wait_for(lambda: not worker_is_well(), "a worker that is gone counts as unwell", every=1.0)

    api.kill()
    assert not api_is_well()


def test_sigterm_ends_the_api_with_no_error(api: Process) -> None:
    code, seconds = api.terminate()
    assert code == 0, api.tail()
    assert seconds < grace()
