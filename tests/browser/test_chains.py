"""Watching a job in a browser: its trace grows, its buttons work, its end is announced."""

import struct
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Dialog, Page, expect

from tests.browser.finished import SMALL, Finished
from tests.browser.looks import BOTH, Look, in_both_looks, look_as
from tests.browser.services import Service
from tests.browser.watch import check_accessibility, check_fits
from tests.waits import wait_for

LONG = 200_000  # sweeps: a job that does not end by itself, of one chain, which leaves a core to the page
EVIL = '<script>window.evil = 1</script><img src="x" onerror="window.evil = 1">'

# The colour that most pixels of a stretch of the first chart have, from one share of its width to another.
COLOUR = """([from, to]) => {
    const canvas = document.querySelector("#charts canvas");
    const [left, right] = [from, to].map((share) => Math.round(canvas.width * share));
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(left, canvas.height / 2, right - left, canvas.height / 5);
    const counts = new Map();
    for (let i = 0; i < data.length; i += 4) {
        const colour = data.slice(i, i + 3).join();
        counts.set(colour, (counts.get(colour) ?? 0) + 1);
    }
    return [...counts].sort((a, b) => b[1] - a[1])[0][0];
}"""
BURN_IN, KEPT = (0.2, 0.4), (0.7, 0.9)  # of the width, where half of the sweeps are burn-in


@pytest.fixture(scope="module")
def corpus(service: Service) -> str:
    """Id of a corpus with a part of the sample."""
    return service.upload_sample()


def points(page: Page) -> int:
    """How many draws the charts show."""
    return int(page.locator("#trace").get_attribute("data-points") or 0)


def wait_for_more(page: Page, than: int) -> int:
    """Wait until the charts show more draws; returns how many."""
    page.wait_for_function("n => Number(document.getElementById('trace').dataset.points ?? 0) > n", arg=than)
    return points(page)


def test_the_trace_grows_and_the_job_is_paused_resumed_and_cancelled(page: Page, service: Service, corpus: str) -> None:
    job = service.submit(corpus, LONG, chains=1)
    page.goto(f"/jobs/{job}/chains")
    first = wait_for_more(page, 0)
    second = wait_for_more(page, first)
    expect(page.locator("#state .lead")).to_contain_text("Sampling:")
    expect(page.locator("#trace-said")).to_contain_text("Chain 0 has had")
    expect(page.locator("#trace-thinned")).to_contain_text("the CSV file has all")

    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#state .lead")).to_contain_text("Paused while sampling")
    assert service.job(job)["status"] == "paused"
    assert wait_for_more(page, second - 1) >= second, "what was drawn is still there"
    expect(page.get_by_role("button", name="Pause")).to_have_count(0)

    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    wait_for_more(page, second)

    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#state .lead")).to_contain_text("Cancelled while sampling")
    expect(page.locator("h1 .status")).to_have_text("cancelled")
    assert service.job(job)["status"] == "cancelled"


def test_a_dialog_that_is_dismissed_cancels_nothing(page: Page, service: Service, corpus: str) -> None:
    job = service.submit(corpus, LONG, chains=1)
    page.goto(f"/jobs/{job}/chains")
    asked: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.dismiss()

    page.once("dialog", dismiss)
    page.get_by_role("button", name="Cancel").click()
    assert "Cancel this job?" in asked[0]
    assert service.job(job)["status"] in ("queued", "running")
    service.post(f"/v1/jobs/{job}/cancel")


