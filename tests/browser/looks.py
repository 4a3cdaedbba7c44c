"""How pages are looked at: wide or narrow, in the light or in the dark."""

from typing import Literal, NamedTuple

import pytest


class Look(NamedTuple):
    """The window of a browser, and what its user prefers."""

    width: int
    scheme: Literal["light", "dark"]

    @property
    def height(self) -> int:
        """That of a telephone or of a laptop."""
        return 740 if self.width < 700 else 900


USUAL = Look(1440, "light")
ALL = tuple(Look(width, scheme) for width in (360, 1440) for scheme in ("light", "dark"))

# A decorator: the test runs in each look. Its `page` has it.
in_all_looks = pytest.mark.parametrize("look", ALL, ids=[f"{each.width} px, {each.scheme}" for each in ALL])
