"""The views of an answer in a browser: what scripts do, and how every view looks."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.finished import EXAMPLES, Finished
from tests.browser.looks import in_both_looks
from tests.browser.watch import PageWatch, check_accessibility, check_fits

VIEWS = ("", "/categories/0", "/categories/{new}", "/tree?categories=2", "/map", "/time", "/scores")


def categories(finished: Finished, **params: Any) -> list[dict[str, Any]]:
    """The categories of the finished job, as the API has them."""
    asked = "&".join(f"{name}={value}" for name, value in params.items())
    return list(finished.service.get(f"/v1/jobs/{finished.job}/categories?{asked}")["categories"])


def new_one(finished: Finished) -> dict[str, Any]:
    """The largest new category."""
    return max((each for each in categories(finished) if not each["known"]), key=lambda each: each["documents"])


def undo(finished: Finished) -> None:
    """Take back the last decision, so that other tests find the answer as it was."""
    told = finished.service.get(f"/v1/jobs/{finished.job}/decisions")["decisions"]
    last = told[-1]["number"]
    finished.service.post(f"/v1/jobs/{finished.job}/decisions", decisions=[{"kind": "undo", "decision": last}])


@in_both_looks
@pytest.mark.parametrize("path", VIEWS)
def test_every_view_of_an_answer_is_accessible_and_fits(page: Page, finished: Finished, path: str) -> None:
    page.goto(f"/jobs/{finished.job}{path.format(new=new_one(finished)['category'])}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("sample")
    check_accessibility(page)
    check_fits(page)


def test_a_category_is_renamed_on_its_card_and_a_refusal_is_told_there(
    page: Page, page_watch: PageWatch, finished: Finished
) -> None:
    category, known = new_one(finished), next(each for each in categories(finished) if each["known"])
    page.goto(f"/jobs/{finished.job}")
    card = page.locator("li.category").filter(has=page.get_by_role("link", name=category["name"], exact=True)).first
    card.get_by_text("Rename", exact=True).first.click()
    name = card.get_by_label(f"New name of {category['name']}")
    name.fill(known["name"])
    with page_watch.expect_status(409):
        card.get_by_role("button", name="Rename").click()
        expect(card.get_by_role("alert")).to_contain_text(known["name"])
    name.fill("a better name")
    card.get_by_role("button", name="Rename").click()
    expect(page.get_by_role("heading", name="a better name", level=3)).to_be_visible()
    assert [each["name"] for each in categories(finished) if each["id"] == category["id"]] == ["a better name"]
    expect(page.get_by_text("This is the answer with what people have decided.")).to_be_visible()
    undo(finished)


def test_a_category_is_merged_into_the_one_that_is_chosen(page: Page, finished: Finished) -> None:
    category, known = new_one(finished), next(each for each in categories(finished) if each["known"])
    n = len(categories(finished))
    page.goto(f"/jobs/{finished.job}/categories/{known['id']}")
    page.get_by_label("It is the same as").select_option(category["id"])
    page.get_by_role("button", name="Merge").click()
    page.wait_for_url(f"**/jobs/{finished.job}#categories")
    merged = categories(finished)
    assert len(merged) == n - 1 and category["id"] in [each["id"] for each in merged]
    undo(finished)


def test_a_category_that_is_none_is_dissolved_once_one_has_said_yes(page: Page, finished: Finished) -> None:
    category = new_one(finished)
    page.goto(f"/jobs/{finished.job}/categories/{category['id']}")
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Dissolve").click()
    assert category["id"] in [each["id"] for each in categories(finished)], "one has thought better of it"
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Dissolve").click()
    page.wait_for_url(f"**/jobs/{finished.job}#categories")
    assert category["id"] not in [each["id"] for each in categories(finished)]
    undo(finished)


def test_what_was_decided_in_between_is_not_overwritten(page: Page, page_watch: PageWatch, finished: Finished) -> None:
    category = new_one(finished)
    page.goto(f"/jobs/{finished.job}/categories/{category['id']}")
    decision = {"kind": "name", "category": category["id"], "name": "somebody was faster"}
    finished.service.post(f"/v1/jobs/{finished.job}/decisions", decisions=[decision])
    page.get_by_label("It is a category from now on, called").fill("too late")
    with page_watch.expect_status(412):
        page.get_by_role("button", name="Promote").click()
        expect(page.get_by_role("alert")).to_be_visible()
    assert new_one(finished)["name"] == "somebody was faster"
    undo(finished)


def test_the_slider_cuts_the_tree_by_keys_and_keeps_the_focus(page: Page, finished: Finished) -> None:
    page.goto(f"/jobs/{finished.job}/tree?categories=2")
    page.evaluate("window.untouched = true")
    slider = page.get_by_role("slider", name="New categories")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("heading", name="3 new categories")).to_be_visible()
    expect(page.locator("#said")).to_contain_text("3 new categories")
    expect(slider).to_be_focused()
    told = sorted(each["name"] for each in categories(finished, categories=3) if not each["known"])
    assert sorted(page.locator("#cut tbody th[scope=row]").all_inner_texts()) >= told
    assert page.evaluate("window.untouched"), "the page was not loaded again"
    assert page.url.endswith("/tree?categories=3")
    page.keyboard.press("Home")
    expect(page.get_by_role("heading", name="1 new category")).to_be_visible()


def test_gold_labels_are_chosen_scored_and_drawn(page: Page, finished: Finished) -> None:
    page.goto(f"/jobs/{finished.job}/scores")
    page.get_by_label("File of gold labels").set_input_files(EXAMPLES / "truth.csv")
    page.get_by_role("button", name="Score").click()
    expect(page.get_by_text("of the answers are right")).to_be_visible()
    expect(page.get_by_role("img", name="Gold labels and the categories")).to_be_visible()
    check_accessibility(page)
    check_fits(page)


def test_the_plot_and_the_report_open_as_files(page: Page, finished: Finished, tmp_path: Path) -> None:
    page.goto(f"/jobs/{finished.job}")
    with page.expect_download() as started:
        page.get_by_role("group", name="Save How many new categories there are").get_by_text("SVG").click()
    started.value.save_as(tmp_path / "posterior.svg")
    assert (tmp_path / "posterior.svg").read_text(encoding="utf-8").startswith("<?xml")
    page.goto(f"/v1/jobs/{finished.job}/report")
    expect(page.get_by_text(finished.service.get(f"/v1/jobs/{finished.job}/categories")["summary"])).to_be_visible()
    check_fits(page)
    assert json.loads(page.evaluate("JSON.stringify(performance.getEntriesByType('resource').length)")) == 0
