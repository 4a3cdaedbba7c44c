"""A comparison of methods in a browser: its table fills while one looks, and it fits and is accessible."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import Look, in_both_looks
from tests.browser.services import Service
from tests.browser.watch import check_accessibility, check_fits
from tests.waits import wait_for

METHOD: dict[str, Any] = {"model": "lbpl-ntm", "sweeps": 40, "chains": 2, "hyperparameters": {"n_topics": 8}}
EVIL = "<script>window.evil = 1</script>"


@pytest.fixture(scope="module")
def corpus(service: Service) -> str:
    """Id of a corpus with a part of the sample, the labeled half of which is compared on."""
    return service.upload_sample()


def compare(service: Service, corpus: str, **body: Any) -> str:
    """Id of a comparison of a method with itself, under two names."""
    methods = [METHOD, {**METHOD, "name": EVIL, "seed": 5}]
    return str(service.post("/v1/comparisons", corpus_id=corpus, methods=methods, splits=2, **body)["id"])


@pytest.fixture(scope="module")
def compared(service: Service, corpus: str) -> str:
    """Id of a comparison that has ended."""
    comparison = compare(service, corpus, name=EVIL)
    wait_for(lambda: service.get(f"/v1/comparisons/{comparison}")["status"] == "succeeded", "all jobs end")
    return comparison


@pytest.mark.slow
def test_the_table_fills_while_one_looks(page: Page, service: Service, corpus: str) -> None:
    comparison = compare(service, corpus)
    page.goto(f"/comparisons/{comparison}")
    expect(page.locator("h1 .status")).to_have_text("succeeded")
    found = service.get(f"/v1/comparisons/{comparison}")
    for i, row in enumerate(found["table"]):
        expect(page.locator("#table tbody tr").nth(i)).to_contain_text(f"{row['nmi']['mean']:.3f}")
    expect(page.locator("#drawing .p-dot")).to_have_count(2 * 3)
    expect(page.locator("#splits tbody a")).to_have_count(4)
    assert page.evaluate("window.evil") is None


def test_a_comparison_is_cancelled_and_deleted(page: Page, service: Service, corpus: str) -> None:
    comparison = str(
        service.post("/v1/comparisons", corpus_id=corpus, methods=[{**METHOD, "sweeps": 200_000}], splits=2)["id"]
    )
    page.goto(f"/comparisons/{comparison}")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("h1 .status")).to_have_text("cancelled")
    page.get_by_role("button", name="Delete this comparison").click()
    page.wait_for_url("**/comparisons")
    assert service.request("GET", f"/v1/comparisons/{comparison}").status_code == 404


@in_both_looks
def test_a_comparison_fits_and_is_accessible(page: Page, service: Service, compared: str, look: Look) -> None:
    for address in (f"/comparisons/{compared}", "/comparisons"):
        page.goto(address)
        expect(page.locator("main")).to_contain_text(EVIL)
        check_fits(page)
        check_accessibility(page)
    assert page.evaluate("window.evil") is None
