"""How long each view of the page takes to answer over a large job, and how much it sends.

    python -m benchmarks.page [--documents 100000] [--categories 300] [--rounds 5] [--keep DIR] [--operations]

Makes a data folder as in `benchmarks.large_job` (minutes; with `--keep` it stays, and is used again), starts the API
over it on loopback, and asks for each address one request after the other. Prints a table: the first answer, which
finds nothing in any cache, the median of the others, the processor's time for one of these, which other work on the
machine does not lengthen, and what was sent: for a view with all scripts and styles that it loads. Ends with 1 if a
view or an operation is slower than 300 ms, or a view sends more than 300 kB. Operations that take half of that or
answer much are marked. `--operations` leaves out the views.
"""

import argparse
import json
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin

import httpx2

from app.core.settings import Settings
from benchmarks.large_job import Made, make
from benchmarks.load.documents import word
from tests.browser.services import Service, serving

MAX_MILLISECONDS, MAX_BYTES = 300.0, 300_000  # of a view
TOLD_MILLISECONDS, TOLD_BYTES = 150.0, 500_000  # of an operation that views ask
MADE = "made.json"  # in the folder, once all is there
COMMON, RARE = word(3), word(9_000)  # words that nearly all documents have, and few

# What views ask of the API.
OPERATIONS = (
    "/health",
    "/v1/corpora",
    "/v1/corpora/{corpus}",
    "/v1/corpora/{other_corpus}",
    "/v1/jobs",
    "/v1/jobs?corpus_id={corpus}",
    "/v1/corpora/{corpus}/documents?limit=50",
    "/v1/corpora/{corpus}/documents/{key}",
    "/v1/corpora/{corpus}/descriptions",
    "/v1/comparisons",
    "/v1/jobs/{job}",
    "/v1/jobs/{job}/trace?limit=10000",
    "/v1/jobs/{job}/trace?chain=0&limit=1000",
    "/v1/jobs/{job}/categories",
    "/v1/jobs/{job}/categories?categories=20",
    "/v1/jobs/{job}/categories/0",
    "/v1/jobs/{job}/categories/{new_category}",
    "/v1/jobs/{job}/portraits?category=0&category={new_category}",
    "/v1/jobs/{job}/tree",
    "/v1/jobs/{job}/topics",
    "/v1/jobs/{job}/documents?limit=50",
    "/v1/jobs/{job}/documents?limit=50&unsure=true",
    "/v1/jobs/{job}/documents?limit=50&sort=probability",
    "/v1/jobs/{job}/documents?limit=50&sort=unsure",
    "/v1/jobs/{job}/documents?limit=50&search={common}",
    "/v1/jobs/{job}/documents?limit=50&search={rare}",
    "/v1/jobs/{job}/documents?limit=50&category={new_category}",
    "/v1/jobs/{job}/documents?limit=50&category=none",
    "/v1/jobs/{job}/documents?limit=50&field=source:source%203",
    "/v1/jobs/{job}/documents?limit=50&known=false",
    "/v1/jobs/{job}/documents?limit=50&copies=true",
    "/v1/jobs/{job}/documents?limit=50&evidence=true",
    "/v1/jobs/{job}/documents/{key}",
    "/v1/jobs/{job}/triage?budget=20",
    "/v1/jobs/{job}/decisions",
    "/v1/jobs/{job}/audit?limit=50",
    "/v1/jobs/{job}/labels?limit=50",
    "/v1/jobs/{job}/labels/pairs",
    "/v1/jobs/{job}/groups?by=date&period=month",
    "/v1/jobs/{job}/groups?by=source",
    "/v1/jobs/{job}/plots/trace.svg",
    "/v1/jobs/{job}/plots/posterior.svg",
    "/v1/jobs/{job}/plots/sizes.svg",
    "/v1/jobs/{job}/plots/tree.svg",
    "/v1/jobs/{job}/report",
)
POSTS: dict[str, Any] = {"/v1/corpora/{corpus}/preview": {}}
# The views, with the parameters that cost most.
VIEWS = (
    "/",
    "/corpora/{corpus}",
    "/corpora/{other_corpus}",
    "/corpora/{corpus}/documents",
    "/corpora/{corpus}/new-job",
    "/corpora/{corpus}/compare",
    "/comparisons",
    "/jobs/{job}",
    "/jobs/{job}?page=2",
    "/jobs/{job}/chains",
    "/jobs/{job}/categories/0",
    "/jobs/{job}/categories/{new_category}",
    "/jobs/{job}/tree",
    "/jobs/{job}/tree?categories=20",
    "/jobs/{job}/map",
    "/jobs/{job}/time",
    "/jobs/{job}/time?by=date&period=month",
    "/jobs/{job}/time?by=source",
    "/jobs/{job}/scores",
    "/jobs/{job}/documents",
    "/jobs/{job}/documents?unsure=true",
    "/jobs/{job}/documents?sort=probability",
    "/jobs/{job}/documents?search={common}",
    "/jobs/{job}/documents?category={new_category}",
    "/jobs/{job}/documents/{key}",
    "/jobs/{job}/review",
)


