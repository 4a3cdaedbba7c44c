"""What a page must not do while a test looks at it, and what it must be for everybody."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, Response, WebError, WebSocket

INLINE = ("about", "blob", "data")  # schemes of addresses that nothing is sent to
LOUD = ("error", "warning", "assert")  # kinds of console messages
# Chromium's message about an answer of 400 and above, which is judged as an answer.
ANSWERED_BADLY = "Failed to load resource: the server responded with a status of "
SERIOUS = ("serious", "critical")  # impacts of a violation, as axe-core rates them


class PageWatch:
    """Takes down the faults of all pages of a browser context; `check` tells them.

    A fault is an error or warning on the console (a breach of the content security policy is one), an exception that
    nobody caught, a request to any other origin than the service's, and an answer of 400 and above that the test has
    not announced by `expect_status`.
    """

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.address = address
        self.faults: list[str] = []
        self.expected: list[int] = []  # statuses that are allowed now
        self.seen: list[int] = []  # those of them that came
        self.requested: list[str] = []  # the addresses of all requests
        context.on("console", self.on_console)
        context.on("weberror", self.on_error)
        context.on("request", self.on_request)
        context.on("response", self.on_response)
        context.on("page", self.on_page)

    @contextmanager
    def expect_status(self, status: int) -> Iterator[None]:
        """Within this context an answer with this status from 400 to 499 is no fault, and one must come."""
        assert 400 <= status < 500, f"{status} is never a proper answer to a page"
        n_before = len(self.seen)
        self.expected.append(status)
        try:
            yield
        finally:
            self.expected.remove(status)
        assert status in self.seen[n_before:], f"no answer with {status} came"

    def check(self) -> None:
        """Raise AssertionError if anything was wrong."""
        assert not self.faults, "the page did what it must not:\n" + "\n".join(self.faults)

    def on_page(self, page: Page) -> None:
        """Watch the sockets of a new page too."""
        page.on("websocket", self.on_socket)

    def on_console(self, message: ConsoleMessage) -> None:
        """A message on the console."""
        if message.type in LOUD and not message.text.startswith(ANSWERED_BADLY):
            self.faults.append(f"console, {message.type}: {message.text} ({message.location.get('url', '')})")

    def on_error(self, error: WebError) -> None:
        """An exception that nobody caught."""
        self.faults.append(f"not caught: {error.error}")

    def on_request(self, request: Request) -> None:
        """A request, sent or not."""
        self.requested.append(request.url)
        self.check_address(request.url)

    def on_socket(self, socket: WebSocket) -> None:
        """A socket that is being opened."""
        self.check_address(socket.url)

    def check_address(self, url: str) -> None:
        """Take down an address that is not the service's."""
        if urlsplit(url).scheme not in INLINE and not url.startswith(f"{self.address}/"):
            self.faults.append(f"a request to another origin than {self.address}: {url}")

    def on_response(self, response: Response) -> None:
        """The head of an answer."""
        if response.status in self.expected:
            self.seen.append(response.status)
        elif response.status >= 400:
            self.faults.append(f"{response.status} for {response.request.method} {response.url}")


def check_accessibility(page: Page) -> None:
    """Raise AssertionError for what axe-core finds serious or critical on the page as it is now."""
    found = Axe().run(page).response["violations"]
    serious = [each for each in found if each["impact"] in SERIOUS]
    told = [
        f"{each['impact']}: {each['help']} ({each['id']}), "
        + "; ".join(f"{' '.join(map(str, node['target']))} {node['failureSummary']}" for node in each["nodes"][:5])
        for each in serious
    ]
    assert not serious, "\n".join(told)


# The elements that stick out, the outermost first; those inside a box that scrolls by itself do not.
STICKING_OUT = """() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    const isClipped = (each) => {
        for (let box = each.parentElement; box && box !== document.body; box = box.parentElement)
            if (getComputedStyle(box).overflowX !== "visible") return true;
        return false;
    };
    const out = [...document.querySelectorAll("body *")].filter(
        (each) => each.getBoundingClientRect().right > width + 0.5 && !isClipped(each));
    const told = out.map((each) => each.cloneNode(false).outerHTML.slice(0, 200));
    return [`the document is ${document.documentElement.scrollWidth} px wide`, ...told.slice(0, 8)];
}"""


def check_fits(page: Page) -> None:
    """Raise AssertionError if the document is wider than the window, so that it must be scrolled sideways."""
    page.wait_for_load_state()  # else there may be no document to look at
    found = page.evaluate(STICKING_OUT)
    assert not found, "in a window of {} px {}".format((page.viewport_size or {}).get("width"), "\n".join(found))
