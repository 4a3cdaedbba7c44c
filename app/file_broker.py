"""What a folder as a broker needs; imported where the broker is one."""

from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

from kombu.exceptions import ChannelError
from kombu.transport import filesystem
from kombu.utils.json import dumps


class WholeMessageChannel(filesystem.Channel):
    """Puts a message into the folder whole, by a rename.

    Kombu's own opens the file first and writes it then. A worker that looks between the two takes an empty message,
    cannot read it, and never takes another.
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


filesystem.Transport.Channel = WholeMessageChannel
