"""Messages of somebody who has got at the broker: none of them runs code, and no worker ends because of one."""

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
BODY = b"[[], {}, {}]"  # no arguments, and nothing to be called afterwards
YAML = b"- []\n- !!python/object/apply:io.open ['MARK', 'w']\n- {}\n"
SEND = """
import sys
from app.broker import queue
from app.core.settings import Settings
queue.configure(Settings())
content_type, encoding, task = sys.argv[1:]
with queue.celery.amqp.producer_pool.acquire(block=True) as producer:
    producer.publish(
        sys.stdin.buffer.read() if encoding == "binary" else sys.stdin.read(),
        content_type=content_type,
        content_encoding=encoding,
        routing_key=queue.QUEUE,
        exchange=queue.QUEUE,
        declare=[queue.celery.amqp.queues[queue.QUEUE]],
        headers={"lang": "py", "task": task, "id": "0b0e9b4c-1f5d-4a8e-9a53-6a3f9c9f9d10"},
    )
"""


class Opening:
    """What makes a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.mark), "w")


def send(stack: Stack, body: bytes, content_type: str, encoding: str = "binary", task: str = CALL) -> None:
    """Put a message into the queue from a process of its own."""
    command = [sys.executable, "-c", SEND, content_type, encoding, task]
    environment = os.environ | stack.environment
    subprocess.run(command, cwd=ROOT, env=environment, input=body, check=True, timeout=PATIENCE)


def test_no_message_carries_code_to_a_worker_and_none_ends_it(stack: Stack, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    attack = pickle.dumps(([Opening(mark)], {}, {}))
    pickle.loads(attack)[0][0].close()
    assert mark.exists(), "whoever unpickles it makes the file"
    mark.unlink()

    before = {name: worker.pid for name, worker in stack.workers.items()}
    send(stack, attack, "application/x-python-serialize")
    send(stack, YAML.replace(b"MARK", str(mark).encode()), "application/x-yaml", "utf-8")
    send(stack, b"\x93\x90\x80\x80", "application/x-msgpack")
    for task in ("celery.backend_cleanup", "celery.map", "app.cli.main", "os.system"):
        send(stack, BODY, "application/json", "utf-8", task)
    send(stack, b'[["; touch mark"], {}, {}]', "application/json", "utf-8")  # arguments, which the task does not take
    send(stack, b"{not JSON", "application/json", "utf-8")
    wait_for(lambda: stack.broker.n_pending() == 0, "all messages are heard")

    job = stack.wait_for_end(stack.submit())
    assert (job["status"], job["error"]) == ("succeeded", None)
    assert {name: worker.pid for name, worker in stack.workers.items()} == before
    assert all(worker.is_running() for worker in stack.workers.values())
    assert not mark.exists()
    told = "".join(worker.log.read_text(errors="replace") for worker in stack.workers.values())
    for kind in ("pickle", "yaml", "msgpack"):
        assert f"Refusing to deserialize disabled content of type {kind}" in told, kind
    for task in ("celery.backend_cleanup", "celery.map", "app.cli.main", "os.system"):
        assert f"Received unregistered task of type '{task}'" in told, task
