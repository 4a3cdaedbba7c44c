"""What a page must not do is noticed, and nothing else is."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.browser.looks import Look, in_both_looks
from tests.browser.watch import PageWatch, check_accessibility, check_fits

POLICY = "default-src 'self'; img-src * data:; connect-src *"
GOOD = '<!doctype html><html lang="en"><title>Trial</title><link rel="icon" href="data:,">'
Open = Callable[..., PageWatch]


@pytest.fixture
def open_trial(context: BrowserContext, address: str) -> Open:
    """Opens a page with this content, and returns what was seen while it did all that it does."""

    def open_trial(content: str, status: int = 200) -> PageWatch:
        headers = {"Content-Type": "text/html", "Content-Security-Policy": POLICY}
        context.route("**/trial", lambda route: route.fulfill(status=status, headers=headers, body=content))
        context.route("**/trial.js", lambda route: route.fulfill(content_type="text/javascript", body=script))
        content, _, script = content.partition("SCRIPT")
        watch = PageWatch(context, address)
        page = context.new_page()
        page.goto("/trial")
        page.wait_for_load_state("networkidle")
        return watch

    return open_trial


RUN = f"{GOOD}<script src=trial.js></script>SCRIPT"
FAULTS = {
    "console, error: it broke": f"{RUN}console.error('it broke')",
    "console, warning: it will break": f"{RUN}console.warn('it will break')",
    "not caught: it broke": f"{RUN}setTimeout(() => {{ throw new Error('it broke') }})",
    "not caught: nobody waits": f"{RUN}Promise.reject(new Error('nobody waits'))",
    "console, error: .*Content Security Policy": f"{GOOD}<script>1</script>",
    "another origin than .*: http://127.0.0.2:9/image": f"{GOOD}<img alt='' src='http://127.0.0.2:9/image'>",
    "another origin than .*: http://example.org/": f"{GOOD}<img alt='' src='http://example.org/'>",
    "another origin than .*: ws://127.0.0.1": f"{RUN}new WebSocket('ws://127.0.0.1:9/')",
    "404 for GET http://127.0.0.1:[0-9]+/nothing": f"{GOOD}<img alt='' src='/nothing'>",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_page_that_does_what_it_must_not_fails_its_test(open_trial: Open, fault: str) -> None:
    with pytest.raises(AssertionError, match=fault):
        open_trial(FAULTS[fault]).check()


def test_an_answer_that_the_service_fails_with_fails_the_test(open_trial: Open) -> None:
    with pytest.raises(AssertionError, match="500 for GET"):
        open_trial(GOOD, status=500).check()


def test_a_refusal_that_is_announced_is_no_fault_but_must_come(page: Page, page_watch: PageWatch) -> None:
    with page_watch.expect_status(404):
        page.goto("/v1/corpora/nothing")
    page_watch.check()
    with pytest.raises(AssertionError, match="no answer with 404 came"), page_watch.expect_status(404):
        page.goto("/health")


@in_both_looks
def test_a_good_page_has_no_faults_in_any_look(open_trial: Open, context: BrowserContext, look: Look) -> None:
    open_trial(f"{GOOD}<main><h1>Trial</h1><p>text</main>").check()
    [page] = context.pages
    check_accessibility(page)
    check_fits(page)
    assert page.evaluate("innerWidth") == look.width
    assert page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") == (look.scheme == "dark")


def test_a_page_that_a_screen_reader_cannot_read_is_noticed(open_trial: Open, context: BrowserContext) -> None:
    open_trial(f"{GOOD}<main><h1>Trial</h1><input type=text></main>").check()
    with pytest.raises(AssertionError, match="critical: Form elements must have labels"):
        check_accessibility(context.pages[0])


@pytest.mark.parametrize("look", [Look(360, "light")])
def test_a_page_that_is_wider_than_its_window_is_noticed(open_trial: Open, context: BrowserContext, look: Look) -> None:
    open_trial(f"{GOOD}<main><h1>Trial</h1><table width=500><tr><td>wide</table></main>").check()
    with pytest.raises(AssertionError, match=r"in a window of 360 px the document is 5\d\d px wide\n<table"):
        check_fits(context.pages[0])
