"""Owners that are known already: an id has the same one for ever, so that it is looked up once."""

from threading import Lock

MAX_KEPT = 100_000


class KnownOwners:
    """The owners of the ids that were asked for last, by whoever owns them.

    What others ask for in vain is not looked up here: it takes them as long as an id that nobody has.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.owners: dict[str, str] = {}

    def has(self, id_: str, owner: str) -> bool:
        """Whether this is known to be the owner."""
        return self.owners.get(id_) == owner

    def note(self, id_: str, owner: str) -> None:
        """Remember the owner of an id."""
        with self.lock:
            if len(self.owners) >= MAX_KEPT:
                self.owners.clear()
            self.owners[id_] = owner
