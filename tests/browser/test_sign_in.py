"""A service that asks for keys, in a browser: one signs in, works, and signs out."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from app.access import keys
from app.core.db import connect
from app.core.schema import migrate
from tests.browser.looks import in_both_looks
from tests.browser.services import Service, serving
from tests.browser.test_upload import CHOOSE
from tests.browser.watch import PageWatch, check_accessibility, check_fits


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The service's data folder."""
    return tmp_path_factory.mktemp("asks-for-keys")


@pytest.fixture(scope="module")
def secret(folder: Path) -> str:
    """A key of the service."""
    url = f"sqlite:///{folder / 'newfound.db'}"
    migrate(url)
    database = connect(url)
    with database.sessions.begin() as session:
        made = keys.create(session, "ada", ["read", "write"])
    database.engine.dispose()
    return made


@pytest.fixture(scope="module")
def service(folder: Path, secret: str) -> Iterator[Service]:
    """An API that lets in nobody without a key."""
    with serving("api", folder) as service:
        yield service


@in_both_looks
def test_a_visitor_signs_in_uploads_and_signs_out(
    page: Page, page_watch: PageWatch, service: Service, secret: str
) -> None:
    with page_watch.expect_status(401):
        page.goto("/?jobs_from=")
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    check_accessibility(page)
    check_fits(page)
    with page_watch.expect_status(401):
        page.get_by_label("API key").fill("nf_wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("not an API key that is good")
    page.get_by_label("API key").fill(secret)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{service.address}/?jobs_from=")
    page.wait_for_load_state("load")  # of the scripts that take the file
    content = b"text;label\none document;known\nanother one;\n"
    page.get_by_label(CHOOSE).set_input_files({"name": "a.csv", "mimeType": "text/csv", "buffer": content})
    page.get_by_role("button", name="Add 2 documents").click()
    expect(page.get_by_role("heading", name="Done: 2 documents added")).to_be_visible()
    check_fits(page)
    assert secret not in page.content()
    with page_watch.expect_status(401):
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
