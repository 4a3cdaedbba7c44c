"""Headers as ASGI has them, pairs of bytes, and what HTTP writes in lists with commas."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

RawHeaders = list[tuple[bytes, bytes]]

ENTITY_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')
WEIGHT = re.compile(r";\s*q\s*=\s*([0-9.]+)\s*$", re.IGNORECASE)


def joined(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str | None:
    """All values of a header as one list; None without it."""
    values = [value.decode("latin-1") for each, value in headers if each.lower() == name]
    return ", ".join(values) if values else None


def without(headers: Iterable[tuple[bytes, bytes]], *names: bytes) -> RawHeaders:
    """The headers but those of some names."""
    return [header for header in headers if header[0].lower() not in names]


def varying(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> RawHeaders:
    """The headers of an answer that depends on a header of its request."""
    others, vary = without(headers, b"vary"), joined(headers, b"vary")
    return [*others, (b"vary", name if vary is None else f"{vary}, {name.decode()}".encode())]


class Weighed(NamedTuple):
    """A member of a list of what a client accepts: its value in lower case, and how much it is wanted, up to 1."""

    value: str
    weight: float


def weighed(accepted: str) -> Iterator[Weighed]:
    """The members of an Accept or Accept-Encoding; what cannot be read is wanted as much as what has no weight."""
    for member in accepted.lower().split(","):
        found = WEIGHT.search(member)
        value = member.partition(";")[0].strip()
        if value:
            yield Weighed(value, weight_of(found[1]) if found else 1.0)


def weight_of(written: str) -> float:
    """A weight as a number."""
    try:
        return min(float(written), 1.0)
    except ValueError:
        return 1.0


def names_tag(listed: str, tag: str, *, weakly: bool = False) -> bool:
    """Whether a list of entity tags, or `*`, names one; two that are weak are the same for reading alone."""
    if listed.strip() == "*":
        return True
    tags = ENTITY_TAG.findall(listed)
    if weakly:
        return tag.removeprefix("W/") in {each.removeprefix("W/") for each in tags}
    return not tag.startswith("W/") and tag in tags
