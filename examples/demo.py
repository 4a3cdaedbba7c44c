"""make demo: the embedded service categorizes the sample corpus and is scored against labels kept back.

Everything goes over HTTP, as any client would do it; the service is started and ended here.
"""

import csv
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from app.commands.answers_shown import JobBar, show_answer
from app.commands.embedded import embedded_service
from app.processes.address import AddressError
from app.processes.environment import WrongSetting
from app.processes.folders import FolderInUse
from app.processes.supervisor import ApiEnded, Supervisor, stop_on_signals
from newfound_client import Client, JobNotSucceeded, NewfoundError
from sampler.answers import metrics
from sampler.text import words_of

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "data" / "demo"
JOB: dict[str, Any] = {"name": "demo", "seed": 1}  # all else has a default
SAMPLES = 2  # documents shown of each new category
LOOK_SECONDS = 0.5

console = Console(highlight=False)


def main() -> int:
    """Run the demo; returns the exit code."""
    stop_on_signals()
    console.print(f"Starting the service: an API and workers (logs in {(DATA / 'logs').relative_to(HERE.parent)}).")
    try:
        # Kernels are compiled once for all demos.
        with embedded_service("the demo", DATA, DATA.parent / "kernels", is_fresh=True) as (supervisor, url):
            run(supervisor, Client(url))
    except KeyboardInterrupt:
        console.print("Interrupted; everything that was started has been stopped.")
        return 130
    except (WrongSetting, FolderInUse, ApiEnded, AddressError, NewfoundError) as error:
        console.print(f"The demo cannot run: {error}")
        return 1
    console.print(
        "\nThe service has stopped. `make run` starts one that stays up; its OpenAPI page is http://127.0.0.1:8000/docs"
    )
    return 0


def run(supervisor: Supervisor, client: Client) -> None:
    """Run a job and show its answer. Raises NewfoundError."""
    corpus_id = client.create_corpus("arXiv sample")["id"]
    for name in ("labeled.ndjson", "unlabeled.ndjson"):
        answer = client.upload(corpus_id, HERE / name)
        console.print(f"Uploaded {name}: {answer['accepted']:,} documents, {answer['rejected']} rejected.")
    job = follow(client, supervisor, client.submit(corpus_id, **JOB)["id"])
    if job["status"] != "succeeded":
        raise JobNotSucceeded(job)
    found, documents = client.categories(job["id"]), list(client.documents(job["id"]))
    show_answer(console, found)
    show_samples(found["categories"], documents)
    show_scores(found["categories"], documents)


def follow(client: Client, supervisor: Supervisor, job_id: str) -> Any:
    """The job once it has ended; a bar shows how far it is."""
    with JobBar(console) as bar:
        for job in client.follow(job_id, LOOK_SECONDS):
            supervisor.check()
            bar.show(job)
    return job


def show_samples(categories: Any, documents: list[Any]) -> None:
    """Print titles of documents of each new category: the surest ones, and of these the richest in its top words."""
    for category in categories:
        if category["known"]:
            continue
        top_words = {word["word"] for word in category["top_words"]}
        held = [document for document in documents if document["category"] == category["category"]]
        richness = {document["key"]: len(top_words & set(words_of(document["text"]))) for document in held}
        held.sort(key=lambda document: (-document["probability"], -richness[document["key"]], document["key"]))
        for document in held[:SAMPLES]:
            title = document["text"].partition("\n")[0]
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
