"""A folder as a broker, where there is no server: Kombu's transport over the filesystem, made safe against kills."""

from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

from kombu.exceptions import ChannelError
from kombu.transport import filesystem
from kombu.utils.json import dumps


class FolderChannel(filesystem.Channel):
    """Whatever is killed in the middle of whatever it does, the folder stays one that others can read.

    Kombu's own channel opens the file of a message first and writes it then: a worker that looks between the two takes
    an empty message, cannot read it, and never takes another. It keeps the queues of an exchange in a file as well,
    which a kill leaves empty, and no worker starts again. Here a message comes by a rename, and there is but one queue.
    """

    def _put(self, queue: Any, message: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Put a message onto a queue."""
        folder, name = Path(self.data_folder_out), f"{round(monotonic() * 1000)}_{uuid4()}"
        unfinished = folder / f"{name}.part"
        try:
            unfinished.write_bytes(dumps(message).encode())  # type: ignore[no-untyped-call]
            unfinished.rename(folder / f"{name}.{queue}.msg")
        except OSError as error:
            raise ChannelError(f"Cannot add a message to {folder}") from error

    def _queue_bind(self, exchange: Any, routing_key: Any, pattern: Any, queue: Any) -> None:
        """A queue and its exchange have one name, so there is nothing to be kept."""

    def get_table(self, exchange: Any) -> list[Any]:
        """The one queue of an exchange."""
        return [filesystem.exchange_queue_t(exchange, "", exchange)]


class FolderTransport(filesystem.Transport):
    """Kombu's transport over the filesystem with channels of our own."""

    Channel = FolderChannel
