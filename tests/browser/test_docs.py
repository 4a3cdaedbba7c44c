"""The OpenAPI page in a browser: it needs no network, and one chooses a file in it."""

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.services import Service
from tests.browser.watch import PageWatch

LOGO = "https://cdn.redoc.ly/redoc/logo-mini.svg"  # which ReDoc shows whatever it is told


def test_the_openapi_page_needs_no_network_and_uploads_a_file_that_one_chooses(
    page: Page, page_watch: PageWatch, service: Service, tmp_path: Path
) -> None:
    corpus_id = service.post("/v1/corpora", name="by hand")["id"]
    file = tmp_path / "two.ndjson"
    file.write_text('{"text": "one document"}\n{"text": "another document", "label": "known"}\n', encoding="utf-8")

    page.goto("/docs")
    operation = page.locator("#operations-documents-upload_documents")
    operation.locator(".opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_placeholder("corpus_id").fill(corpus_id)
    operation.get_by_label("Request content type").select_option("multipart/form-data")
    operation.locator("input[type=file]").set_input_files(file)
    operation.get_by_role("button", name="Execute").click()
    expect(operation.locator(".live-responses-table td.response-col_status").last).to_have_text("200")

    corpus = service.get(f"/v1/corpora/{corpus_id}")
    assert (corpus["documents"], corpus["labeled"]) == (2, 1)
    assert f"{service.address}/openapi.json" in page_watch.requested


def test_the_page_that_one_reads_shows_all_operations_and_is_kept_from_loading_a_logo_from_elsewhere(
    page: Page, page_watch: PageWatch, service: Service
) -> None:
    with page.expect_console_message(lambda message: LOGO in message.text) as refused:
        page.goto("/redoc")
    assert "violates the following Content Security Policy directive" in refused.value.text
    expect(page.get_by_role("heading", name="Add documents to a corpus").first).to_be_visible()
    assert f"{service.address}/openapi.json" in page_watch.requested
    page_watch.faults = [fault for fault in page_watch.faults if LOGO not in fault]
