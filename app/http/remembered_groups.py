"""The last counts of categories by group: to count a hundred thousand documents takes a third of a second."""

import threading
from collections import OrderedDict
from typing import NamedTuple

MOST = 8  # with hundreds of categories and periods each is a megabyte


class Counted(NamedTuple):
    """What was counted. None of it changes: another edition, decision or version of the corpus is another one."""

    job: str
    tag: str  # of its answer, see `app.review.events.tag_of`
    version: int  # of the corpus: documents may have been erased
    by: str
    period: str
    labeled: bool
    decisions: bool


class RememberedGroups:
    """The bodies of the last answers; threads share them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.bodies: OrderedDict[Counted, bytes] = OrderedDict()

    def get(self, counted: Counted) -> bytes | None:
        """The body, if it is still there."""
        with self.lock:
            if counted in self.bodies:
                self.bodies.move_to_end(counted)
            return self.bodies.get(counted)

    def keep(self, counted: Counted, body: bytes) -> None:
        """Remember a body, and forget the one that nobody has asked for the longest."""
        with self.lock:
            self.bodies[counted] = body
            while len(self.bodies) > MOST:
                self.bodies.popitem(last=False)
