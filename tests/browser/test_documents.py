"""Documents as a person looks for one, and reads it."""

from playwright.sync_api import Browser, Page, expect

from tests.browser.finished import Finished
from tests.browser.looks import in_both_looks
from tests.browser.watch import check_accessibility, check_fits


def keys(page: Page) -> list[str]:
    """The keys of the documents that the table shows."""
    return [text.partition(" ·")[0].strip() for text in page.locator("table.documents .key").all_inner_texts()]


def listed(finished: Finished, query: str) -> list[str]:
    """The keys that the API lists."""
    return [each["key"] for each in finished.service.get(f"/v1/jobs/{finished.job}/documents?{query}")["documents"]]


@in_both_looks
def test_the_list_and_a_document_are_for_everybody(page: Page, finished: Finished) -> None:
    page.goto(f"/jobs/{finished.job}/documents?show=date&sort=unsure")
    check_accessibility(page)
    check_fits(page)
    page.locator("table.documents a").first.click()
    expect(page.locator(".whole-text mark").first).to_be_visible()
    check_accessibility(page)
    check_fits(page)


def test_choices_filter_at_once_and_words_when_they_are_sent(page: Page, finished: Finished) -> None:
    page.goto(f"/jobs/{finished.job}/documents")
    page.get_by_label("Order").select_option("unsure")
    expect(page.locator("#listed")).to_have_text("Documents, least probable first")
    page.get_by_label("Unsure", exact=True).select_option("true")
    expect(page.locator("#listed")).to_have_text("Unsure documents, least probable first")
    assert keys(page) == listed(finished, "unsure=true&sort=unsure&limit=50")
    page.get_by_role("link", name="Clear").click()
    page.get_by_label("Words of the text").fill("plasma")
    page.keyboard.press("Enter")
    expect(page.locator("#listed")).to_have_text("Documents that contain plasma, in the order of the upload")
    assert keys(page) == listed(finished, "search=plasma&limit=50") != []
    page.get_by_text("More filters and columns").click()
    page.get_by_role("checkbox", name="date").check()
    expect(page.get_by_role("columnheader", name="date")).to_be_visible()
    assert "search=plasma" in page.url


def test_the_next_page_goes_on_where_this_one_ends_and_the_browser_goes_back(page: Page, finished: Finished) -> None:
    expected = listed(finished, "sort=probability&limit=100")
    page.goto(f"/jobs/{finished.job}/documents?sort=probability")
    assert keys(page) == expected[:50]
    page.get_by_role("link", name="Next 50").click()
    expect(page.get_by_role("link", name="First page")).to_be_visible()
    assert keys(page) == expected[50:]
    page.go_back()
    expect(page.get_by_role("link", name="First page")).to_have_count(0)
    assert keys(page) == expected[:50]


def test_without_scripts_the_list_is_filtered_and_read_all_the_same(browser: Browser, finished: Finished) -> None:
    context = browser.new_context(base_url=finished.service.address, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"/jobs/{finished.job}/documents")
    page.get_by_label("Unsure", exact=True).select_option("true")
    page.get_by_role("button", name="Show").click()
    assert keys(page) == listed(finished, "unsure=true&limit=50")
    context.close()


def test_words_have_the_tints_that_the_api_says(page: Page, finished: Finished) -> None:
    (key,) = listed(finished, "sort=unsure&limit=1")
    told = finished.service.get(f"/v1/jobs/{finished.job}/documents/{key}")
    page.goto(f"/jobs/{finished.job}/documents/{key}")
    assert page.locator(".whole-text").text_content() == told["text"]
    order = [each["category"] for each in told["likely"]]
    strongest = max(told["words"], key=lambda each: float(each["weight"]))
    spoken = [told["text"][start:end] for start, end, word in told["spans"] if told["words"][word] == strongest]
    tint = order.index(strongest["category"]) + 1
    marked = page.locator(f".whole-text mark.tint-{tint}.strength-3").all_inner_texts()
    assert set(spoken) <= set(marked)
