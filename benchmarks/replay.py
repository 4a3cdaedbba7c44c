"""A dated corpus, week by week, through the whole service: python -m benchmarks.replay --data DIR [--stack STACK]

The documents of tdt2-20 arrive by their dates in eight parts; the fifth begins with the day on which two stories break
that nobody has named (FIRST_LATE_DAY), so that their categories appear there alone. Each part is uploaded over HTTP,
and a job continues the one before; beside it a whole job runs over the same version of the corpus. One JSON line a
part: scores of both by the gold labels, the new stories that each has noticed, what became of the categories of the
part before, and the seconds that workers have worked for each job.
"""

import argparse
import gzip
import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import func, select

from app.core.tables import Unit
from benchmarks.load.service import STACKS, Service
from benchmarks.problems import MIN_DOCUMENT_FREQUENCY, as_text
from newfound_client import Client
from sampler.answers import metrics

PROBLEM = "tdt2-20"
FIRST_LATE_PART, FIRST_LATE_DAY = 5, "1998-03-19"
N_EARLY, N_LATE = 4, 4  # parts before and from that day on, each of as many documents as the others
NOTICED = 0.5  # Jaccard index of a new category with a story from which on that is noticed
TEXT = {"stop_words": "none", "min_document_frequency": MIN_DOCUMENT_FREQUENCY}

Document = dict[str, Any]


class Stories(NamedTuple):
    """The dated documents, in the order of their dates, and the categories that have no label."""

    documents: list[Document]  # key text date label(None if it is not told) story
    new: list[str]


def main() -> None:
    """Replay the corpus, and print the figures of each part as it is done."""
    parser = argparse.ArgumentParser(prog="benchmarks.replay", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with problems.json and data sets")
    parser.add_argument("--split", type=int, default=0, help="random choice of labeled documents")
    parser.add_argument("--stack", choices=STACKS, default="embedded")
    arguments = parser.parse_args()
    stories = read(arguments.data, arguments.split)
    service = Service(arguments.stack, 1, {})
    try:
        service.start()
        for line in replay(service, stories):
            print(json.dumps(line), flush=True)
    finally:
        service.close()


def read(folder: Path, split: int) -> Stories:
    """The dated documents of the problem, under one random choice of the labeled ones."""
    definition = json.loads((folder / "problems.json").read_text(encoding="utf-8"))[PROBLEM]
    dice, wanted = random.Random(split), {*definition["known"], *definition["new"]}
    documents = []
    with gzip.open(folder / f"{definition['dataset']}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["label"] in wanted:
                is_told = row["label"] in definition["known"] and dice.random() < definition["train_fraction"]
                told = {"key": row["id"], "date": row["date"], "label": row["label"] if is_told else None}
                documents.append({**told, "text": as_text(row["counts"]), "story": row["label"]})
    return Stories(sorted(documents, key=lambda each: (each["date"], each["key"])), definition["new"])


def parts_of(documents: list[Document]) -> list[list[Document]]:
    """The documents of each part."""
    n_early = sum(each["date"] < FIRST_LATE_DAY for each in documents)
    early, late = np.arange(n_early), np.arange(n_early, len(documents))
    return [[documents[d] for d in some] for some in (*np.array_split(early, N_EARLY), *np.array_split(late, N_LATE))]


def replay(service: Service, stories: Stories) -> Iterator[dict[str, Any]]:
    """The figures of each part."""
    client = Client(f"http://127.0.0.1:{service.port}")
    corpus_id = client.create_corpus("a replay")["id"]
    there: dict[str, Document] = {}
    before: str | None = None
    for number, part in enumerate(parts_of(stories.documents), start=1):
        client.upload(corpus_id, [{name: each[name] for name in ("key", "text", "label", "date")} for each in part])
        there |= {each["key"]: each for each in part}
        whole = client.wait(client.submit(corpus_id, text=TEXT)["id"])["id"]
        job_id = whole if before is None else client.wait(client.continue_job(before)["id"])["id"]
        compared = {} if before is None else client.compare(job_id, before)["counts"]
        yield {
            "part": number,
            "days": [part[0]["date"], part[-1]["date"]],
            "documents": len(there),
            **figures(client, job_id, there, stories.new),
            "whole_job": figures(client, whole, there, stories.new),
            "categories_of_part_before": compared,
            "seconds": worked(service, job_id),
            "seconds_of_whole_job": worked(service, whole),
        }
        before = job_id


def figures(client: Client, job_id: str, there: Mapping[str, Document], new: list[str]) -> dict[str, Any]:
    """What a job answers, by the gold labels."""
    categories = {each["category"]: each for each in client.categories(job_id)["categories"]}
    answers = [(there[each["key"]]["story"], each["category"]) for each in client.documents(job_id)]
    scored = [(story, category) for story, category in answers if category is not None]
    stories, found = (np.unique(column, return_inverse=True) for column in zip(*scored, strict=True))
    return {
        "K": sum(each["documents"] > 0 for each in categories.values()),
        "K_true": stories[0].size,
        "NMI": round(metrics.nmi(stories[1], found[1]), 3),
        "ARI": round(metrics.ari(stories[1], found[1]), 3),
        "noticed": [story for story in new if is_noticed(story, scored, categories)],
    }


def is_noticed(story: str, scored: list[tuple[str, int]], categories: Mapping[int, Any]) -> bool:
    """Whether a new category has most of a story's documents, and few others."""
    of_story = np.array([each == story for each, _ in scored])
    answered = np.array([category for _, category in scored])
    for category in np.unique(answered[of_story]):
        shared, size = np.count_nonzero(of_story & (answered == category)), np.count_nonzero(answered == category)
        is_new = not categories[int(category)]["known"]
        if is_new and 2 * shared > of_story.sum() and shared >= NOTICED * (of_story.sum() + size - shared):
            return True
    return False


def worked(service: Service, job_id: str) -> dict[str, float]:
    """Seconds that workers have worked for a job, by the kind of unit, and in all."""
    with service.database.readers.begin() as session:
        rows = session.execute(
            select(Unit.kind, func.sum(Unit.seconds)).where(Unit.job_id == job_id).group_by(Unit.kind)
        ).all()
    seconds = {kind: round(float(total), 1) for kind, total in rows}
    return {**seconds, "all": round(sum(seconds.values()), 1)}


if __name__ == "__main__":
    main()
