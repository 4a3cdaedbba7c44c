"""requirements.lock, read: what it pins, and by which hashes."""

import re
from pathlib import Path
from typing import NamedTuple

from packaging.markers import Marker
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)(?:\s*;\s*(?P<marker>.+?))?")
HASH = re.compile(r"--hash=(sha256:[0-9a-f]{64})")


class Pinned(NamedTuple):
    """One requirement: a version, and where it applies."""

    name: str
    version: str
    marker: Marker | None  # None: everywhere
    hashes: tuple[str, ...]

    @property
    def is_here(self) -> bool:
        """Whether it is installed by the Python that asks, on this system."""
        return self.marker is None or self.marker.evaluate()


def locked(path: Path = LOCK) -> list[Pinned]:
    """What a lock file pins, in its order. Raises ValueError for whatever is no pinned requirement."""
    found = []
    for line in re.sub(r"\\\n\s*", " ", path.read_text()).splitlines():
        requirement, *_ = line.split(" --hash=", 1)
        match = REQUIREMENT.fullmatch(requirement.strip())
        if match is None:
            raise ValueError(f"{path.name}: no pinned requirement: {line[:80]}")
        marker = Marker(match["marker"]) if match["marker"] else None
        name, hashes = canonicalize_name(match["name"]), tuple(HASH.findall(line))
        found.append(Pinned(name, match["version"], marker, hashes))
    return found
