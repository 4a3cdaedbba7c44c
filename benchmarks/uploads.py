"""How fast corpora of a folder are uploaded, in several formats each, and whether all of them say the same.

    python -m benchmarks.uploads --data DIR [--only NAME ...] [--stack embedded] [--rounds 3] [--simulated 100000]

DIR holds NAME.jsonl.gz, with `text` or `counts`, `label` and `id` in each line. Starts the service as real processes
on loopback, on SQLite (embedded) and PostgreSQL (deployed). Each file is sent several times, each time into a corpus of
its own, to an API that was just started; then all documents are read back. Prints a JSON line for a file: megabytes (of
a million bytes), seconds, and the most memory that the API's processes held; ends with 1 if a file brought other
documents than the corpus' first one, or if no round of the simulated corpus was fast enough.
"""

import argparse
import csv
import gzip
import hashlib
import io
import itertools
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow
import xlsxwriter
from pyarrow import parquet

from benchmarks.load import documents as made_up
from benchmarks.load.client import well
from benchmarks.load.service import STACKS, Memory, Service
from tests.waits import REQUEST_SECONDS

Document = dict[str, Any]

MAX_SECONDS = 10.0  # for the simulated corpus
N_WORDS = 80  # of a simulated document
PIECE = 2**16  # bytes that are sent at once
PAGE = 1_000
LONGEST_CELL = 32_767  # characters, as Excel has it
NAMES = ("key", "text", "label")


class Contents(NamedTuple):
    """What a corpus holds, so that two can be compared."""

    documents: int
    labeled: int
    labels: int
    digest: str


