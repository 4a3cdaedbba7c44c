"""From a file to a job, without a manual: dropped or chosen, checked, its columns named, added, and a job over it."""

import base64
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from app.core.schema import migrate
from app.core.settings import Settings
from tests import guard
from tests.app.uploads.files import workbook
from tests.browser.looks import in_both_looks
from tests.browser.services import Service, serving
from tests.browser.watch import PageWatch, check_accessibility, check_fits
from tests.waits import wait_for

SCRIPT = "<script>alert(1)</script>"
CHOOSE = "Drop a file of documents here, or choose one"
WORDS = ("galaxies with stars far away in deep space", "rocks and soil under old volcanoes on an island")
N_ROWS = 40
JOB_VIEW = re.compile(r"^http://[^/]+/jobs/[0-9a-f-]{36}$")


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """An API alone: jobs are queued here, and wait. Each test makes corpora of its own."""
    folder = guard.make_folder("uploads")
    migrate(Settings(data_folder=folder).database)
    with serving("api", folder) as service:
        yield service


def paper(n: int, label: str) -> str:
    """A line of the file of papers."""
    return f"Aufsatz {n};Über {WORDS[n % 2]}, Nummer {n};{label}\n"


def papers(path: Path, label: str = "Küche") -> Path:
    """A CSV as a German Excel writes it, with other names of columns, and with two lines that cannot be used."""
    rows = [paper(n, label if n % 4 else "offen") for n in range(N_ROWS)]
    path.write_bytes(f"Title;Abstract;Category\n{''.join(rows)}nur;zwei\na;b;c;d\n".encode("cp1252"))
    return path


def corpora_of(service: Service) -> list[dict[str, Any]]:
    """All corpora of the service."""
    found: list[dict[str, Any]] = service.get("/v1/corpora")["corpora"]
    return found


def found(page: Page, name: str) -> str:
    """A number that the check has found."""
    return page.locator("[data-found] dl div", has=page.get_by_text(name, exact=True)).locator("dd").inner_text()


def drop(page: Page, path: Path) -> None:
    """Drop a file on the page as a person would."""
    content = base64.b64encode(path.read_bytes()).decode()
    transfer = page.evaluate_handle(
        """([content, name]) => {
            const transfer = new DataTransfer();
            const bytes = Uint8Array.from(atob(content), (each) => each.charCodeAt(0));
            transfer.items.add(new File([bytes], name));
            return transfer;
        }""",
        [content, path.name],
    )
    page.dispatch_event("[data-drop]", "dragover", {"dataTransfer": transfer})
    page.dispatch_event("[data-drop]", "drop", {"dataTransfer": transfer})


def stand_in_for_jobs(page: Page) -> None:
    """The views of jobs are not what is tested here."""

    def answer(route: Route) -> None:
        route.fulfill(body="<!doctype html><title>Job</title><h1>A job</h1>", content_type="text/html")

    page.route(JOB_VIEW, answer)


