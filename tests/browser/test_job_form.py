"""The form for a job: what it takes and what becomes words follow its settings, and what is refused is said before."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, Request, expect

from app.core.schema import migrate
from app.core.settings import Settings
from tests import guard
from tests.browser.looks import in_both_looks
from tests.browser.services import Service, serving
from tests.browser.test_upload import JOB_VIEW, stand_in_for_jobs
from tests.browser.watch import PageWatch, check_accessibility, check_fits

WORDS = (
    "<p>galaxies with many stars seen in deep space</p> https://example.org/space",
    "<p>rocks and the soil under old volcanoes of an island</p>",
)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """An API alone: jobs are queued here, and wait."""
    folder = guard.make_folder("forms")
    migrate(Settings(data_folder=folder).database)
    with serving("api", folder) as service:
        yield service


def corpus_of(service: Service, labels: tuple[str | None, ...] = ("space", "earth", None)) -> str:
    """The id of a corpus of 60 short documents."""
    corpus = str(service.post("/v1/corpora", name="space and earth")["id"])
    rows = [
        {"key": str(n), "text": f"{WORDS[n % 2]} {n}", "label": labels[n % len(labels)], "forum": f"f{n % 2}"}
        for n in range(60)
    ]
    content = "\n".join(map(json.dumps, rows)).encode()
    service.http.post(
        f"/v1/corpora/{corpus}/documents", content=content, headers={"Content-Type": "application/x-ndjson"}
    ).raise_for_status()
    return corpus


def is_check(request: Request) -> bool:
    """Whether it is asked what the job would take."""
    return request.url.endswith("/v1/jobs?validate_only=true")


def body_after(page: Page, change: Any) -> Any:
    """What the form asks of the API once something in it has changed."""
    with page.expect_request(is_check) as asked:
        change()
    return asked.value.post_data_json


def test_the_forecast_and_the_defaults_follow_the_method(page: Page, service: Service) -> None:
    page.goto(f"/corpora/{corpus_of(service)}/new-job")
    forecast = page.locator("[data-forecast]")
    expect(forecast).to_have_text(re.compile(r"About \d+ seconds? on 1 worker, with up to \d+ MB of memory each\."))
    page.get_by_text("Method and settings").click()
    expect(page.get_by_label("Chains")).to_have_attribute("placeholder", "4")
    expect(page.get_by_label("Number of categories")).to_be_hidden()
    page.get_by_label("Method", exact=True).select_option("lbpl-ntm")
    expect(page.get_by_label("Chains")).to_have_attribute("placeholder", "2")
    expect(page.get_by_label("Vectors")).to_be_hidden()
    expect(page.locator("[data-method-short]")).to_have_text("lbpl-ntm, 2 chains of 500 sweeps")
    page.get_by_label("Sweeps of each chain").fill("300")
    expect(page.get_by_label("Sweeps to drop")).to_have_attribute("placeholder", "150")
    assert service.get("/v1/jobs")["jobs"] == [], "a check queues nothing"


def test_what_is_refused_is_said_before_the_job_is_started(page: Page, page_watch: PageWatch, service: Service) -> None:
    page.goto(f"/corpora/{corpus_of(service)}/new-job")
    expect(page.locator("[data-forecast]")).to_contain_text("About")
    page.get_by_text("Method and settings").click()
    with page_watch.expect_status(422):
        page.get_by_label("Method", exact=True).select_option("sskm")
        expect(page.get_by_role("alert")).to_contain_text("give n_categories")
    with page_watch.expect_status(409):
        page.get_by_label("Number of categories").fill("1")
        expect(page.get_by_role("alert")).to_contain_text("is below 2, the number of categories that labels")
    body = body_after(page, lambda: page.get_by_label("Number of categories").fill("3, 4"))
    assert (body["model"], body["n_categories"]) == ("sskm", [3, 4])
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(page.locator("[data-forecast]")).to_contain_text("About")


def test_settings_reach_the_job_in_their_types(page: Page, page_watch: PageWatch, service: Service) -> None:
    corpus = corpus_of(service)
    stand_in_for_jobs(page)
    page.goto(f"/corpora/{corpus}/new-job")
    for name in ("What becomes words", "More about words", "Method and settings", "Constants of calibrated", "Tags"):
        page.get_by_text(name).first.click()
    page.get_by_label("html").check()
    page.get_by_label("mail", exact=True).check()
    page.get_by_label("Stop words to leave out").fill("en, de")
    page.get_by_label("Pieces of scripts").select_option("3")
    page.get_by_label("Count copies").select_option("false")
    page.get_by_label("Documents that a word may be in").fill("0.9")
    page.get_by_label("Smoothings").fill("0.5, 2")
    page.get_by_label("Chains").fill("3")
    page.get_by_label("Field that says the source").fill("forum")
    page.get_by_label("Tags").fill("tickets, autumn")
    page.get_by_role("button", name="Start the job").click()
    page.wait_for_url(JOB_VIEW)
    job = service.get(f"/v1/jobs/{page.url.rpartition('/')[2]}")
    text = job["settings"]["text"]
    assert (text["markup"], text["stop_words"], text["character_ngrams"]) == (["html", "mail"], ["en", "de"], 3)
    assert (text["join_copies"], text["max_document_frequency"]) == (False, 0.9)
    assert job["settings"]["calibrated"]["smoothings"] == [0.5, 2.0]
    assert (job["settings"]["chains"], job["settings"]["source_field"]) == (3, "forum")
    assert job["tags"] == ["tickets", "autumn"]


def test_the_preview_shows_words_and_follows_the_options(page: Page, service: Service) -> None:
    page.goto(f"/corpora/{corpus_of(service)}/new-job")
    page.get_by_text("What becomes words").click()
    preview = page.locator("[data-preview]")
    expect(preview).to_contain_text("look like HTML")
    expect(preview.get_by_text("https", exact=True).first).to_be_visible()
    page.get_by_label("html").check()
    page.get_by_label("Web and mail addresses").select_option("drop")
    expect(preview.get_by_text("https", exact=True)).to_have_count(0)
    expect(preview).not_to_contain_text("look like HTML")
    expect(preview.get_by_text("galaxies", exact=True).first).to_be_visible()
    expect(preview).to_contain_text("different words in 60 documents")


def test_without_labels_the_box_has_to_be_ticked(page: Page, page_watch: PageWatch, service: Service) -> None:
    corpus = corpus_of(service, labels=(None,))
    with page_watch.expect_status(409):
        page.goto(f"/corpora/{corpus}/new-job")
        expect(page.get_by_role("alert")).to_contain_text("has a label")
    body = body_after(page, lambda: page.get_by_label("Find categories without any known ones").check())
    assert body["discover"] is True
    expect(page.locator("[data-forecast]")).to_contain_text("About")


def test_two_clicks_start_one_job(page: Page, service: Service) -> None:
    corpus = corpus_of(service)
    stand_in_for_jobs(page)
    page.goto(f"/corpora/{corpus}/new-job")
    page.get_by_role("button", name="Start the job").dblclick()
    page.wait_for_url(JOB_VIEW)
    assert len(service.get(f"/v1/jobs?corpus_id={corpus}")["jobs"]) == 1


def test_a_comparison_of_methods_is_started(page: Page, service: Service) -> None:
    corpus = corpus_of(service)
    page.route(
        re.compile(r"/comparisons/[0-9a-f-]{36}$"), lambda route: route.fulfill(body="<title>Comparison</title>")
    )
    page.goto(f"/corpora/{corpus}/new-job")
    page.get_by_role("link", name="Compare methods").click()
    check_accessibility(page)
    page.get_by_label("D-LDA").check()
    page.get_by_label("LBPL-NTM").uncheck()
    page.get_by_label("Splits").fill("2")
    page.get_by_role("button", name="Start the comparison").click()
    page.wait_for_url("**/comparisons/*")
    [made] = service.get("/v1/comparisons")["comparisons"]
    assert (made["methods"], made["splits"]) == (["calibrated", "dlda", "sskm"], 2)


@in_both_looks
def test_the_form_fits_and_is_accessible(page: Page, service: Service) -> None:
    page.goto(f"/corpora/{corpus_of(service)}/new-job")
    for name in ("What becomes words", "More about words", "Method and settings", "Constants of calibrated", "Tags"):
        page.get_by_text(name).first.click()
    expect(page.locator("[data-preview]")).to_contain_text("Some documents")
    expect(page.locator("[data-forecast]")).to_contain_text("About")
    check_fits(page)
    check_accessibility(page)
