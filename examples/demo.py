"""make demo: the embedded service categorizes the sample corpus and is scored against labels kept back.

Everything goes over HTTP, as any client would do it; the service is started and ended here.
"""

import csv
import json
import os
import shutil
import socket
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from app.core.schema import migrate
from app.processes.address import AddressError
from app.processes.environment import WrongSetting, read_settings
from app.processes.folders import LOCK, PRIVATE_UMASK, FolderInUse, prepare, served_alone
from app.processes.kernel_cache import kernels_are_compiled, prepare_kernel_cache
from app.processes.supervisor import ApiEnded, Supervisor, stop_on_signals
from sampler.answers import metrics
from sampler.text import words_of

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "data" / "demo"
JOB = {"seed": 1}  # all else has a default
SAMPLES = 2  # documents shown of each new category
TOP_WORDS = 5
# For an answer. An upload may wait a minute for the database before the service refuses it, and a slow machine whose
# processors compile kernels needs many times what a quiet one does. No answer in ten minutes is none: the API hangs.
ANSWER_SECONDS = 600.0

console = Console(highlight=False)


class Client:
    """Newfound over HTTP."""

    def __init__(self, address: str) -> None:
        self.address = address

    def call(self, method: str, path: str, body: bytes | None = None, kind: str = "application/json") -> Any:
        """The JSON answer to a request. Raises RuntimeError with the problem if it is refused, or is not answered."""
        request = urllib.request.Request(self.address + path, body, {"Content-Type": kind}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.read().decode()}") from error
        except OSError as error:
            raise RuntimeError(f"{method} {path} was not answered: {error}") from error

    def post(self, path: str, **fields: Any) -> Any:
        """The answer to a JSON body."""
        return self.call("POST", path, json.dumps(fields).encode())

    def pages(self, path: str, name: str) -> list[Any]:
        """All rows of a paged resource."""
        rows, cursor = [], ""
        while True:
            page = self.call("GET", f"{path}?limit=1000{cursor}")
            rows += page[name]
            if page["next"] is None:
                return rows
            cursor = f"&cursor={page['next']}"


def main() -> int:
    """Run the demo; returns the exit code."""
    stop_on_signals()
    os.umask(PRIVATE_UMASK)
    os.environ.setdefault("NUMBA_CACHE_DIR", str(DATA.parent / "kernels"))  # compiled once for all demos
    try:
        prepare("the demo", DATA)
        with served_alone(DATA):
            clear(DATA)
            code = run()
    except KeyboardInterrupt:
        console.print("Interrupted; everything that was started has been stopped.")
        return 130
    except (WrongSetting, FolderInUse, ApiEnded, AddressError) as error:
        console.print(f"The demo cannot run: {error}")
        return 1
    if code == 0:
        console.print(
            "\nThe service has stopped. `make run` starts one that stays up; its OpenAPI page is http://127.0.0.1:8000/docs"
        )
    return code


def run() -> int:
    """Start the service, run a job and show its answer; returns the exit code."""
    settings = read_settings(data_folder=DATA, database_url=None, broker_url=None, host="127.0.0.1", port=free_port())
    prepare_kernel_cache(settings)
    migrate(settings.database)
    client = Client(f"http://{settings.host}:{settings.port}")
    console.print(f"Starting the service: an API and {settings.workers} workers (logs in {relative(DATA / 'logs')}).")
    if not kernels_are_compiled(settings):
        console.print("The workers first compile the sampler: once, for a minute or more. The job waits for that.")
    with Supervisor(settings, log_folder=DATA / "logs") as supervisor:
        supervisor.wait_until_listening()
        corpus_id = upload(client)
        job = follow(client, supervisor, client.post("/v1/jobs", corpus_id=corpus_id, **JOB)["id"])
        if job["status"] != "succeeded":
            console.print(f"The job {job['status']}: {job['error']}")
            return 1
        show(client, job["id"])
    return 0