@pytest.mark.parametrize(
    "scrolled", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["at the top", "scrolled down"]
)
def test_the_end_is_announced_and_leads_to_the_answer_whoever_has_not_moved_on(
    page: Page, service: Service, corpus: str, scrolled: bool
) -> None:
    job = service.submit(corpus, 400)
    service.post(f"/v1/jobs/{job}/pause")
    page.goto(f"/jobs/{job}/chains")
    service.post(f"/v1/jobs/{job}/resume")
    page.reload()
    expect(page.locator("#watch")).to_have_attribute("data-live", "1")
    if scrolled:
        page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    expect(page.locator("#state")).to_contain_text("The answer is ready:")
    number = service.get(f"/v1/jobs/{job}/categories")["new_categories"]["number"]
    ready = f"The answer is ready: {number} new categor{'y' if number == 1 else 'ies'}."
    expect(page.locator("#state")).to_contain_text(ready)
    expect(page.locator("#messages")).to_contain_text(ready)
    expect(page).to_have_title(f"Ready: Job {job[:8]}: Chains · Newfound")
    answer = page.get_by_role("link", name="Read it")
    expect(answer).to_have_attribute("href", f"/jobs/{job}")
    if scrolled:
        expect(answer).not_to_be_focused()
        assert page.evaluate("window.scrollY") > 100, "nobody is torn away"
    else:
        expect(answer).to_be_focused()
    expect(page.get_by_role("navigation", name="Views of this job")).to_contain_text("Documents")
    expect(page.get_by_role("button", name="Add sweeps")).to_be_visible()
    expect(page.locator("#diagnosis")).to_contain_text("The chains")
    assert page.locator("[data-live]").count() == 0


@pytest.mark.slow
def test_a_job_is_extended_and_its_power_is_tested_while_one_looks(page: Page, service: Service, corpus: str) -> None:
    small: dict[str, Any] = {**SMALL, "model": "calibrated", "hyperparameters": None}
    job = service.submit(corpus, 30, **{name: value for name, value in small.items() if name != "sweeps"})
    service.wait_until_ended(job)
    page.goto(f"/jobs/{job}/chains")
    assert wait_for_more(page, 0) == 2 * 30
    page.get_by_label("Sweeps to add to each chain").fill("470")
    page.get_by_role("button", name="Add sweeps").click()
    expect(page.locator("#side-extension h2")).to_contain_text("succeeded")
    assert service.job(job)["settings"]["sweeps"] == 500
    page.wait_for_function("n => Number(document.getElementById('trace').dataset.points) === n", arg=2 * 500 // 2)
    expect(page.locator("#trace-thinned")).to_contain_text("One sweep in 2 is drawn")
    expect(page.locator("#announcer")).to_have_text("The job has succeeded. The extension has succeeded.")

    page.get_by_role("button", name="Start the power test").click()
    expect(page.locator("#side-power_test h2")).to_contain_text("succeeded")
    expect(page.locator("#side-power_test")).to_contain_text("would have been noticed as new")
    hidden = service.get(f"/v1/jobs/{job}/power-test")["categories"]
    expect(page.locator("#side-power_test tbody tr")).to_have_count(len(hidden))


def test_a_failed_job_shows_why(page: Page, service: Service, corpus: str) -> None:
    source = service.submit(corpus, LONG, chains=1)
    job = service.post(f"/v1/jobs/{source}/continue", wait=True)["id"]
    page.goto(f"/jobs/{job}/chains")
    expect(page.locator("#state .note.warn")).to_contain_text(source)
    service.post(f"/v1/jobs/{source}/cancel")
    error = wait_for(lambda: service.job(job)["error"], "the job fails")
    expect(page.locator("#state .error-text")).to_have_text(error)
    expect(page.locator("#announcer")).to_have_text("The job has failed.")
    expect(page.get_by_role("button", name="Resume")).to_be_visible()


def test_a_job_is_renamed_tagged_and_noted(page: Page, service: Service, corpus: str) -> None:
    job = service.submit(corpus, 1, chains=1, name=EVIL, note="soon gone")
    service.wait_until_ended(job)
    page.goto(f"/jobs/{job}/chains")
    expect(page.locator("h1")).to_contain_text(EVIL)
    assert page.evaluate("window.evil") is None
    page.get_by_label("Tags, one a line").fill(f"{EVIL}\nautumn, late\n")
    page.get_by_label("Note").fill("")
    page.get_by_role("button", name="Save").click()
    wait_for(lambda: service.job(job)["tags"], "the tags are there")
    expect(page.get_by_label("Tags, one a line")).to_have_value(f"{EVIL}\nautumn, late")
    told = service.job(job)
    assert (told["name"], told["note"], set(told["tags"])) == (EVIL, None, {EVIL, "autumn, late"})
    page.get_by_label("Name", exact=True).fill("")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("h1")).to_contain_text(f"Job {job[:8]}")
    assert service.job(job)["name"] is None
    assert page.evaluate("window.evil") is None