def test_a_file_with_other_columns_and_charset_becomes_a_job(
    page: Page, page_watch: PageWatch, service: Service, tmp_path: Path
) -> None:
    page.goto("/")
    with page_watch.expect_status(422):  # which charset is it?
        drop(page, papers(tmp_path / "papers.csv"))
        expect(page.get_by_role("alert")).to_contain_text("it looks like windows-1252")
    with page_watch.expect_status(422):  # which column is the text?
        page.get_by_role("button", name="Read it as windows-1252").click()
        expect(page.get_by_role("alert")).to_contain_text("did you mean text=Abstract and label=Category?")
    expect(page.get_by_label("Abstract")).to_have_value("text")
    expect(page.get_by_label("Category")).to_have_value("label")
    page.get_by_label("Title").select_option("text")  # which has the file checked again
    expect(page.get_by_role("button", name=f"Add {N_ROWS} documents")).to_be_visible()
    assert (found(page, "with a label"), found(page, "lines cannot be used")) == (str(N_ROWS), "2")
    errors = page.get_by_role("group", name="Lines that cannot be used")
    expect(errors.get_by_role("row").nth(1)).to_contain_text("the record has 2 fields where the first has 3")
    page.get_by_label("Values that mean").fill("offen, unknown")
    page.get_by_label("Values that mean").press("Enter")
    expect(page.locator("[data-found]")).to_contain_text("without a label")
    expect(page.locator("[data-found] dd").nth(2)).to_have_text(str(N_ROWS // 4))
    assert [each["documents"] for each in corpora_of(service) if each["name"] == "papers"] == [0], "only checked so far"

    page.get_by_role("button", name=f"Add {N_ROWS} documents").click()
    expect(page.get_by_role("heading", name=f"Done: {N_ROWS} documents added, 2 lines left out.")).to_be_visible()
    [corpus] = [each for each in corpora_of(service) if each["name"] == "papers"]
    assert (corpus["documents"], corpus["labeled"]) == (N_ROWS, N_ROWS * 3 // 4)
    document = service.get(f"/v1/corpora/{corpus['id']}/documents?limit=1")["documents"][0]
    assert document["text"] == f"Aufsatz 0\n\nÜber {WORDS[0]}, Nummer 0"

    page.get_by_role("link", name="Find the categories").click()
    expect(page.get_by_role("status").first).to_contain_text(re.compile(r"About \d+ (second|minute)s? on 1 worker"))
    stand_in_for_jobs(page)
    page.get_by_label("Name").fill(f"papers {SCRIPT}")
    page.get_by_role("button", name="Start the job").click()
    expect(page.get_by_role("heading", name="A job")).to_be_visible()
    [job] = service.get(f"/v1/jobs?corpus_id={corpus['id']}")["jobs"]
    assert (job["name"], job["status"]) == (f"papers {SCRIPT}", "queued")
    page.goto("/")
    expect(page.get_by_role("link", name=f"papers {SCRIPT}")).to_be_visible()


def test_a_pdf_is_refused_in_words_and_leaves_no_corpus(
    page: Page, page_watch: PageWatch, service: Service, tmp_path: Path
) -> None:
    pdf = tmp_path / "paper.pdf"
    pdf.write_bytes(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n")
    page.goto("/")
    with page_watch.expect_status(415):
        page.get_by_label(CHOOSE).set_input_files(pdf)
        expect(page.get_by_role("alert")).to_contain_text("the file is a PDF: extract its text first")
    expect(page.locator("[data-add]")).to_be_hidden()
    assert "paper" in [each["name"] for each in corpora_of(service)]
    page.goto("/docs")
    wait_for(lambda: "paper" not in [each["name"] for each in corpora_of(service)], "the corpus is gone")


def test_another_file_may_be_chosen_after_all_and_the_corpus_is_called_like_that(
    page: Page, page_watch: PageWatch, service: Service, tmp_path: Path
) -> None:
    (tmp_path / "wrong.csv").write_text("first,second\n1,2\n")
    (tmp_path / "right.ndjson").write_text('{"text": "galaxies", "label": "astronomy"}\n')
    page.goto("/")
    with page_watch.expect_status(422):
        page.get_by_label(CHOOSE).set_input_files(tmp_path / "wrong.csv")
        expect(page.get_by_role("button", name="The first row is a document")).to_be_visible()
    page.get_by_role("button", name="Choose another file").click()
    page.get_by_label(CHOOSE).set_input_files(tmp_path / "right.ndjson")
    page.get_by_role("button", name="Add 1 document").click()
    expect(page.get_by_role("heading", name="Done: 1 document added.")).to_be_visible()
    names = [each["name"] for each in corpora_of(service)]
    assert "right" in names
    assert "wrong" not in names


def test_an_excel_file_with_a_script_as_its_label_goes_into_a_corpus(
    page: Page, service: Service, tmp_path: Path
) -> None:
    book = tmp_path / "book.xlsx"
    rows = [[f"{WORDS[n % 2]} {n}", SCRIPT if n % 2 else "rocks", f"key {SCRIPT} {n}"] for n in range(6)]
    book.write_bytes(workbook(first=[["text", "label", "key"], *rows], second=[["text"], ["another one"]]))
    corpus = service.post("/v1/corpora", name=f"book {SCRIPT}")["id"]
    page.goto(f"/corpora/{corpus}")
    page.get_by_label(CHOOSE).set_input_files(book)
    expect(page.locator("[data-found]")).to_contain_text("Read as Excel.")
    expect(page.locator("[data-found]")).to_contain_text("the workbook also has second")
    page.get_by_role("button", name="Add 6 documents").click()
    expect(page.get_by_role("heading", name="Done: 6 documents added.")).to_be_visible()
    page.get_by_role("link", name="Look at the corpus").click()
    expect(page.get_by_role("link", name=SCRIPT, exact=True)).to_be_visible()
    page.get_by_role("link", name=SCRIPT, exact=True).click()
    expect(page.get_by_role("row")).to_have_count(4)
    expect(page.get_by_role("row").nth(1)).to_contain_text(f"key {SCRIPT} 1")


def test_a_sheet_that_is_not_there_is_chosen_from_those_that_are(
    page: Page, page_watch: PageWatch, service: Service, tmp_path: Path
) -> None:
    book = tmp_path / "book.xlsx"
    book.write_bytes(workbook(first=[["text"], ["a"]], second=[["text"], ["b"], ["c"]]))
    corpus = service.post("/v1/corpora", name="sheets")["id"]
    page.goto(f"/corpora/{corpus}")
    page.get_by_label(CHOOSE).set_input_files(book)
    page.get_by_text("More options").click()
    with page_watch.expect_status(422):
        page.get_by_label("Sheet of a workbook").fill("third")
        page.get_by_label("Sheet of a workbook").press("Enter")
        page.get_by_role("button", name="Read the sheet second").click()
    expect(page.get_by_role("button", name="Add 2 documents")).to_be_visible()


def test_a_file_that_is_there_already_changes_nothing_and_a_correction_replaces(
    page: Page, page_watch: PageWatch, service: Service, tmp_path: Path
) -> None:
    corpus = service.post("/v1/corpora", name="again")["id"]
    file = tmp_path / "again.csv"
    file.write_text("key,text,label\n1,galaxies,astronomy\n2,rocks,geology\n")
    page.goto(f"/corpora/{corpus}")
    page.get_by_label(CHOOSE).set_input_files(file)
    page.get_by_role("button", name="Add 2 documents").click()
    page.get_by_role("button", name="Add another file").click()
    page.get_by_label(CHOOSE).set_input_files(file)
    expect(page.get_by_role("button", name="Nothing new to add")).to_be_disabled()
    page.get_by_role("button", name="Choose another file").click()
    file.write_text("key,text,label\n1,galaxies,cosmology\n")
    with page_watch.expect_status(422):
        page.get_by_label(CHOOSE).set_input_files(file)
        expect(page.get_by_role("alert")).to_contain_text("on_conflict=replace")
    page.get_by_text("More options").click()
    page.get_by_label("If a key is taken").select_option("replace")
    page.get_by_role("button", name="Add 1 document").click()
    expect(page.get_by_role("heading", name="Done: 1 replaced.")).to_be_visible()


def test_documents_on_their_way_are_not_broken_off_by_another_file(
    page: Page, service: Service, tmp_path: Path
) -> None:
    corpus = service.post("/v1/corpora", name="on the way")["id"]
    (tmp_path / "first.ndjson").write_text('{"text": "galaxies", "label": "astronomy"}\n')
    (tmp_path / "second.ndjson").write_text('{"text": "rocks", "label": "geology"}\n')
    page.goto(f"/corpora/{corpus}")
    held: list[Route] = []
    page.route(re.compile(r"/documents$"), lambda route: held.append(route))
    page.get_by_label(CHOOSE).set_input_files(tmp_path / "first.ndjson")
    page.get_by_role("button", name="Add 1 document").click()
    expect(page.locator("[data-state]")).to_have_text("Adding the documents …")
    drop(page, tmp_path / "second.ndjson")
    expect(page.locator("[data-name]")).to_have_text("first.ndjson")
    expect(page.locator("[data-choices]")).to_have_attribute("inert", "")
    [route] = held
    route.continue_()
    expect(page.get_by_role("heading", name="Done: 1 document added.")).to_be_visible()
    assert service.get(f"/v1/corpora/{corpus}")["categories"] == [{"name": "astronomy", "documents": 1}]


def test_descriptions_are_added_and_taken_away(page: Page, service: Service) -> None:
    corpus = service.post("/v1/corpora", name="described")["id"]
    page.goto(f"/corpora/{corpus}")
    page.get_by_text("Describe categories").click()
    page.get_by_label("Category").fill("refunds")
    page.get_by_label("What it is about").fill("money back")
    page.get_by_role("button", name="One more").click()
    page.get_by_label("Category").nth(1).fill("delivery")
    page.get_by_role("button", name="Save the descriptions").click()
    expect(page.get_by_text("2 descriptions")).to_be_visible()
    page.get_by_label("Category").nth(1).fill("")
    page.get_by_role("button", name="Save the descriptions").click()
    expect(page.get_by_text("1 description", exact=True)).to_be_visible()
    assert [each["name"] for each in service.get(f"/v1/corpora/{corpus}/descriptions")["descriptions"]] == ["delivery"]


def test_a_corpus_is_renamed_and_deleted(page: Page, service: Service) -> None:
    corpus = service.post("/v1/corpora", name="to be renamed")["id"]
    page.goto(f"/corpora/{corpus}")
    page.get_by_label("Name").fill("renamed")
    page.get_by_role("button", name="Rename").click()
    expect(page.get_by_role("heading", name="renamed", level=1)).to_be_visible()
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete the corpus").click()
    page.wait_for_url("**/")
    assert "renamed" not in [each["name"] for each in corpora_of(service)]


def test_the_sample_is_loaded_and_run_and_a_failure_can_be_tried_again(
    page: Page, page_watch: PageWatch, service: Service
) -> None:
    stand_in_for_jobs(page)
    page.goto("/")
    run = page.locator("[data-first-run]")
    refusals = [1]

    def refuse_once(route: Route) -> None:
        problem = '{"title": "No room", "detail": "the disk is full", "status": 409}'
        if refusals and refusals.pop():
            route.fulfill(status=409, body=problem, content_type="application/problem+json")
        else:
            route.continue_()

    page.route("**/v1/jobs", refuse_once)
    with page_watch.expect_status(409):
        run.click()
        expect(page.locator("[data-first] .refusal")).to_contain_text("the disk is full")
    run.click()
    expect(page.get_by_role("heading", name="A job")).to_be_visible()
    [corpus] = [each for each in corpora_of(service) if each["name"].startswith("Sample")]
    assert (corpus["documents"], corpus["labeled"]) == (2000, 480)
    [job] = service.get(f"/v1/jobs?corpus_id={corpus['id']}")["jobs"]
    assert page.url.endswith(f"/jobs/{job['id']}")
    assert job["name"] == "First look"


@in_both_looks
def test_the_views_fit_and_are_accessible_at_every_step(
    page: Page, page_watch: PageWatch, service: Service, tmp_path: Path
) -> None:
    def check() -> None:
        check_fits(page)
        check_accessibility(page)

    page.goto("/")
    check()
    with page_watch.expect_status(422), page_watch.expect_status(422):
        page.get_by_label(CHOOSE).set_input_files(papers(tmp_path / "papers.csv", label=f"a long label {SCRIPT}"))
        page.get_by_role("button", name=re.compile("Read it as")).click()
        expect(page.get_by_role("button", name="Use these columns")).to_be_visible()
    page.get_by_text("More options").click()
    check()
    page.get_by_role("button", name="Use these columns").click()
    expect(page.get_by_role("button", name=f"Add {N_ROWS} documents")).to_be_visible()
    check()
    page.get_by_role("button", name=f"Add {N_ROWS} documents").click()
    expect(page.get_by_role("link", name="Look at the corpus")).to_be_visible()
    check()
    page.get_by_role("link", name="Look at the corpus").click()
    page.get_by_text("Describe categories").click()
    check()
    page.get_by_role("link", name="Read the documents").click()
    check()
