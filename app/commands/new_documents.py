"""New documents, categorized by the frozen model of a job or by one that is a file."""

import argparse
import csv
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from app.commands.refusals import LABELS, MOST_ROWS, READING, given, refused_file, say, warn_of_rows
from app.commands.usage import is_file
from newfound_client import Client, Refused
from newfound_client.files import LINE_FORMATS

LONGEST_CELL = 2**31 - 1  # bytes, of a column that a document came with
UNUSABLE = "the row cannot be used"

Json = dict[str, Any]


def write_new(client: Client, parsed: argparse.Namespace, told: Console, file: BinaryIO) -> Json:
    """Write what a model says of the documents of a file to another; returns how far the model's documents drift."""
    [path] = parsed.files
    chosen = LINE_FORMATS[parsed.out.suffix.lower()]
    with model(client, parsed.frozen) as frozen:
        told.print(f"Categorizing {escape(str(path))}")
        try:
            client.categorize_to(frozen, path, file, chosen, bom=chosen == "csv", **given(parsed, *READING, *LABELS))
        except Refused as error:
            raise refused_file(path, error) from error
        return client.drift(frozen)


def report_of(parsed: argparse.Namespace, drift: Json) -> Json:
    """What there is to report of the answers that have been written; what may be wrong is said."""
    day = drift["days"][-1] if drift["days"] else None
    report = {**counted(rows_of(parsed.out)), "expected_novel": drift["expected"], "today": day}
    warn(parsed.files[0], report)
    return report


@contextmanager
def model(client: Client, frozen: str) -> Iterator[str]:
    """Within this context the service has the model; its id, or that of its job. One that was a file goes again."""
    if not is_file(frozen):
        yield frozen
        return
    imported = client.import_model(frozen, Path(frozen).name)["id"]
    try:
        yield imported
    finally:
        client.delete_model(imported)


def rows_of(path: Path) -> Iterator[Json]:
    """The answers in a file, with the names that a table of them has."""
    read = from_csv if LINE_FORMATS[path.suffix.lower()] == "csv" else from_ndjson
    with path.open(encoding="utf-8-sig", newline="") as file:
        yield from read(file)


def from_csv(file: TextIO) -> Iterator[Json]:
    """The answers in a table."""
    csv.field_size_limit(LONGEST_CELL)
    for row in csv.DictReader(file):
        flags = {name: row[name] == "true" for name in ("novel", "known")}
        yield {**row, **flags, "line": int(row["line"])}


def from_ndjson(file: TextIO) -> Iterator[Json]:
    """The answers in lines of JSON."""
    for line in file:
        row = json.loads(line)
        yield {**row, "category": row.get("name"), "novel": row.get("novel", False)}


def counted(rows: Iterator[Json]) -> Json:
    """How many answers there are of each category, how many documents are novel, and which rows cannot be used."""
    sizes: Counter[tuple[str, bool]] = Counter()
    n_documents = n_novel = n_unusable = 0
    errors: list[Json] = []
    for row in rows:
        if (row["reason"] or "").startswith(UNUSABLE):
            n_unusable += 1
            errors += [{"line": row["line"], "reason": row["reason"]}] if n_unusable <= MOST_ROWS else []
            continue
        n_documents += 1
        n_novel += bool(row["novel"])
        if row["category"]:
            sizes[row["category"], row["known"]] += 1
    categories = [{"name": name, "known": known, "documents": size} for (name, known), size in sizes.most_common()]
    without = n_documents - sizes.total()
    return {
        "documents": n_documents,
        "categories": categories,
        "without_evidence": without,
        "novel": n_novel,
        "rejected": n_unusable,
        "errors": errors,
    }


def warn(path: Path, report: Json) -> None:
    """Say which rows cannot be used, and that a model may be out of date."""
    warn_of_rows(path, report["rejected"], report["errors"])
    day = report["today"]
    if day is not None and day["alarm"]:
        say(
            f"warning: {day['share']:.0%} of the documents that this model categorized on {day['day']} are novel, more "
            f"than the {day['level']:.0%} that chance explains: a new job may be due"
        )


def show_new(console: Console, report: Json, out: Path) -> None:
    """Print how many new documents went where."""
    table = Table("category", "", "documents")
    for category in report["categories"]:
        kind = "known" if category["known"] else "[green]new[/green]"
        table.add_row(escape(category["name"]), kind, str(category["documents"]))
    console.print(table)
    if report["without_evidence"]:
        console.print(f"Without a word that the model knows: {report['without_evidence']:,}.")
    expected = report["expected_novel"]
    console.print(f"Novel, like none of the categories: {report['novel']:,}; {expected:.0%} are expected.")
    console.print(f"{report['documents']:,} answers are in {escape(str(out))}", soft_wrap=True)
