"""Messages of somebody who has got at the broker: none of them runs code, and no worker ends because of one."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.faults.programs import ROOT
from tests.faults.stack import Stack
from tests.waits import PATIENCE, wait_for

CALL = "newfound.work"
OTHERS = ("celery.backend_cleanup", "celery.map", "app.cli.main", "os.system")  # tasks
BODY = "[[], {}, {}]"  # no arguments, and nothing to be called afterwards
YAML = "- []\n- !!python/object/apply:io.open ['MARK', 'w']\n- {}\n"
SEND = """
import json, sys
from app.broker import queue
from app.core.settings import Settings
queue.configure(Settings())
with queue.celery.amqp.producer_pool.acquire(block=True) as producer:
    for body, content_type, encoding, task in json.load(sys.stdin):
        producer.publish(
            body.encode("latin-1") if encoding == "binary" else body,
            content_type=content_type,
            content_encoding=encoding,
            routing_key=queue.QUEUE,
            exchange=queue.QUEUE,
            declare=[queue.celery.amqp.queues[queue.QUEUE]],
            headers={"lang": "py", "task": task, "id": "0b0e9b4c-1f5d-4a8e-9a53-6a3f9c9f9d10"},
        )
"""
Message = tuple[str, str, str, str]  # body, content type, encoding, task


class Opening:
    """What makes a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.mark), "w")


def send(stack: Stack, messages: list[Message]) -> None:
    """Put messages into the queue from a process of its own."""
    environment = os.environ | stack.environment
    body = json.dumps(messages).encode()
    subprocess.run([sys.executable, "-c", SEND], cwd=ROOT, env=environment, input=body, check=True, timeout=PATIENCE)


def test_no_message_carries_code_to_a_worker_and_none_ends_it(stack: Stack, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    attack = pickle.dumps(([Opening(mark)], {}, {}))
    pickle.loads(attack)[0][0].close()
    assert mark.exists(), "whoever unpickles it makes the file"
    mark.unlink()

    before = {name: worker.pid for name, worker in stack.workers.items()}
    send(
        stack,
        [
            (attack.decode("latin-1"), "application/x-python-serialize", "binary", CALL),
            (YAML.replace("MARK", str(mark)), "application/x-yaml", "utf-8", CALL),
            ("\x93\x90\x80\x80", "application/x-msgpack", "binary", CALL),
            *((BODY, "application/json", "utf-8", task) for task in OTHERS),
            ('[["; touch mark"], {}, {}]', "application/json", "utf-8", CALL),  # the task takes no argument
            ("{not JSON", "application/json", "utf-8", CALL),
        ],
    )
    wait_for(lambda: stack.broker.n_pending() == 0, "all messages are heard")

    assert stack.holder(stack.submit()).is_running(), "a worker has encoded the corpus, and is at the chain"
    assert {name: worker.pid for name, worker in stack.workers.items()} == before
    assert all(worker.is_running() for worker in stack.workers.values())
    assert not mark.exists()
    told = "".join(worker.log.read_text(errors="replace") for worker in stack.workers.values())
    for kind in ("pickle", "yaml", "msgpack"):
        assert f"Refusing to deserialize untrusted content of type {kind}" in told, kind
    for task in OTHERS:
        assert f"Received unregistered task of type '{task}'" in told, task