def test_the_view_fits_and_is_accessible_while_a_job_runs(page: Page, service: Service, corpus: str) -> None:
    job = service.submit(corpus, LONG, chains=1)
    page.goto(f"/jobs/{job}/chains")
    for look in BOTH:
        look_as(page, look)
        wait_for_more(page, points(page))
        check_fits(page)
        check_accessibility(page)
        assert page.evaluate(COLOUR, BURN_IN) != page.evaluate(COLOUR, KEPT), "burn-in is shaded"
    service.post(f"/v1/jobs/{job}/cancel")


@in_both_looks
def test_the_view_fits_and_is_accessible_when_there_is_an_answer(page: Page, finished: Finished, look: Look) -> None:
    page.goto(f"/jobs/{finished.job}/chains")
    assert wait_for_more(page, 0) == 2 * 60, "all draws, since they are few"
    for details in page.locator("details").all():
        details.evaluate("each => each.setAttribute('open', '')")
    check_fits(page)
    check_accessibility(page)


def test_charts_follow_the_theme_and_what_is_counted(page: Page, finished: Finished) -> None:
    page.goto(f"/jobs/{finished.job}/chains")
    wait_for_more(page, 0)
    light = page.evaluate(COLOUR, KEPT)
    page.get_by_role("button", name="Switch between light and dark").click()
    dark = page.evaluate(COLOUR, KEPT)
    assert sum(map(int, light.split(","))) > 600 > 200 > sum(map(int, dark.split(",")))
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(COLOUR, KEPT) == dark

    draws = finished.service.get(f"/v1/jobs/{finished.job}/trace?chain=1")["draws"]
    for label, name in (("All categories, known ones too", "n_categories"), ("All new categories", "n_new")):
        page.get_by_label("Count").select_option(label=label)
        expect(page.locator("#trace-said")).to_contain_text(f"Chain 1 has had {draws[-1][name]} ")


def test_what_was_opened_stays_open_while_the_view_refreshes(page: Page, service: Service, corpus: str) -> None:
    job = service.submit(corpus, LONG, chains=1)
    page.goto(f"/jobs/{job}/chains")
    page.get_by_text("Continue as a new job when this one has ended").click()
    page.get_by_label("Name of the new job").fill("tomorrow")
    page.locator("h1").click()  # the focus is elsewhere, so that the section may be replaced
    wait_for_more(page, wait_for_more(page, 0))
    expect(page.get_by_label("Name of the new job")).to_have_value("tomorrow")
    page.get_by_role("button", name="Continue when it has ended").click()
    page.wait_for_url(lambda url: url.endswith("/chains") and job not in url)
    expect(page.locator("h1")).to_contain_text("tomorrow")
    service.post(f"/v1/jobs/{job}/cancel")


def test_all_charts_are_saved_as_one_picture(page: Page, finished: Finished, tmp_path: Path) -> None:
    page.goto(f"/jobs/{finished.job}/chains")
    wait_for_more(page, 0)
    with page.expect_download() as download:
        page.get_by_role("button", name="PNG").click()
    assert download.value.suggested_filename == "trace.png"
    download.value.save_as(tmp_path / "trace.png")
    saved = (tmp_path / "trace.png").read_bytes()
    assert saved[:8] == b"\x89PNG\r\n\x1a\n"
    sizes = page.evaluate("[...document.querySelectorAll('#charts canvas')].map((each) => [each.width, each.height])")
    assert len(sizes) == 2
    assert struct.unpack(">II", saved[16:24]) == (sizes[0][0], sum(height for _, height in sizes))


def test_the_view_sends_little(page: Page, finished: Finished) -> None:
    sizes: list[int] = []
    page.on("response", lambda response: sizes.append(len(response.body())))
    page.goto(f"/jobs/{finished.job}/chains")
    wait_for_more(page, 0)
    page.wait_for_load_state("networkidle")
    assert 80_000 < sum(sizes) < 300_000
