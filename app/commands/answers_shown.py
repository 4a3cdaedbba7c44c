"""Jobs and their answers at a terminal: a bar while one runs, then what it found."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

TOP_WORDS = 5
MOST_NUMBERS = 8  # of new categories, of which the posterior is shown


class JobBar:
    """Within this context a bar shows how far a job is."""

    def __init__(self, console: Console, *, is_shown: bool = True) -> None:
        columns = (
            TextColumn("{task.description:9}"),
            BarColumn(bar_width=30),
            TextColumn("{task.percentage:3.0f} % {task.fields[note]}"),
        )
        self.bar = Progress(*columns, console=console, disable=not is_shown)
        self.task = self.bar.add_task("queued", total=1.0, note="")

    def __enter__(self) -> "JobBar":
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def show(self, job: Mapping[str, Any]) -> None:
        """Show the job as it is."""
        progress = job["progress"]
        stage = "paused" if job["status"] == "paused" else progress["stage"]
        self.bar.update(self.task, description=stage, completed=progress["fraction"], note=escape(note(progress)))


def note(progress: Mapping[str, Any]) -> str:
    """What stands behind the bar."""
    parts = [progress["note"]] if progress["note"] else []
    if progress["n_categories"]:
        parts.append(f"{progress['n_categories']} categories now")
    if progress["sweeps_per_second"]:
        parts.append(f"{progress['sweeps_per_second']:.1f} sweeps per second")
    if progress["seconds_left"]:
        parts.append(f"{progress['seconds_left']:.0f} s left")
    return "· ".join(["", *parts])


def show_answer(console: Console, found: Mapping[str, Any]) -> None:
    """Print what a job found."""
    console.print(f"\n[bold]{escape(found['summary'])}[/bold]")
    show_posterior(console, found["n_new"])
    show_trust(console, found)
    show_categories(console, found["categories"])


def show_posterior(console: Console, posterior: Mapping[str, Any]) -> None:
    """Print how probable each number of new categories is."""
    likeliest = sorted(posterior["frequencies"], key=lambda row: -row["frequency"])[:MOST_NUMBERS]
    likeliest.sort(key=lambda row: row["n_new"])
    shown = ", ".join(f"{row['n_new']}: {row['frequency']:.0%}" for row in likeliest)
    console.print(f"Number of new categories: {shown}.")


def show_trust(console: Console, found: Mapping[str, Any]) -> None:
    """Print how far the chains bear the answer out, if the job's model says so."""
    diagnostics, calibration = found["diagnostics"], found["calibration"]
    if diagnostics is None:
        return
    parts = [f"Verdict: [bold]{diagnostics['verdict']}[/bold]"]
    said = []
    if diagnostics["mean_agreement"] is not None:
        said.append(f"chains agree to {diagnostics['mean_agreement']:.2f}")
    if calibration and calibration["labeling_rate"] is not None:
        said.append(f"{calibration['labeling_rate']:.0%} of the documents of known categories are labeled")
    parts += [", and ".join(said)] if said else []
    console.print("; ".join(parts) + ".")
    for reason in diagnostics["reasons"]:
        console.print(f"  {escape(reason)}")


def show_categories(console: Console, categories: Sequence[Mapping[str, Any]]) -> None:
    """Print one row a category."""
    table = Table("category", "", "documents", "labeled", "top words")
    for category in categories:
        words = ", ".join(word["word"] for word in category["top_words"][:TOP_WORDS])
        kind = "known" if category["known"] else "[green]new[/green]"
        counts = str(category["documents"]), str(category["labeled"])
        table.add_row(escape(category["name"]), kind, *counts, escape(words))
    console.print(table)
