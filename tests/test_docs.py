"""The documents do not rot: links lead somewhere, and the files that they name are there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")])
WIDTH = 120  # characters of a line, but for tables

FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FOLDERS = "app|benchmarks|deploy|docs|examples|migrations|newfound_client|sampler|supply|tests|worker"
PATH = re.compile(rf"`((?:{FOLDERS})/[\w./-]*)`")

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def prose(page: Path) -> str:
    """The text of a page without its blocks of code."""
    return FENCED.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> Iterator[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    for heading in HEADING.findall(prose(page)):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@every_page
def test_relative_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    for target in LINK.findall(prose(page)):
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        linked = page.parent / path if path else page
        assert linked.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(linked), f"{linked.name} has no heading for {target}"


@every_page
def test_paths_that_a_page_names_exist(page: Path) -> None:
    for path in PATH.findall(prose(page)):
        assert (ROOT / path).exists(), f"{page.name} speaks of {path}"


@every_page
def test_lines_are_wrapped(page: Path) -> None:
    long = [line for line in page.read_text(encoding="utf-8").splitlines() if len(line) > WIDTH]
    assert not [line for line in long if not line.lstrip().startswith("|")]


def test_every_decision_is_in_the_index() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = LINK.findall((folder / "README.md").read_text(encoding="utf-8"))
    assert {page.name for page in folder.glob("0*.md")} <= set(listed)
