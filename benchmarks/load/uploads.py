"""Documents that come, many or odd ones, and documents that go."""

import itertools
import math
import re
import threading
import time
from collections import Counter
from functools import partial

from sqlalchemy import func, select

from app.core.tables import Document
from benchmarks.load import documents
from benchmarks.load.client import Answer, at_once, left
from benchmarks.load.scenarios import Figures, Scenario, named, slowest, statuses
from tests.waits import REQUEST_SECONDS

ROWS = 1_000  # a piece of an upload as it is sent, and what costs are told for
LOOK_SECONDS = 0.01  # between two looks at what is stored
MOST_RATIO = 1.5  # of the cost of a first upload's last rows to that of its first ones
WRITE_PAUSE_SECONDS = 0.1  # between two requests of a client that writes while a corpus is deleted

Progress = list[tuple[float, int]]  # seconds since the beginning of an upload, and rows stored by then


class FirstUpload(Scenario):
    """The first large upload into a fresh database, then another one."""

    name = "first-upload"

    def prepare(self) -> None:
        """Documents in pieces, so that the clock does not run while they are made."""
        lines = documents.lines(self.scale.first_documents, seed=2)
        self.pieces = [b"".join(lines[first : first + ROWS]) for first in range(0, len(lines), ROWS)]

    def load(self, until: float) -> Figures:
        """Both uploads, the first one watched."""
        answer, progress = self.upload(until)
        n_stored = progress[-1][1]
        share = max(n_stored // 10, ROWS)
        first, last = cost(progress, 0, share), cost(progress, n_stored - share, n_stored)
        figures = {
            "first upload": ended(answer),
            "rows stored": n_stored,
            "first tenth, s per 1,000": first,
            "last tenth": last,
            "ratio": last / first,
        }
        if answer is not None:
            figures["second upload"] = ended(self.upload(until)[0])
        return figures

    def upload(self, until: float) -> tuple[Answer | None, Progress]:
        """The answer to an upload into a new corpus, and what was stored when."""
        corpus_id, is_over = self.client.make_corpus(until), threading.Event()
        progress: Progress = [(0.0, 0)]

        def send() -> Answer:
            try:
                return self.client.upload(until, corpus_id, self.pieces)
            finally:
                is_over.set()

        def watch() -> None:
            began = time.monotonic()
            while not is_over.wait(LOOK_SECONDS):
                progress.append((time.monotonic() - began, self.n_rows(corpus_id)))
            progress.append((time.monotonic() - began, self.n_rows(corpus_id)))

        return at_once([send, watch])[0], progress

    def n_rows(self, corpus_id: str) -> int:
        """Rows of a corpus that one upload fills: by their first and last id, for to count them all costs too much."""
        ends = select(func.min(Document.id), func.max(Document.id)).where(Document.corpus_id == corpus_id)
        with self.service.database.readers.begin() as session:
            first, last = session.execute(ends).one()
        return 0 if first is None else int(last - first + 1)

    def misses(self, figures: Figures) -> list[str]:
        """It ends, and the last rows cost what the first ones do."""
        misses = [
            f"the {name} did not end well: {figures.get(name, 'not begun')}"
            for name in ("first upload", "second upload")
            if not figures.get(name, "").startswith("200")
        ]
        if not figures["ratio"] <= MOST_RATIO:
            misses.append(f"the last rows of a first upload cost {figures['ratio']:.1f} times what its first ones do")
        return misses


def cost(progress: Progress, low: int, high: int) -> float:
    """Seconds per 1,000 rows between two numbers of rows stored; NaN if none were."""
    if not low < high <= progress[-1][1]:
        return math.nan
    (began, above), (over, reached) = (
        next((seconds, n) for seconds, n in progress if n >= rows) for rows in (low, high)
    )
    return (over - began) / (reached - above) * ROWS if reached > above else math.nan


def ended(answer: Answer | None) -> str:
    """How an upload ended, in a figure."""
    return "not in time" if answer is None else f"{named(answer.status)} in {answer.seconds:.1f} s"


class WideCsv(Scenario):
    """CSV with more columns than anybody has use for."""

    name = "wide-csv"

    def prepare(self) -> None:
        """The file."""
        self.corpus_id = self.client.make_corpus(time.monotonic() + REQUEST_SECONDS)
        commas = b"," * (self.scale.columns - 1)
        header = ",".join(["text", *(f"c{number}" for number in range(self.scale.columns - 1))]).encode()
        self.lines = [header + b"\n", *([b"some words" + commas + b"\n"] * self.scale.records)]

    def load(self, until: float) -> Figures:
        """One upload after the other."""
        answers = self.repeated(until, partial(self.client.upload, until, self.corpus_id, self.lines, "text/csv"))
        n_bytes = sum(map(len, self.lines))
        return {"answers": statuses(answers), "slowest s": slowest(answers), "MB each": n_bytes / 1e6}


class Uploads(Scenario):
    """Many uploads at once, each into a corpus of its own."""

    name = "uploads"

    def prepare(self) -> None:
        """Corpora and pieces."""
        until = time.monotonic() + REQUEST_SECONDS
        self.corpora = [self.client.make_corpus(until) for _ in range(self.scale.uploads)]
        lines = documents.lines(self.scale.uploaded_documents, seed=3)
        self.pieces = [b"".join(lines[first : first + ROWS]) for first in range(0, len(lines), ROWS)]

    def load(self, until: float) -> Figures:
        """All of them."""
        answers = at_once(partial(self.client.upload, until, it, self.pieces) for it in self.corpora)
        stored = [self.service.n_stored(corpus_id) for corpus_id in self.corpora]
        found = map(became, answers, stored, itertools.repeat(self.scale.uploaded_documents))
        return {"uploads": dict(Counter(found)), "slowest s": slowest(answers), "answers": statuses(answers)}

    def misses(self, figures: Figures) -> list[str]:
        """Each ends well, or is refused, or says how many rows are stored."""
        bad = {name: count for name, count in figures["uploads"].items() if name.startswith("not")}
        return [f"of {self.scale.uploads} uploads at once {count} did {name}" for name, count in bad.items()]


def became(answer: Answer | None, n_stored: int, n_sent: int) -> str:
    """What became of an upload; what must not happen begins with `not`."""
    if answer is None:
        return "not end in time"
    if answer.status == 200:
        return "ended well" if answer.fields.get("accepted") == n_stored == n_sent else "not store what they said"
    said = re.findall(r"\d+", str(answer.fields.get("detail", "")).replace(",", ""))
    if str(n_stored) in said:
        return "broke off and said where"
    return "not say that they broke off in the middle, and where" if n_stored else "refused as a whole"


class Delete(Scenario):
    """A large corpus goes while others write."""

    name = "delete"

    def prepare(self) -> None:
        """The large corpus, and a small one for the writers."""
        texts = list(documents.texts(1_000, seed=4, n_words=20))  # to delete them, it does not matter what is written
        self.corpus_id = self.full_corpus(self.scale.deleted_documents, itertools.cycle(texts))
        self.other_id = self.full_corpus(20, texts)

    def load(self, until: float) -> Figures:
        """Delete, with a client that uploads and one that submits jobs."""
        is_over, writes = threading.Event(), list[Answer | None]()
        answered, gone = "not in time", math.nan

        def delete() -> None:
            nonlocal answered, gone
            began = time.monotonic()
            try:
                answer = self.client.ask(until, "DELETE", f"/v1/corpora/{self.corpus_id}")
                answered = ended(answer)
                while answer.status < 300 and self.holds_documents():
                    left(until)
                    time.sleep(WRITE_PAUSE_SECONDS)
                gone = time.monotonic() - began
            finally:
                is_over.set()

        def upload() -> None:
            for number in itertools.count():
                body = b"".join(b'{"key": "new-%d-%d", "text": "some words"}\n' % (number, row) for row in range(10))
                writes.append(self.client.upload(until, self.other_id, [body]))
                if is_over.wait(WRITE_PAUSE_SECONDS):
                    return

        def submit() -> None:
            text = {"min_document_frequency": 1, "stop_words": "none"}
            while not is_over.is_set():
                answer = self.client.post(until, "/v1/jobs", {"corpus_id": self.other_id, "text": text})
                writes.append(answer)
                if answer.status == 202:
                    writes.append(self.client.post(until, f"/v1/jobs/{answer.fields['id']}/cancel"))
                is_over.wait(WRITE_PAUSE_SECONDS)

        at_once([delete, upload, submit])
        return {
            "DELETE": answered,
            "gone after s": gone,
            "writes": statuses(writes),
            "slowest write s": slowest(writes),
        }

    def holds_documents(self) -> bool:
        """Whether something of the corpus is still there."""
        query = select(select(Document.id).where(Document.corpus_id == self.corpus_id).exists())
        with self.service.database.readers.begin() as session:
            return bool(session.scalar(query))

    def misses(self, figures: Figures) -> list[str]:
        """The corpus goes, and every writer gets what it asks for."""
        misses = []
        if not figures["DELETE"].startswith("2"):
            misses.append(f"DELETE was answered: {figures['DELETE']}")
        elif math.isnan(figures["gone after s"]):
            misses.append(f"the documents were not gone within {self.scale.limit:.0f} s")
        bad = {status: count for status, count in figures["writes"].items() if not status.startswith("2")}
        return [*misses, *(f"while a corpus was deleted, {count} writes got {status}" for status, count in bad.items())]
