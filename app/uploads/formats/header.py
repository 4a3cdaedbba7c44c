"""Whether the first row of a table names its columns, and what they are called if not."""

from collections.abc import Sequence
from typing import NamedTuple

from app.core.errors import MalformedRequest
from app.uploads.columns import ReadOptions, looks_like_header
from app.uploads.rows import shown

SHOWN = 20  # cells of the first row


class Header(NamedTuple):
    """The columns' names."""

    names: list[str]
    is_there: bool  # the first row; otherwise it is a document like any other


def header_of(cells: Sequence[str], options: ReadOptions) -> Header:
    """The columns of a table by its first row. Raises MalformedRequest if nobody can know whether it names them."""
    if options.has_header is None and not looks_like_header(cells, options):
        raise MalformedRequest(
            f"the first row names no column that is known: {quoted(cells)}; if these are the names, say which is the "
            "text, as in text=NAME; if the file has no header, say header=false, and the columns are called 1, 2, 3",
            members={"columns": names_of(cells)},
        )
    if options.has_header is not False:
        return Header(names_of(cells), True)
    if len(cells) == 1 and not options.text:
        return Header(["text"], False)
    return Header([str(n) for n in range(1, len(cells) + 1)], False)


def names_of(cells: Sequence[str]) -> list[str]:
    """The columns' names, if the first row has them; one without a name is called by its number."""
    return [cell.strip() or f"column {n}" for n, cell in enumerate(cells, 1)]


def quoted(cells: Sequence[str]) -> str:
    """A row as it is quoted in a refusal."""
    found = ", ".join(repr(shown(cell)) for cell in cells[:SHOWN])
    return found if len(cells) <= SHOWN else f"{found} and {len(cells) - SHOWN} more"
