"""Pages as people see them: texts without markup."""

import re
from html import unescape

from starlette.testclient import TestClient

TAG = re.compile(r"<[^>]*>")


def words(html: str) -> str:
    """What a piece of a page says, on one line."""
    return " ".join(unescape(TAG.sub(" ", html)).split())


def part(html: str, name: str, tag: str = "section") -> str:
    """The markup of the element with an id, up to the end of the first such element."""
    start = html.index(f'<{tag} id="{name}"')
    return html[start : html.index(f"</{tag}>", start)]


def rows_of(html: str) -> list[list[str]]:
    """The cells of all rows of tables."""
    rows = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
    return [[words(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)] for row in rows]


def asked(html: str) -> set[str]:
    """What the forms of a page ask of the API."""
    return {unescape(each) for each in re.findall(r'data-api="([^"]*)"', html)}


def view(client: TestClient, address: str) -> str:
    """A page that must be there."""
    response = client.get(address)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    return response.text
