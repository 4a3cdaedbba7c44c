"""The review by keys alone: documents and categories are decided, decisions taken back, and the job is continued."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests import guard
from tests.browser.finished import Finished, make_finished
from tests.browser.looks import in_both_looks
from tests.browser.services import serving
from tests.browser.watch import check_accessibility, check_fits


@pytest.fixture(scope="module")
def finished() -> Iterator[Finished]:
    """An API over a job of its own, which is decided about."""
    folder = guard.make_folder("review")
    made = make_finished(folder)
    with serving("api", folder) as service:
        yield Finished(service, *made)


def triage(finished: Finished, budget: int = 20) -> list[dict[str, Any]]:
    """The documents that the API would ask about now."""
    found: list[dict[str, Any]] = finished.service.get(f"/v1/jobs/{finished.job}/triage?budget={budget}")["documents"]
    return found


def decisions(finished: Finished) -> list[dict[str, Any]]:
    """All decisions about the job, first to last."""
    found: list[dict[str, Any]] = finished.service.get(f"/v1/jobs/{finished.job}/decisions")["decisions"]
    return found


def ids(finished: Finished) -> dict[int, str]:
    """The ids of the categories by their indices."""
    found = finished.service.get(f"/v1/jobs/{finished.job}/categories")["categories"]
    return {each["category"]: each["id"] for each in found}


def expect_document(page: Page, key: str) -> None:
    """The document with this key is shown."""
    expect(page.locator("#reading")).to_have_attribute("data-key", key)


def press(page: Page, *keys: str) -> None:
    """Press keys one after the other, wherever the focus is."""
    for key in keys:
        page.keyboard.press(key)


@in_both_looks
def test_the_review_is_for_everybody(page: Page, finished: Finished) -> None:
    page.goto(f"/jobs/{finished.job}/review")
    expect(page.locator("#reading")).to_be_visible()
    for details in page.locator("#categories details").all():
        details.locator("summary").click()
    press(page, "k")
    check_accessibility(page)
    check_fits(page)
    press(page, "Escape", "?")
    expect(page.get_by_role("dialog")).to_be_visible()
    check_accessibility(page)


def test_a_job_is_reviewed_and_continued_by_keys_alone(page: Page, finished: Finished) -> None:
    queue, id_of = triage(finished), ids(finished)
    first, second, third = [each for each in queue if each["why"] != "label" and each["runner_up"]][:3]
    skipped = [each["key"] for each in queue[: queue.index(third)] if each not in (first, second)]
    page.goto(f"/jobs/{finished.job}/review")

    def to(key: str) -> None:
        """Skip up to a document."""
        while page.locator("#reading").get_attribute("data-key") in skipped:
            shown = page.locator("#reading").get_attribute("data-key")
            press(page, "s")
            expect(page.locator("#reading")).not_to_have_attribute("data-key", str(shown))
        expect_document(page, key)

    to(first["key"])
    press(page, "a")
    to(second["key"])
    press(page, "r")
    to(third["key"])
    press(page, "x")
    expect(page.locator("#said")).to_contain_text("Set aside. 3 decided. Undo with u.")
    press(page, "u")
    expect_document(page, third["key"])
    press(page, "k")
    page.keyboard.type("no such category")
    press(page, "Enter")
    expect(page.locator("#sitting .refusal")).to_contain_text("There is no category")
    expect(page.locator("#other")).to_be_focused()
    press(page, "ControlOrMeta+a")
    page.keyboard.type("fusi")  # letters are no keys within a field
    press(page, "Escape", "n")
    page.keyboard.type("fusion")
    press(page, "Enter")
    expect(page.locator("#said")).to_contain_text("Pinned to fusion, a category of its own. 3 decided.")
    expect(page.locator("#decided li")).to_have_count(5)
    told = decisions(finished)
    assert [(each["kind"], each["documents"]) for each in told] == [
        ("pin", [first["key"]]),
        ("pin", [second["key"]]),
        ("none", [third["key"]]),
        ("undo", []),
        ("pin", [third["key"]]),
    ]
    assert [told[0]["category"], told[1]["category"]] == [
        id_of[first["category"]],
        id_of[second["runner_up"]["category"]],
    ]
    assert [each["in_force"] for each in told] == [True, True, False, True, True]
    assert {each["key"] for each in triage(finished)}.isdisjoint({first["key"], second["key"], third["key"]})


def test_categories_are_renamed_and_promoted_and_the_job_is_continued(page: Page, finished: Finished) -> None:
    new = [each for each in ids_and_names(finished) if not each["known"] and each["name"].startswith("new ")]
    page.goto(f"/jobs/{finished.job}/review")
    expect(page.locator("#reading")).to_be_visible()
    fill_by_keys(page, "Rename", new[0]["name"], "plasma")
    expect(page.locator("#decided")).to_contain_text("Renamed to plasma")
    fill_by_keys(page, "Promote to a known category", "plasma", "plasma physics")
    expect(page.locator("#decided")).to_contain_text("Promoted")
    last = decisions(finished)[-2:]
    assert [(each["kind"], each["category"], each["name"]) for each in last] == [
        ("name", new[0]["id"], "plasma"),
        ("promote", new[0]["id"], "plasma physics"),
    ]
    page.get_by_label("Name of the next job").focus()
    page.keyboard.type("second round")
    press(page, "Tab")
    page.keyboard.type("50")
    press(page, "Enter")
    page.wait_for_url(lambda address: "/review" not in address)
    jobs = finished.service.get("/v1/jobs")["jobs"]
    (continued,) = [each for each in jobs if each["continues"] == finished.job]
    told = finished.service.get(f"/v1/jobs/{continued['id']}")
    assert (told["name"], told["settings"]["sweeps"]) == ("second round", 50)
    assert f"/jobs/{continued['id']}" in page.url


def ids_and_names(finished: Finished) -> list[dict[str, Any]]:
    """The categories of the answer."""
    found: list[dict[str, Any]] = finished.service.get(f"/v1/jobs/{finished.job}/categories")["categories"]
    return found


def fill_by_keys(page: Page, form: str, category: str, name: str) -> None:
    """Open one of the forms about categories, and fill it in, without a mouse."""
    summary = page.locator("#categories summary", has_text=form).first
    summary.focus()
    press(page, "Enter", "Tab")
    page.keyboard.type(category)
    press(page, "Escape", "Tab")
    page.keyboard.type(name)
    press(page, "Enter")


def test_what_was_decided_survives_a_reload_and_is_taken_back_in_the_list(page: Page, finished: Finished) -> None:
    page.goto(f"/jobs/{finished.job}/review")
    expect(page.locator("#reading")).to_be_visible()
    key = str(page.locator("#reading").get_attribute("data-key"))
    press(page, "x")
    expect(page.locator("#progress")).to_contain_text("1 decided in this sitting")
    page.reload()
    expect(page.locator("#progress")).to_contain_text("1 decided in this sitting")
    number = decisions(finished)[-1]["number"]
    page.get_by_role("button", name=f"Undo decision {number}", exact=True).click()
    expect_document(page, key)
    expect(page.locator("#progress")).to_contain_text("0 decided in this sitting")
    assert decisions(finished)[-1]["decision"] == number


def test_keys_can_be_turned_off(page: Page, finished: Finished) -> None:
    page.goto(f"/jobs/{finished.job}/review")
    expect(page.locator("#reading")).to_be_visible()
    before = decisions(finished)
    press(page, "?")
    page.get_by_label("Keys are on").uncheck()
    press(page, "Escape", "x", "a")
    page.reload()
    expect(page.locator("#reading")).to_be_visible()
    press(page, "x")
    expect(page.locator("#progress")).to_contain_text("0 decided")
    assert decisions(finished) == before


def test_a_doubtful_label_is_accepted_as_the_audit_suggests_and_kept_by_the_other_key(
    page: Page, finished: Finished
) -> None:
    doubtful = [each for each in triage(finished, 60) if each["why"] == "label"][:2]
    page.goto(f"/jobs/{finished.job}/review")
    for item, key in zip(doubtful, "ar", strict=True):
        while (shown := page.locator("#reading").get_attribute("data-key")) != item["key"]:
            press(page, "s")
            expect(page.locator("#reading")).not_to_have_attribute("data-key", str(shown))
        expect(page.locator("#question")).to_contain_text(f"Is the label “{item['label']}” right?")
        press(page, key)
        expect(page.locator("#said")).to_contain_text("decided. Undo with u.")
        expect(page.locator("#reading")).not_to_have_attribute("data-key", item["key"])
    accepted, kept = decisions(finished)[-2:]
    assert (accepted["kind"], accepted["documents"]) == ("accept", [doubtful[0]["key"]])
    assert (kept["kind"], kept["documents"]) == ("pin", [doubtful[1]["key"]])
    assert kept["category"] == ids(finished)[doubtful[1]["category"]]
