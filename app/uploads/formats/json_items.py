"""JSON: an array of objects, an object that holds one, or one object after the other."""

import json
import re
from collections.abc import Iterator

from app.core.errors import MalformedRequest
from app.uploads.formats.objects import Item, TextObjectsReading, object_of
from app.uploads.json_values import DECODER, UnreadableNumber
from app.uploads.rows import BadLine, BadRow
from app.uploads.text_lines import Source, too_long

BLANKS = re.compile(r"[ \t\n\r]*")
OPENING = re.compile(r'\s*\{\s*"((?:[^"\\]|\\.)*)"\s*:\s*\[\s*[{\]]')  # {"documents": [{


class Damaged(Exception):
    """The file cannot be read from here on; the message says why."""


class JsonReading(TextObjectsReading):
    """A file of JSON in which the objects are not each on a line of its own."""

    format = "json"
    what = "item"

    def items(self) -> Iterator[Item | BadLine]:
        """The objects in turn. What is damaged ends them: nobody knows where the next one begins."""
        buffer = Buffer(self.source.pieces(), self.limits.max_line_bytes)
        number = 0
        try:
            for value, size in values_of(buffer):
                number += 1
                try:
                    yield number, object_of(value, self.limits, "the item"), size
                except BadRow as error:
                    yield BadLine(number, str(error))
        except Damaged as error:
            yield BadLine(number + 1, f"{error}; nothing after it can be read")


class Buffer:
    """A part of a text that moves along it."""

    def __init__(self, pieces: Iterator[str], longest: int) -> None:
        self.pieces = pieces
        self.longest = longest
        self.text = ""
        self.at = 0
        self.is_whole = False  # nothing comes after it

    def more(self) -> bool:
        """Read on, at least as much as there is already; whether there was anything."""
        parts = [self.text[self.at :]]
        size = len(parts[0])
        wanted = max(2 * size, 1)
        while size < wanted and not self.is_whole:
            piece = next(self.pieces, None)
            self.is_whole = piece is None
            parts.append(piece or "")
            size += len(parts[-1])
        has_more = size > len(parts[0])
        self.text, self.at = "".join(parts), 0
        return has_more

    def next(self) -> str:
        """The next character that is no blank, which stays; "" at the end."""
        while True:
            self.at = BLANKS.match(self.text, self.at).end()  # type: ignore[union-attr]
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def value(self) -> tuple[object, int]:
        """The next value, and how many characters it has. Raises Damaged."""
        while True:
            try:
                value, end = DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                if len(self.text) - self.at > self.longest:
                    raise Damaged(too_long("item", self.longest)) from error
                if not self.more():
                    raise Damaged(
                        f"the item is not JSON: {error.msg} at its character {error.pos - self.at + 1}"
                    ) from error
                continue
            except UnreadableNumber as error:
                raise Damaged(f"the item has {error}") from error
            except (ValueError, RecursionError) as error:
                raise Damaged("the item is JSON that cannot be read: a huge number, or too deeply nested") from error
            if end < len(self.text) or not self.more():  # a number might continue
                size, self.at = end - self.at, end
                if size > self.longest:
                    raise Damaged(too_long("item", self.longest))
                return value, size


def values_of(buffer: Buffer) -> Iterator[tuple[object, int]]:
    """The values of an array, of the array in an object, or of a file that is nothing but values. Raises Damaged."""
    first = buffer.next()
    while len(buffer.text) < 2**12 and buffer.more():
        pass
    buffer.next()
    opening = OPENING.match(buffer.text, buffer.at) if first == "{" else None
    if opening is not None:
        buffer.at = buffer.text.index("[", opening.end(1))
        yield from array_of(buffer)
        yield from rest_of_object(buffer)
    elif first == "[":
        yield from array_of(buffer)
    else:
        while buffer.next():
            yield buffer.value()
            if buffer.next() == ",":  # as in an array whose brackets somebody has left out
                buffer.at += 1
        return
    if buffer.next():
        raise Damaged("there is more after the array")


def array_of(buffer: Buffer) -> Iterator[tuple[object, int]]:
    """The values of the array that begins here."""
    buffer.at += 1
    if buffer.next() == "]":
        buffer.at += 1
        return
    while True:
        yield buffer.value()
        mark = buffer.next()
        if mark not in (",", "]"):
            raise Damaged("the item before has no comma after it" if mark else "the array breaks off before its end")
        buffer.at += 1
        if mark == "]":
            return
        buffer.next()


def rest_of_object(buffer: Buffer) -> Iterator[tuple[object, int]]:
    """Pass over what an object holds besides its array; another array of objects would be lost, so it is none."""
    while buffer.next() == ",":
        buffer.at += 1
        buffer.next()
        name, _ = buffer.value()
        if buffer.next() != ":":
            raise Damaged(f"the member {name!r} of the object around the array has no value")
        buffer.at += 1
        buffer.next()
        value, _ = buffer.value()
        if isinstance(value, list) and any(isinstance(item, dict) for item in value):
            raise Damaged("the object holds a second array of objects")
    if buffer.next() != "}":
        raise Damaged("the object around the array breaks off before its end")
    buffer.at += 1
    yield from ()


def check_is_json(source: Source) -> None:
    """Raise MalformedRequest for a file that does not begin as JSON does."""
    if source.beginning(1).lstrip()[:1] not in ("[", "{"):
        raise MalformedRequest("the file is not JSON: it begins with neither [ nor {")
