"""What tests of the page share: a browser, a watched page in it, and two services to open.

    def test_the_page_says_how_many_categories_are_new(page: Page, finished: Finished) -> None:
        page.goto(f"/jobs/{finished.job}")

`page` is a page of the service that the test asks for: `finished`, an API over jobs that have ended, which is up fast,
or `service`, `newfound serve` with its workers, where jobs run. Paths are relative to its address. The test fails if
the page does what `watch.PageWatch` forbids; `page_watch.expect_status(404)` announces a refusal. `looks.in_both_looks`
repeats a test in a narrow window in the dark and in a wide one in the light; `watch.check_accessibility(page)` and
`watch.check_fits(page)` are for every view.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests import guard
from tests.browser import chromium
from tests.browser.finished import Finished, make_finished
from tests.browser.looks import USUAL, Look
from tests.browser.services import Service, serving
from tests.browser.watch import PageWatch
from tests.waits import slowness

FLAGS = [
    "--no-sandbox",  # which root has none of
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # whatever is asked for, nothing leaves the host
]
PATIENCE = 30_000  # milliseconds for what a page is to show or do


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium; it ends with the tests of this package, and Playwright's event loop with it."""
    path = chromium.bring()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def service() -> Iterator[Service]:
    """`newfound serve`: jobs run here. Tests share it, and make corpora of their own."""
    with serving("serve", guard.make_folder("serve")) as service:
        yield service


@pytest.fixture(scope="package")
def finished() -> Iterator[Finished]:
    """The API alone, over what real jobs have left. Tests only look at it."""
    folder = guard.make_folder("finished")
    made = make_finished(folder)
    with serving("api", folder) as service:
        yield Finished(service, *made)


@pytest.fixture
def address(request: pytest.FixtureRequest) -> str:
    """Of the service that the test asks for."""
    if "service" in request.fixturenames:
        service: Service = request.getfixturevalue("service")
        return service.address
    finished: Finished = request.getfixturevalue("finished")
    return finished.service.address


@pytest.fixture
def look() -> Look:
    """How the page is looked at, unless `in_both_looks` says otherwise."""
    return USUAL


@pytest.fixture
def context(browser: Browser, address: str, look: Look) -> Iterator[BrowserContext]:
    """A browser that nobody has used before, and that remembers nothing afterwards."""
    expect.set_options(timeout=PATIENCE * slowness())
    context = browser.new_context(
        base_url=address,
        viewport={"width": look.width, "height": look.height},
        color_scheme=look.scheme,
        reduced_motion="reduce",
        locale="en-GB",
        timezone_id="UTC",
        service_workers="block",  # their requests would be nobody's
    )
    context.set_default_timeout(PATIENCE * slowness())
    yield context
    context.close()


@pytest.fixture
def page_watch(context: BrowserContext, address: str) -> Iterator[PageWatch]:
    """Watches all pages of the test, and fails it for what they must not do."""
    watch = PageWatch(context, address)
    yield watch
    watch.check()


@pytest.fixture
def page(context: BrowserContext, page_watch: PageWatch) -> Page:
    """A page that is watched."""
    return context.new_page()
