"""Text files as lines, whatever their encoding and their ends of lines."""

import codecs
import io
from collections.abc import Iterable, Iterator
from typing import BinaryIO

PIECE = 2**18  # bytes


class Source:
    """A text file of which the encoding is known, and that all of it is valid."""

    def __init__(self, file: BinaryIO, charset: str, codec: str, skipped: int) -> None:
        """`charset` is the encoding's name; the first bytes, its byte order mark, are skipped."""
        self.file = file
        self.charset = charset
        self.codec = codec
        self.skipped = skipped

    def pieces(self) -> Iterator[str]:
        """The text piece by piece, each line ending with LF."""
        decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(self.codec)(), translate=True)
        at = self.skipped
        while True:
            self.file.seek(at)  # each time, so that two readers may take turns
            data = self.file.read(PIECE)
            at += len(data)
            yield decoder.decode(data, final=not data)
            if not data:
                return

    def lines(self, longest: int) -> Iterator[tuple[int, str | None]]:
        """The lines with their numbers, without their ends; None for one of more than so many bytes."""
        return lines_of(self.pieces(), longest)

    def beginning(self, n_characters: int) -> str:
        """The first characters, and perhaps some more."""
        found = ""
        for piece in self.pieces():
            found += piece
            if len(found) >= n_characters:
                break
        return found


def lines_of(pieces: Iterable[str], longest: int) -> Iterator[tuple[int, str | None]]:
    """Cut pieces into lines; holds one line of at most `longest` characters, and a piece."""
    number = 1
    held = ""
    is_too_long = False
    for piece in pieces:
        lines = piece.split("\n")
        rest = lines.pop()
        if not lines:
            held += rest
        else:
            lines[0] = held + lines[0]
            held = rest
            for line in lines:
                yield number, None if is_too_long or exceeds(line, longest) else line
                is_too_long = False
                number += 1
        if len(held) > longest:
            held, is_too_long = "", True
    if held or is_too_long:
        yield number, None if is_too_long or exceeds(held, longest) else held


def too_long(what: str, longest: int) -> str:
    """The reason why a line, or what else is read at once, cannot be used."""
    return f"the {what} is longer than {longest} bytes (NEWFOUND_MAX_LINE_BYTES)"


def exceeds(line: str, longest: int) -> bool:
    """Whether a line has more than so many bytes in UTF-8."""
    return 4 * len(line) > longest and (len(line) > longest or len(line.encode()) > longest)
