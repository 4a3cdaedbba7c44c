"""The OpenAPI page in a browser: it works without a network, and has a file chooser."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.finished import Finished
from tests.browser.watch import PageWatch


def test_the_openapi_page_is_offline_and_uploads_a_file_that_one_chooses(
    page: Page, page_watch: PageWatch, finished: Finished, tmp_path: Path
) -> None:
    page.goto("/docs")
    operation = page.locator("#operations-corpora-upload_documents")
    operation.get_by_role("button").first.click()
    operation.get_by_role("button", name="Try it out").click()
    expect(operation.locator("input[type=file]")).to_be_visible()
    assert page_watch.requested
