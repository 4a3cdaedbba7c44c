"""From a file to reviewed categories, as somebody goes who has read no manual: real workers, a real job."""

import csv
import io
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.services import Service

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
CHOOSE = "Drop a file of documents here, or choose one"


def add(page: Page, name: str, n_documents: int) -> None:
    """Choose a file of the sample, and add what is found in it."""
    page.get_by_label(CHOOSE).set_input_files(EXAMPLES / name)
    page.get_by_role("button", name=f"Add {n_documents:,} documents").click()
    expect(page.get_by_role("heading", name=f"Done: {n_documents:,} documents added")).to_be_visible()


def test_the_sample_is_uploaded_categorized_read_reviewed_continued_and_exported(page: Page, service: Service) -> None:
    page.goto("/")
    add(page, "labeled.ndjson", 480)
    page.get_by_role("button", name="Add another file").click()
    add(page, "unlabeled.ndjson", 1_520)
    page.get_by_role("link", name="Find the categories").click()
    page.get_by_label("Name", exact=True).fill("As a stranger")
    page.get_by_text("Method and settings").click()
    page.get_by_label("Sweeps", exact=False).first.fill("500")  # so that there is something to watch
    expect(page.get_by_text("on 2 workers")).to_be_visible()
    page.get_by_role("button", name="Start the job").click()

    page.wait_for_url("**/chains")
    job = page.url.split("/")[-2]
    seen: list[int] = []
    for _ in range(2):  # the trace grows while one looks
        page.wait_for_function(
            "n => Number(document.getElementById('trace').dataset.points ?? 0) > n", arg=seen[-1] if seen else 0
        )
        seen.append(int(page.locator("#trace").get_attribute("data-points") or 0))
    assert 0 < seen[0] < seen[1]
    page.get_by_role("link", name="Read it").click()

    answer = service.get(f"/v1/jobs/{job}/categories")
    number, (low, high) = answer["new_categories"]["number"], answer["new_categories"]["interval_90"]
    assert number == 4, "the sample has four subjects that no label names"
    expect(page.locator("main")).to_contain_text(f"{number} new ones; with 90 % probability there are {low} to {high}")
    new = next(each for each in answer["categories"] if not each["known"])
    page.get_by_role("link", name=new["name"], exact=True).first.click()
    expect(page.get_by_role("heading", name=new["name"])).to_be_visible()

    page.get_by_role("link", name="Documents", exact=True).click()
    page.get_by_role("link", name="Unsure only").click()
    expect(page.locator("tbody tr").first).to_be_visible()
    unsure = service.get(f"/v1/jobs/{job}/documents?unsure=true&limit=50")["documents"]
    expect(page.locator("tbody tr")).to_have_count(len(unsure))

    page.get_by_role("link", name="Result", exact=True).click()
    page.get_by_role("link", name=new["name"], exact=True).first.click()
    page.get_by_label("It is a category from now on, called").fill("Evolution and ecology")
    page.get_by_role("button", name="Promote").click()
    expect(page.get_by_role("heading", name="Evolution and ecology")).to_be_visible()
    decided = [each["kind"] for each in service.get(f"/v1/jobs/{job}/decisions")["decisions"]]
    assert decided == ["promote"]

    page.get_by_role("link", name="Review", exact=True).click()
    page.get_by_label("Name of the next job").fill("The second round")
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url(lambda url: "/jobs/" in url and job not in url)
    expect(page.locator("h1")).to_contain_text("The second round")
    following = next(part for part in page.url.split("/") if part.count("-") == 4)
    assert service.job(following)["continues"] == job
    page.get_by_role("link", name="Read it").click()
    expect(page.locator("main")).to_contain_text("7 known categories")

    with page.expect_download() as download:
        page.get_by_role("row", name="The category of each document").get_by_role("link", name="CSV").click()
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8-sig"))))
    assert len(rows) == 1_520
    assert sum(row["category"] == "Evolution and ecology" for row in rows) > 150
