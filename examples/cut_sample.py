"""Cut the sample corpus from a larger file of labeled abstracts: python examples/cut_sample.py SOURCE.jsonl.gz

SOURCE holds one JSON object a line with `id`, `text` and `label`. The first 200 documents of each label
are taken; of each known subject a fixed random 40 % keep their label, all other labels go to truth.csv.
The source's identifiers were once read as decimal numbers (1709.0116899999998, 1009.394): they are repaired.
"""

import csv
import gzip
import json
import random
import sys
from decimal import Decimal
from pathlib import Path

HERE = Path(__file__).resolve().parent
PER_SUBJECT = 200
LABELED = 80  # of each known subject: 40 %
NEW = {"Plasma physics", "Quantitative finance", "Computational linguistics", "Evolution and ecology"}


def main(source: str) -> None:
    """Write labeled.ndjson, unlabeled.ndjson and truth.csv beside this script."""
    subjects: dict[str, list[dict[str, str]]] = {}
    with gzip.open(source, "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            record["id"] = identifier(record["id"])
            documents = subjects.setdefault(record["label"], [])
            if len(documents) < PER_SUBJECT:
                documents.append(record)
    dice = random.Random(0)
    labeled, unlabeled = [], []
    for subject in sorted(subjects):
        documents = subjects[subject]
        dice.shuffle(documents)
        n_labeled = 0 if subject in NEW else LABELED
        labeled += documents[:n_labeled]
        unlabeled += documents[n_labeled:]
    dice.shuffle(labeled)
    dice.shuffle(unlabeled)
    write_ndjson("labeled.ndjson", [{"key": d["id"], "text": d["text"], "label": d["label"]} for d in labeled])
    write_ndjson("unlabeled.ndjson", [{"key": d["id"], "text": d["text"]} for d in unlabeled])
    with (HERE / "truth.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["key", "label"])
        rows.writerows([d["id"], d["label"]] for d in unlabeled)


def identifier(mangled: str) -> str:
    """An arXiv identifier, arXiv:YYMM and four digits, or five since 2015, from what a decimal number left of it."""
    number = Decimal(mangled.removeprefix("arXiv:"))
    return f"arXiv:{number:.{4 if number < 1500 else 5}f}"


def write_ndjson(name: str, rows: list[dict[str, str]]) -> None:
    """Write one JSON object a line."""
    (HERE / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