def clear(folder: Path) -> None:
    """Delete what an earlier demo left, but for the lock that is held."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != LOCK:
            path.unlink()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def relative(path: Path) -> Path:
    """The path as seen from the repository."""
    return path.relative_to(HERE.parent)


def upload(client: Client) -> str:
    """Make a corpus of the sample; returns its id."""
    corpus_id = str(client.post("/v1/corpora", name="arXiv sample")["id"])
    for name in ("labeled.ndjson", "unlabeled.ndjson"):
        answer = client.call(
            "POST", f"/v1/corpora/{corpus_id}/documents", (HERE / name).read_bytes(), "application/x-ndjson"
        )
        console.print(f"Uploaded {name}: {answer['accepted']:,} documents, {answer['rejected']} rejected.")
    return corpus_id


def follow(client: Client, supervisor: Supervisor, job_id: str) -> Any:
    """Poll the job, showing how far it is, until it ends; returns it."""
    columns = (
        TextColumn("{task.description:9}"),
        BarColumn(bar_width=30),
        TextColumn("{task.percentage:3.0f} % {task.fields[note]}"),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("queued", total=1.0, note="")
        while True:
            supervisor.check()
            job = client.call("GET", f"/v1/jobs/{job_id}")
            progress = job["progress"]
            bar.update(task, description=progress["stage"], completed=progress["fraction"], note=note(progress))
            if job["status"] not in ("queued", "running"):
                return job
            time.sleep(0.5)


def note(progress: Any) -> str:
    """What stands behind the bar."""
    parts = [progress["note"]] if progress["note"] else []
    if progress["n_categories"]:
        parts.append(f"{progress['n_categories']} categories now")
    if progress["sweeps_per_second"]:
        parts.append(f"{progress['sweeps_per_second']:.1f} sweeps per second")
    if progress["seconds_left"]:
        parts.append(f"{progress['seconds_left']:.0f} s left")
    return "· ".join(["", *parts])


def show(client: Client, job_id: str) -> None:
    """Print what the job found and how good it is."""
    found = client.call("GET", f"/v1/jobs/{job_id}/categories")
    documents = client.pages(f"/v1/jobs/{job_id}/documents", "documents")
    console.print(f"\n[bold]{found['summary']}[/bold]")
    show_posterior(found["n_new"])
    show_trust(found)
    show_categories(found["categories"])
    show_samples(found["categories"], documents)
    show_scores(found["categories"], documents)


def show_posterior(posterior: Any) -> None:
    """Print how probable each number of new categories is."""
    likeliest = sorted(posterior["frequencies"], key=lambda row: -row["frequency"])[:8]
    likeliest.sort(key=lambda row: row["n_new"])
    shown = ", ".join(f"{row['n_new']}: {row['frequency']:.0%}" for row in likeliest)
    console.print(f"Number of new categories: {shown}.")


def show_trust(found: Any) -> None:
    """Print how far the chains bear the answer out."""
    diagnostics, calibration = found["diagnostics"], found["calibration"]
    console.print(
        f"Verdict: [bold]{diagnostics['verdict']}[/bold]; chains agree to {diagnostics['mean_agreement']:.2f}, and "
        f"{calibration['labeling_rate']:.0%} of the documents of known categories are labeled."
    )
    for reason in diagnostics["reasons"]:
        console.print(f"  {reason}")


def show_categories(categories: Any) -> None:
    """Print one row a category."""
    table = Table("category", "", "documents", "labeled", "top words")
    for category in categories:
        words = ", ".join(word["word"] for word in category["top_words"][:TOP_WORDS])
        kind = "known" if category["known"] else "[green]new[/green]"
        table.add_row(category["name"], kind, str(category["documents"]), str(category["labeled"]), words)
    console.print(table)


def show_samples(categories: Any, documents: Any) -> None:
    """Print titles of documents of each new category: the surest ones, and of these the richest in its top words."""
    lines = (HERE / "unlabeled.ndjson").read_text(encoding="utf-8").splitlines()
    texts = {row["key"]: row["text"] for row in map(json.loads, lines)}
    for category in categories:
        if category["known"]:
            continue
        top_words = {word["word"] for word in category["top_words"]}
        held = [document for document in documents if document["category"] == category["category"]]
        richness = {key: len(top_words & set(words_of(texts[key]))) for key in (document["key"] for document in held)}
        held.sort(key=lambda document: (-document["probability"], -richness[document["key"]], document["key"]))
        for document in held[:SAMPLES]:
            title = texts[document["key"]].partition("\n")[0]
            console.print(f"[green]{category['name']}[/green] {document['key']} {title}")


def show_scores(categories: Any, documents: Any) -> None:
    """Print the scores against the labels that the sample kept back."""
    with (HERE / "truth.csv").open(encoding="utf-8", newline="") as file:
        truth = {row["key"]: row["label"] for row in csv.DictReader(file)}
    answered = [document for document in documents if document["category"] is not None]
    true = [truth[document["key"]] for document in answered]
    given = [document["name"] for document in answered]
    known = [category["name"] for category in categories if category["known"]]
    scores = {
        "NMI": metrics.nmi(true, given),
        "ARI": metrics.ari(true, given),
        "mean F1 of the known categories": metrics.mean_f1(true, given, known),
    }
    shown = ", ".join(f"{name} {score:.3f}" for name, score in scores.items())
    console.print(f"\n[bold]Compared with the labels that were held back[/bold] ({len(answered):,} documents): {shown}")


if __name__ == "__main__":
    sys.exit(main())