def main() -> int:
    """Measure the chosen corpora on the chosen stacks; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.uploads", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="without it, only the simulated corpus")
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--stack", nargs="+", choices=STACKS, default=list(STACKS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--simulated", type=int, default=100_000, metavar="DOCUMENTS", help="0: no simulated corpus")
    arguments = parser.parse_args()
    misses: list[str] = []
    for stack in arguments.stack:
        service = Service(stack, 0, {})
        try:
            service.start()
            for name, found in corpora(arguments.data, arguments.only, arguments.simulated):
                misses += measure(service, stack, name, found, arguments.rounds)
        finally:
            service.close()
    print("\n".join(misses), file=sys.stderr)
    return int(bool(misses))


def corpora(folder: Path | None, names: list[str] | None, n_simulated: int) -> Iterator[tuple[str, list[Document]]]:
    """The corpora by their names, one at a time: those of the folder, then the simulated one with keys and without."""
    for path in sorted(folder.glob("*.jsonl.gz")) if folder else ():
        name = path.name.removesuffix(".jsonl.gz")
        if names is None or name in names:
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                yield name, [document_of(json.loads(line)) for line in lines]
    if n_simulated:
        for name in ("simulated", "simulated without keys"):
            yield name, list(simulated(n_simulated, has_keys=name == "simulated"))


def document_of(record: Document) -> Document:
    """A document of a data set: its fields are those that every format can hold, strings that are not empty."""
    others = {name: value for name, value in record.items() if name not in ("id", "label", "text", "counts")}
    fields = {name: value for name, value in others.items() if isinstance(value, str) and value}
    if "counts" in record:  # words are the numbers of features, as SVMlight has them; it has no keys, nor blanks
        counts = {f"f{int(word) + 1}": n for word, n in record["counts"].items()}
        return {"counts": counts, "label": "-".join(record["label"].split())}
    text = record["text"].replace("\r\n", "\n").replace("\r", "\n")  # within quotes, CSV has one kind of line end
    return {"key": record["id"], "text": text, "label": record["label"], **fields}


def simulated(n: int, has_keys: bool) -> Iterator[Document]:
    """Documents of made-up words."""
    for number, text in enumerate(made_up.texts(n, seed=1, n_words=N_WORDS)):
        key = {"key": f"document-{number}"} if has_keys else {}
        yield {**key, "text": text, "label": made_up.label(number)}


def measure(service: Service, stack: str, name: str, found: list[Document], n_rounds: int) -> Iterator[str]:
    """Upload a corpus in all formats that can hold it; yields what is wrong, in sentences."""
    first: Contents | None = None
    for kind, write in FORMATS.items():
        data = write(found)
        if data is None:
            continue
        service.start_api_afresh()
        memory = Memory(service.api)
        seconds, corpus_id = [], ""
        for _ in range(n_rounds):
            until = time.monotonic() + REQUEST_SECONDS
            corpus_id = service.client.make_corpus(until)
            pieces = [data[at : at + PIECE] for at in range(0, len(data), PIECE)]
            answer = well(service.client.upload(until, corpus_id, pieces, "application/octet-stream"))
            seconds.append(answer.seconds)
        peak = memory.peak
        contents = contents_of(documents_of(service, corpus_id))
        figures = {
            "corpus": name,
            "format": kind,
            "stack": stack,
            "documents": contents.documents,
            "mb": round(len(data) / 1e6, 2),
            "seconds": round(min(seconds), 2),
            "median_seconds": round(statistics.median(seconds), 2),
            "documents_a_second": round(contents.documents / min(seconds)),
            "idle_mb": round(memory.before),
            "peak_mb": round(peak),
            "labels": contents.labels,
            "digest": contents.digest[:12],
        }
        print(json.dumps(figures), flush=True)
        first = first or contents
        yield from misses_of(f"{name} as {kind}, {stack}", contents, first, len(found))
        if name.startswith("simulated") and min(seconds) > MAX_SECONDS:
            yield f"{name} as {kind}, {stack}: {min(seconds):.1f} s, not under {MAX_SECONDS:.0f} s"


def misses_of(what: str, contents: Contents, first: Contents, n_sent: int) -> Iterator[str]:
    """Whether a file brought other documents than it has, or than another format did."""
    if contents.documents != n_sent:
        yield f"{what}: {contents.documents} documents are stored of {n_sent}"
    if contents != first:
        yield f"{what}: {contents} is stored, but the first format brought {first}"


def documents_of(service: Service, corpus_id: str) -> Iterator[Document]:
    """All documents of a corpus, as HTTP reports them."""
    path = f"/v1/corpora/{corpus_id}/documents?limit={PAGE}"
    cursor: str | None = ""
    while cursor is not None:
        answer = well(service.client.get(time.monotonic() + REQUEST_SECONDS, path + (cursor and f"&cursor={cursor}")))
        yield from answer.fields["documents"]
        cursor = answer.fields["next"]


def contents_of(found: Iterable[Document]) -> Contents:
    """What a corpus holds: the order of its documents matters."""
    digest, labels, n = hashlib.sha256(), Counter[str](), 0
    for each in found:
        n += 1
        if each["label"] is not None:
            labels[each["label"]] += 1
        told = [each["key"], each["text"], each["label"], sorted(each["fields"].items()), each["is_counts"]]
        digest.update(json.dumps(told).encode())
    return Contents(n, labels.total(), len(labels), digest.hexdigest())


def as_ndjson(found: list[Document]) -> bytes:
    """An object a line."""
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in found).encode()


def as_csv(found: list[Document]) -> bytes | None:
    """A record for each; none for ready bags of words."""
    if "counts" in found[0]:
        return None
    out = io.StringIO()
    writer = csv.DictWriter(out, names_of(found))
    writer.writeheader()
    writer.writerows(found)
    return out.getvalue().encode()


def as_xlsx(found: list[Document]) -> bytes | None:
    """A row for each; none for what no cell can hold, or no sheet."""
    names = names_of(found)
    if "counts" in found[0] or len(found) * len(names) > 1_000_000:
        return None
    if any(len(value) > LONGEST_CELL for each in found for value in each.values() if value is not None):
        return None
    out = io.BytesIO()
    options = {"strings_to_urls": False, "strings_to_formulas": False, "strings_to_numbers": False}
    with xlsxwriter.Workbook(out, options) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, names)
        for number, each in enumerate(found, 1):
            for column, name in enumerate(names):
                if each.get(name):
                    sheet.write_string(number, column, each[name])
    return out.getvalue()


def as_parquet(found: list[Document]) -> bytes | None:
    """A row for each; none for ready bags of words."""
    if "counts" in found[0]:
        return None
    out = io.BytesIO()
    parquet.write_table(pyarrow.table({name: [each.get(name) for each in found] for name in names_of(found)}), out)
    return out.getvalue()


def as_svmlight(found: list[Document]) -> bytes | None:
    """A line for each ready bag of words; none for texts."""
    if "counts" not in found[0]:
        return None
    lines = []
    for each in found:
        counts = sorted((int(word[1:]), n) for word, n in each["counts"].items())
        lines.append(" ".join([each["label"], *(f"{word}:{n}" for word, n in counts)]) + "\n")
    return "".join(lines).encode()


def compressed(found: list[Document]) -> bytes:
    """The objects, compressed."""
    return gzip.compress(as_ndjson(found), 6)


def names_of(found: list[Document]) -> list[str]:
    """The columns, those of every corpus first."""
    names = dict.fromkeys(itertools.chain.from_iterable(found))
    return [*filter(names.__contains__, NAMES), *(name for name in names if name not in NAMES)]


FORMATS: dict[str, Callable[[list[Document]], bytes | None]] = {
    "ndjson": as_ndjson,
    "ndjson.gz": compressed,
    "csv": as_csv,
    "xlsx": as_xlsx,
    "parquet": as_parquet,
    "svmlight": as_svmlight,
}

if __name__ == "__main__":
    sys.exit(main())
