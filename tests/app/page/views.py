"""What tests read from a view: its rows, its links, its words; by the standard library's parser."""

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

from starlette.testclient import TestClient

VOID = ("br", "hr", "img", "input", "link", "meta", "option", "rect", "circle")
EVIL = "<script>alert(1)</script>"


class Element:
    """An element with what is in it."""

    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag, self.attributes = tag, attributes
        self.parts: list[Element | str] = []

    @property
    def text(self) -> str:
        """All of its text, with single blanks."""
        return " ".join(self.raw.split())

    @property
    def raw(self) -> str:
        """All of its text as it is."""
        return "".join(part if isinstance(part, str) else part.raw for part in self.parts)

    def all(self, tag: str, **attributes: str) -> Iterator["Element"]:
        """The elements in it with this tag and these attributes; `class_` is one of the classes."""
        for part in self.parts:
            if isinstance(part, Element):
                if part.tag == tag and part.fits(attributes):
                    yield part
                yield from part.all(tag, **attributes)

    def one(self, tag: str, **attributes: str) -> "Element":
        """The first of them, which must be there."""
        found = next(self.all(tag, **attributes), None)
        assert found is not None, f"no {tag} {attributes} in {self.text[:500]}"
        return found

    def fits(self, attributes: dict[str, str]) -> bool:
        """Whether the element has these attributes."""
        wanted = dict(attributes)
        name = wanted.pop("class_", None)
        has_class = name is None or name in self.attributes.get("class", "").split()
        return has_class and all(self.attributes.get(key.rstrip("_")) == value for key, value in wanted.items())


class Tree(HTMLParser):
    """Makes a tree of a view."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Element("root", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].parts.append(element)
        if tag not in VOID or tag == "option":
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element that is closed at once, as those of SVG are."""
        self.open[-1].parts.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        """An element ends; one that never began must not."""
        assert self.open[-1].tag == tag, f"</{tag}> within <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        """A piece of text."""
        self.open[-1].parts.append(data)


def parsed(html: str) -> Element:
    """A view as a tree; it must be well formed."""
    tree = Tree()
    tree.feed(html)
    tree.close()
    assert tree.open == [tree.root], f"{tree.open[-1].tag} is not closed"
    return tree.root


def view(client: TestClient, path: str, status: int = 200, **parameters: Any) -> Element:
    """A view of the service, which must answer so."""
    answer = client.get(path, params=parameters or None)  # an empty one would take the query of the path away
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    assert EVIL not in answer.text, "something is not escaped"
    return parsed(answer.text)


def following(here: str, seen: Element) -> str | None:
    """The address of the next page, if there is one."""
    link = next(seen.all("a", rel="next"), None)
    return None if link is None else urljoin(here, link.attributes["href"])
