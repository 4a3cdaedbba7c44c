"""Documents that are made to do harm, and what is decided about a document where it is read."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Dialog, Page, expect

from app.core.db import connect
from app.core.schema import migrate
from app.core.settings import Settings
from tests import guard
from tests.app.http.answered_jobs import Given, add_job
from tests.browser.finished import Finished
from tests.browser.services import serving
from tests.browser.watch import PageWatch, check_accessibility

EVIL = "<script>alert(1)</script>"
KEYS = (EVIL, "a/b c?d#e", "%2F", "plain")


@pytest.fixture(scope="module")
def finished() -> Iterator[Finished]:
    """A service over documents whose keys, texts, fields, label and category are made to do harm."""
    folder = guard.make_folder("odd-documents")
    settings = Settings(data_folder=folder)
    migrate(settings.database)
    database = connect(settings.database)
    answered = [Given(key, category=0, probability=0.5 + n / 10, fields={EVIL: EVIL}) for n, key in enumerate(KEYS)]
    made = add_job(database, [*answered, Given("taught", label=EVIL)])
    database.engine.dispose()
    with serving("api", folder) as service:
        renamed = {"kind": "name", "category": "astronomy", "name": EVIL}
        service.post(f"{made.job}/decisions", decisions=[renamed], author=EVIL)
        yield Finished(service, made.corpus.rpartition("/")[2], made.job.rpartition("/")[2])


def test_what_is_made_to_do_harm_is_shown_as_it_is_and_does_none(page: Page, finished: Finished) -> None:
    dialogs: list[Dialog] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog))  # Playwright takes no builtin
    page.goto(f"/jobs/{finished.job}/documents?show={EVIL}")
    expect(page.locator("table.documents .key")).to_have_text(KEYS)
    expect(page.locator("table.documents")).to_contain_text(f"text of {EVIL}")
    for key in (*KEYS, "taught"):
        if key == "taught":
            page.goto(f"/jobs/{finished.job}/documents/taught")
            expect(page.locator(".facts")).to_contain_text(EVIL)
        else:
            page.goto(f"/jobs/{finished.job}/documents")
            page.locator("table.documents a", has_text=f"text of {key}").click()
        expect(page.locator(".whole-text")).to_have_text(f"text of {key}")
        check_accessibility(page)
    page.goto(f"/jobs/{finished.job}/review")
    expect(page.locator("#decided")).to_contain_text(f"Renamed to {EVIL}")
    assert not dialogs


def test_a_document_is_decided_where_it_is_read(page: Page, finished: Finished) -> None:
    page.goto(f"/jobs/{finished.job}/documents/plain")
    page.get_by_label("Your name").fill("Ada")
    page.get_by_label("Another category").fill("optics")
    page.keyboard.press("Enter")
    expect(page.locator("h2.sentence")).to_contain_text("optics")
    page.get_by_role("button", name="No category").click()
    expect(page.locator("h2.sentence")).to_contain_text("No category")
    page.get_by_role("button", name="Undo decision 3").click()
    expect(page.locator("h2.sentence")).to_contain_text("optics")
    told = finished.service.get(f"/v1/jobs/{finished.job}/decisions")["decisions"][1:]
    assert [(each["kind"], each["documents"], each["author"], each["in_force"]) for each in told] == [
        ("pin", ["plain"], "Ada", True),
        ("none", ["plain"], "Ada", False),
        ("undo", [], "Ada", True),
    ]


def test_a_decision_that_is_refused_is_told_and_nothing_is_lost(
    page: Page, page_watch: PageWatch, finished: Finished
) -> None:
    page.goto(f"/jobs/{finished.job}/documents/plain")
    page.get_by_label("A category that is not there yet").fill("optics")
    with page_watch.expect_status(409):
        page.keyboard.press("Enter")
        expect(page.locator(".decide .refusal")).to_contain_text("optics")
    expect(page.get_by_label("A category that is not there yet")).to_have_value("optics")