class Figures(NamedTuple):
    """What was measured of an address."""

    address: str  # with names in the place of ids
    is_view: bool
    first: float  # milliseconds
    median: float
    processor: float  # milliseconds, in the mean
    n_bytes: int  # as sent; of a view with what it loads

    @property
    def is_missed(self) -> bool:
        """Whether it takes or sends more than it may."""
        return self.is_view and (self.median > MAX_MILLISECONDS or self.n_bytes > MAX_BYTES)

    @property
    def remark(self) -> str:
        """What is to be looked at."""
        most_milliseconds = MAX_MILLISECONDS if self.is_view else TOLD_MILLISECONDS
        most_bytes = MAX_BYTES if self.is_view else TOLD_BYTES
        slow, large = self.median > most_milliseconds, self.n_bytes > most_bytes
        return ", ".join(["FAILS"] * self.is_missed + ["slow"] * slow + ["large"] * large)


def main() -> int:
    """Measure all addresses; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.page", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--categories", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--operations", action="store_true")
    arguments = parser.parse_args()
    with data_folder(arguments.keep) as folder:
        made = made_in(folder, arguments.documents, arguments.categories)
        views = () if arguments.operations else VIEWS
        found = list(measured(folder, made, arguments.rounds, views))
    missed = [each.address for each in found if each.is_missed]
    if missed:
        print(f"\n{len(missed)} of {len(found)} take or send more than they may: {' '.join(missed)}", file=sys.stderr)
    return int(bool(missed))


@contextmanager
def data_folder(kept: Path | None) -> Iterator[Path]:
    """A folder that is to be kept, or one that is gone after this context."""
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept.resolve()
    else:
        with tempfile.TemporaryDirectory(prefix="newfound-page-") as folder:
            yield Path(folder)


def made_in(folder: Path, n_documents: int, n_categories: int) -> Made:
    """The job in a data folder, made if it is not there."""
    file = folder / MADE
    if file.exists():
        return Made(**json.loads(file.read_text(encoding="utf-8")))
    began = time.monotonic()

    def report(step: str) -> None:
        print(f"{time.monotonic() - began:.0f} s: {step}", file=sys.stderr)

    made = make(Settings(data_folder=folder, trusted_hosts="testserver"), n_documents, n_categories, report)
    file.write_text(json.dumps(made._asdict()), encoding="utf-8")
    return made


def measured(folder: Path, made: Made, n_rounds: int, views: tuple[str, ...]) -> Iterator[Figures]:
    """Each address with its figures, which are printed as they come."""
    names = {**made._asdict(), "common": COMMON, "rare": RARE}
    print(f"{'first ms':>9} {'median ms':>9} {'cpu ms':>7} {'kB':>7}  address")
    with serving("api", folder) as service:
        for address in (*OPERATIONS, *POSTS, *views):
            found = figures(service, address, names, n_rounds, is_view=address in views)
            numbers = f"{found.first:9.0f} {found.median:9.0f} {found.processor:7.0f} {found.n_bytes / 1000:7.1f}"
            print(f"{numbers}  {address}  {found.remark}", flush=True)
            yield found


def figures(service: Service, address: str, names: dict[str, str], n_rounds: int, *, is_view: bool) -> Figures:
    """What is measured of an address."""
    path, milliseconds, worked = address.format(**names), [], 0.0
    for number in range(n_rounds + 1):
        if number == 1:
            worked = seconds_worked(service)
        began = time.perf_counter()
        response = service.http.post(path, json=POSTS[address]) if address in POSTS else service.http.get(path)
        milliseconds.append((time.perf_counter() - began) * 1000)
        assert response.status_code == 200, f"{path}: {response.status_code}, {response.text[:500]}"
    processor = (seconds_worked(service) - worked) * 1000 / n_rounds
    n_bytes = response.num_bytes_downloaded + (loaded(service.http, response) if is_view else 0)
    return Figures(address, is_view, milliseconds[0], statistics.median(milliseconds[1:]), processor, n_bytes)


def seconds_worked(service: Service) -> float:
    """The processor's time that the service has taken so far."""
    times = [process.cpu_times() for process in service.program.tree()]
    return float(sum(each.user + each.system for each in times))


class Loads(HTMLParser):
    """Gathers the addresses of what a document loads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element that may load something."""
        of_tag = dict(attrs)
        address = of_tag.get("href") if tag == "link" else of_tag.get("src")
        if address and not address.startswith("data:"):
            self.found.add(address)


IMPORTED = re.compile(r"""(?:from|import)\s*\(?["'](\.{0,2}/[^"']+)["']|@import\s+["']([^"']+)["']""")


def loaded(http: httpx2.Client, document: httpx2.Response) -> int:
    """The bytes of all that a document loads, and of what its scripts and styles import."""
    loads = Loads()
    loads.feed(document.text)
    base = str(document.url)
    left, seen, n_bytes = [urljoin(base, address) for address in loads.found], set[str](), 0
    while left:
        url = left.pop()
        if url in seen:
            continue
        seen.add(url)
        response = http.get(url)
        assert response.status_code == 200, f"{url}: {response.status_code}"
        n_bytes += response.num_bytes_downloaded
        if url.endswith((".js", ".css")):
            left += [urljoin(url, one or other) for one, other in IMPORTED.findall(response.text)]
    return n_bytes


if __name__ == "__main__":
    sys.exit(main())
