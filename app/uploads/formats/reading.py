"""What is known of a file before its rows are read."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from app.uploads.rows import BadLine, Row


class Reading(ABC):
    """A file that can be read: in which format, and which of its columns is what."""

    format: str
    charset: str | None = None
    delimiter: str | None = None

    def __init__(self) -> None:
        self.columns: dict[str, Any] = {"text": [], "label": None, "key": None, "vector": None, "fields": []}
        self.warnings: list[str] = []  # whole sentences, with what to do

    @abstractmethod
    def rows(self) -> Iterator[Row | BadLine]:
        """Rows and bad lines from the file's start, each time it is called."""
