"""Documents as a person looks for one, reads it, and decides about it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from app.core.db import connect
from app.core.schema import migrate
from app.core.settings import Settings
from tests import guard
from tests.app.http.answered_jobs import Given, Made, add_job
from tests.browser.finished import Finished
from tests.browser.looks import in_all_looks
from tests.browser.services import serving
from tests.browser.watch import check_accessibility, check_fits

EVIL = "<script>alert(1)</script>"
KEYS = (EVIL, "a/b c?d#e", "%2F", "plain")


@pytest.fixture(scope="module")
def odd() -> Iterator[Finished]:
    """A service over documents whose keys, texts, fields and labels are made to do harm."""
    folder = guard.make_folder("odd-documents")
    settings = Settings(data_folder=folder)
    migrate(settings.database)
    database = connect(settings.database)
    made = (
        add_job(
            database,
            [
                *(
                    Given(key, category=n % 2, probability=0.5 + n / 10, fields={EVIL: EVIL})
                    for n, key in enumerate(KEYS)
                ),
                Given("taught", label=EVIL, quality=0.2),
            ],
        )
        if False
        else evil_job(database)
    )
    database.engine.dispose()
    with serving("api", folder) as service:
        yield Finished(service, made.corpus.rpartition("/")[2], made.job.rpartition("/")[2])


def keys(page: Page) -> list[str]:
    """The keys of the documents that the table shows."""
    return [text.partition(" ·")[0].strip() for text in page.locator("table.documents .key").all_inner_texts()]
