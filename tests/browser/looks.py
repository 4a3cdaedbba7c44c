"""How pages are looked at: wide or narrow, in the light or in the dark."""

from typing import Literal, NamedTuple

import pytest
from playwright.sync_api import Page


class Look(NamedTuple):
    """The window of a browser, and what its user prefers."""

    width: int
    scheme: Literal["light", "dark"]

    @property
    def height(self) -> int:
        """That of a telephone or of a laptop."""
        return 740 if self.width < 700 else 900


USUAL = Look(1440, "light")
# Contrast is a matter of the scheme, and what fits one of the width: two looks have both of each.
BOTH = (Look(360, "dark"), USUAL)

# A decorator: the test runs in both looks. Its `page` has them.
in_both_looks = pytest.mark.parametrize("look", BOTH, ids=[f"{each.width} px, {each.scheme}" for each in BOTH])


def look_as(page: Page, look: Look) -> None:
    """Give a page that is open another look: for what takes long to come to."""
    page.set_viewport_size({"width": look.width, "height": look.height})
    page.emulate_media(color_scheme=look.scheme)
