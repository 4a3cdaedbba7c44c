"""A folder as a broker."""

import threading
from pathlib import Path
from typing import Any

import pytest
from kombu.transport.virtual import Empty

from app.broker import queue
from app.broker.folder import ChannelError, FolderChannel
from app.core.settings import Settings


def channel_of(folder: Path) -> Any:
    """A channel over the folder, as a worker or the API opens it."""
    settings = Settings(data_folder=folder, database_url=None, broker_url=None)
    queue.configure(settings)
    return queue.celery.connection_for_write().channel()


def test_a_message_is_not_there_before_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = channel_of(tmp_path)
    assert isinstance(channel, FolderChannel)
    seen = []
    write = Path.write_bytes

    def look_around(path: Path, data: bytes) -> int:
        seen.append(channel._size("legs"))
        written = write(path, data)
        seen.append(channel._size("legs"))
        return written

    monkeypatch.setattr(Path, "write_bytes", look_around)
    channel._put("legs", {"unit": 7})
    assert (seen, channel._size("legs")) == ([0, 0], 1)
    assert channel._get("legs") == {"unit": 7}
    with pytest.raises(Empty):
        channel._get("legs")


def test_a_reader_that_never_rests_gets_every_message_once_and_whole(tmp_path: Path) -> None:
    reader, writer, n_messages = channel_of(tmp_path), channel_of(tmp_path), 300
    thread = threading.Thread(target=lambda: [writer._put("legs", {"unit": n}) for n in range(n_messages)])
    thread.start()
    got = []
    while len(got) < n_messages:
        try:
            got.append(reader._get("legs")["unit"])
        except Empty:
            assert thread.is_alive() or reader._size("legs") > 0 or len(got) == n_messages
    thread.join()
    assert sorted(got) == list(range(n_messages))


def test_a_folder_that_is_gone_is_an_error_of_the_broker(tmp_path: Path) -> None:
    channel = channel_of(tmp_path)
    (tmp_path / "broker" / "messages").rmdir()
    with pytest.raises(ChannelError, match="Cannot add a message"):
        channel._put("legs", {"unit": 1})


def test_a_kill_in_the_middle_of_anything_leaves_a_folder_that_others_can_use(tmp_path: Path) -> None:
    channel_of(tmp_path)
    messages = tmp_path / "broker" / "messages"
    (messages / "1_half.part").write_bytes(b"{")  # of a sender that was killed before its rename
    assert queue.call(2)
    assert queue.call(3), "calls that wait already count"
    assert queue.calls_waiting() == 3
    assert not list(tmp_path.rglob("*.exchange")), "nothing but messages is kept in files"
