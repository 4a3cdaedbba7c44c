"""Keys of documents that came without one, and where in an upload each key came first.

Such a key is made of the text. So the order of documents does not matter, and a file that is uploaded twice brings
nothing new.
"""

import hashlib
from array import array
from collections.abc import Sequence

import numpy as np

from app.uploads.rows import Row
from app.uploads.texts import DIGEST_TYPE, KnownTexts

KEY_BYTES = 8  # of a digest; of a million texts, two share one with a chance of 1 in 37 million, and one is refused
MASK = 2**63 - 1


class DerivedKeys:
    """Gives the rows of one upload keys, batch after batch; second and later rows of a text are numbered."""

    def __init__(self) -> None:
        self.texts = KnownTexts()  # of rows without a key
        self.times: dict[int, int] = {}  # how often a text came, of those that came more than once

    def named(self, rows: Sequence[Row]) -> list[Row]:
        """The rows, each under its own key or one that is made of its text."""
        digests = {row.line: digest_of(row.text) for row in rows if row.key is None}
        if not digests:
            return list(rows)
        numbers = np.frombuffer(b"".join(digests.values()), DIGEST_TYPE)
        new = self.texts.new_among(numbers)
        unseen = set(new.tolist())
        named = []
        for row in rows:
            if row.key is None:
                digest = digests[row.line]
                row = row._replace(key=self.key(digest, int.from_bytes(digest, "little"), unseen))
            named.append(row)
        self.texts = self.texts.plus(new)
        return named

    def key(self, digest: bytes, number: int, unseen: set[int]) -> str:
        """The key of a text that comes now, perhaps not for the first time."""
        name = f"text-{digest.hex()}"
        if number in unseen:
            unseen.remove(number)
            return name
        self.times[number] = self.times.get(number, 1) + 1
        return f"{name}-{self.times[number]}"


def digest_of(text: str) -> bytes:
    """What equal texts have in common."""
    return hashlib.blake2b(text.encode(), digest_size=KEY_BYTES).digest()


class FirstLines:
    """The rows of an upload by their keys: 24 bytes a row, however long its key and its text are."""

    def __init__(self) -> None:
        self.keys, self.contents, self.lines = array("q"), array("q"), array("q")

    def note(self, rows: Sequence[Row]) -> None:
        """Know some more rows."""
        self.keys.extend([hash(row.key) & MASK for row in rows])
        self.contents.extend([hash(content(row)) & MASK for row in rows])
        self.lines.extend([row.line for row in rows])

    def of(self, key: str) -> int | None:
        """The line on which a key came first."""
        found = np.flatnonzero(np.frombuffer(self.keys, np.int64) == hash(key) & MASK)
        return self.lines[found[0]] if found.size else None

    def again(self) -> tuple[list[tuple[int, int]], int]:
        """Which lines have a key that came before, with the line where it did, if they say something else.

        And how many say the same.
        """
        keys, contents = np.array(self.keys, np.int64), np.array(self.contents, np.int64)
        if keys.size < 2:
            return [], 0
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=keys[order[0]] - 1))
        first = np.repeat(order[starts], np.diff(starts, append=keys.size))
        later = order != first
        differs = contents[order] != contents[first]
        pairs = sorted((self.lines[at], self.lines[of]) for at, of in zip(
            order[later & differs].tolist(), first[later & differs].tolist(), strict=True
        ))  # fmt: skip
        return pairs, int((later & ~differs).sum())


def content(row: Row) -> tuple[str, str | None, str, bool, bytes | None]:
    """What a row says besides its key."""
    return row.text, row.label, repr(row.fields), row.is_counts, row.vector
