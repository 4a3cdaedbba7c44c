"""What becomes of calls while the broker comes and goes."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from redis.exceptions import ConnectionError as RedisConnectionError

from app.broker import queue
from app.core.settings import Settings
from tests.faults.servers import ValkeyBroker

logger = logging.getLogger(__name__)

CALL = "newfound.work"
WAIT_SECONDS = 10.0


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[ValkeyBroker]:
    """A Redis server."""
    server = ValkeyBroker(tmp_path)
    server.start()
    yield server
    server.kill()


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_worker_that_could_not_acknowledge_a_call_still_hears_the_next_one(
    broker: ValkeyBroker, settings: Settings
) -> None:
    queue.configure(settings)
    calls = Celery("calls", broker=broker.url, set_as_current=False)
    heard: list[str] = []

    def listen() -> None:
        with calls.connection_for_read() as connection:
            at_once = queue.celery.conf.worker_prefetch_multiplier * queue.celery.conf.worker_concurrency
            connection.default_channel.basic_qos(0, at_once, False)

            def hear(message: Any) -> None:
                """The first time, the broker dies between its message and the acknowledgement, and comes back."""
                heard.append(message.headers["id"])
                if len(heard) == 1:
                    broker.kill()
                message.ack_log_error(logger, errors=connection.connection_errors)
                if len(heard) == 1:
                    broker.start()
                    calls.send_task(CALL, task_id="second")

            with calls.amqp.TaskConsumer(connection, on_message=hear):
                while "second" not in heard:
                    connection.drain_events(timeout=WAIT_SECONDS)

    calls.send_task(CALL, task_id="first")
    try:
        listen()
    except RedisConnectionError:  # then a worker connects again; one that only waits does not
        listen()
    assert heard[0] == "first" and "second" in heard
    calls.close()
