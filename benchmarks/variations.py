"""Problems made up of the data sets: python -m benchmarks.variations --data DIR --output DIR

Other choices of categories, of known ones among them and of labels than in DIR/problems.json, small and skewed corpora,
siblings, many new categories beside few known ones, and some with no new category at all. Then, named after what they
were made of, some with the mess that real corpora have (see `benchmarks.mess`): copies, uneven labels, few labels,
short texts among long ones. The output folder is one that `benchmarks.quality --data` takes.
"""

import argparse
import gzip
import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

FEWEST = 15  # documents of a category of a skewed corpus
NO_CATEGORY = "oos"  # clinc150's documents that are out of scope


class Subset(NamedTuple):
    """A smaller corpus: at most so many documents of each category, chosen at random; very unequal if skewed."""

    name: str
    dataset: str
    most: int
    is_skewed: bool
    seed: int


class Variation(NamedTuple):
    """A choice of categories, the first ones known."""

    name: str
    dataset: str
    n_categories: int
    n_known: int
    labeled: float  # share of each known category's documents
    seed: int
    fewest: int = 20  # documents of a category that may be chosen


SUBSETS = (
    Subset("20ng-s100", "20ng", 100, False, 1),
    Subset("bbc-s60", "bbc", 60, False, 1),
    Subset("arxiv-s100", "sample_source", 100, False, 1),
    Subset("tdt2-s60", "tdt2", 60, False, 2),
    Subset("20ng-skew", "20ng", 800, True, 3),
    Subset("arxiv-skew", "sample_source", 385, True, 3),
)

VARIATIONS = (
    Variation("20ng-4-2a", "20ng", 4, 2, 0.4, 0),
    Variation("20ng-4-2b", "20ng", 4, 2, 0.4, 1),
    Variation("20ng-4-2c", "20ng", 4, 2, 0.4, 2),
    Variation("20ng-6-3a", "20ng", 6, 3, 0.4, 0),
    Variation("20ng-6-3b", "20ng", 6, 3, 0.4, 1),
    Variation("20ng-10-5", "20ng", 10, 5, 0.4, 1),
    Variation("20ng-10-5-few-labels", "20ng", 10, 5, 0.1, 2),
    Variation("20ng-20-15", "20ng", 20, 15, 0.4, 1),
    Variation("20ng-20-5", "20ng", 20, 5, 0.3, 2),
    Variation("20ng-5-1", "20ng", 5, 1, 0.4, 3),
    Variation("20ng-8-8", "20ng", 8, 8, 0.4, 4),
    Variation("bbc-5-5", "bbc", 5, 5, 0.4, 4),
    Variation("arxiv-6-6", "sample_source", 6, 6, 0.2, 4),
    Variation("arxiv-10-5a", "sample_source", 10, 5, 0.4, 0),
    Variation("arxiv-10-5b", "sample_source", 10, 5, 0.4, 1),
    Variation("arxiv-10-3", "sample_source", 10, 3, 0.4, 5),
    Variation("arxiv-10-8", "sample_source", 10, 8, 0.4, 5),
    Variation("arxiv-10-6-few-labels", "sample_source", 10, 6, 0.1, 6),
    Variation("arxiv-4-2a", "sample_source", 4, 2, 0.4, 0),
    Variation("arxiv-4-2b", "sample_source", 4, 2, 0.4, 1),
    Variation("arxiv-7-4", "sample_source", 7, 4, 0.3, 5),
    Variation("tdt2-10-5", "tdt2", 10, 5, 0.4, 1),
    Variation("tdt2-30-25", "tdt2", 30, 25, 0.4, 2),
    Variation("tdt2-30-6", "tdt2", 30, 6, 0.4, 3),
    Variation("searchsnippets-8-4a", "searchsnippets", 8, 4, 0.4, 0),
    Variation("searchsnippets-8-4b", "searchsnippets", 8, 4, 0.4, 1),
    Variation("searchsnippets-5-3", "searchsnippets", 5, 3, 0.2, 4),
    Variation("reuters-10-5", "reuters52", 10, 5, 0.4, 1, 90),
    Variation("reuters-30-20", "reuters52", 30, 20, 0.4, 2),
    Variation("clinc150-20-10", "clinc150", 20, 10, 0.4, 1),
    Variation("clinc150-50-25", "clinc150", 50, 25, 0.4, 2),
    Variation("clinc150-20-15", "clinc150", 20, 15, 0.2, 3),
    Variation("googlenews-50-25", "googlenews", 50, 25, 0.4, 1),
    Variation("googlenews-20-10", "googlenews", 20, 10, 0.2, 2),
    Variation("bbc-5-3a", "bbc", 5, 3, 0.4, 0),
    Variation("bbc-5-3b", "bbc", 5, 3, 0.4, 1),
    Variation("bbc-5-2-few-labels", "bbc", 5, 2, 0.1, 7),
    Variation("20ng-s100-10-5", "20ng-s100", 10, 5, 0.4, 1),
    Variation("20ng-s100-6-3", "20ng-s100", 6, 3, 0.4, 2),
    Variation("bbc-s60-5-3", "bbc-s60", 5, 3, 0.4, 1),
    Variation("arxiv-s100-10-5", "arxiv-s100", 10, 5, 0.4, 1),
    Variation("tdt2-s60-20-10", "tdt2-s60", 20, 10, 0.4, 1),
    Variation("20ng-skew-12-6", "20ng-skew", 12, 6, 0.4, 1, FEWEST),
    Variation("20ng-skew-20-10", "20ng-skew", 20, 10, 0.4, 2, FEWEST),
    Variation("arxiv-skew-10-5", "arxiv-skew", 10, 5, 0.4, 1, FEWEST),
    Variation("clinc150-25-5", "clinc150", 25, 5, 0.4, 8),
    Variation("googlenews-40-5", "googlenews", 40, 5, 0.4, 8),
    Variation("reuters-25-5", "reuters52", 25, 5, 0.4, 8),
    Variation("tdt2-27-5", "tdt2", 27, 5, 0.4, 8),
    Variation("clinc150-40-27", "clinc150", 40, 27, 0.4, 8),
)

# Categories that look alike, the first ones known.
SIBLINGS = {
    "20ng-computers": ("20ng", 2, ("comp.graphics", "comp.sys.mac.hardware", "comp.windows.x",
                                   "comp.sys.ibm.pc.hardware", "comp.os.ms-windows.misc")),
    "20ng-belief": ("20ng", 3, ("alt.atheism", "talk.politics.guns", "talk.politics.mideast",
                                "soc.religion.christian", "talk.religion.misc", "talk.politics.misc")),
    "20ng-play": ("20ng", 2, ("rec.autos", "rec.sport.baseball", "rec.motorcycles", "rec.sport.hockey")),
}  # fmt: skip

# What is made of some of the variations, by the end of a problem's name.
COPIES = {
    "copies-10": {"copies": {"share": 0.1, "times": 1, "near": False}},
    "copies-30": {"copies": {"share": 0.3, "times": 1, "near": False}},
    "copies-all": {"copies": {"share": 1.0, "times": 1, "near": False}},
    "near-30": {"copies": {"share": 0.3, "times": 1, "near": True}},
    "near-all": {"copies": {"share": 1.0, "times": 1, "near": True}},
    "few-many-times": {"copies": {"share": 0.02, "times": 30, "near": False}},
}
FEW_LABELS = {f"labels-{n}": {"labels": n} for n in (1, 2, 3)}
LENGTHS = {"cut-half": {"cut": {"share": 0.5, "most": 8}}, "cut-some": {"cut": {"share": 0.1, "most": 3}}}
MESS = {
    "arxiv-10-5a": COPIES | FEW_LABELS | LENGTHS,
    "bbc-5-3a": COPIES | FEW_LABELS | LENGTHS,
    "tdt2-10-5": COPIES | FEW_LABELS,
    "clinc150-20-10": COPIES | FEW_LABELS,
    "20ng-4-2a": COPIES | FEW_LABELS | LENGTHS,
}
UNEVEN = ("arxiv-10-5a", "arxiv-10-8", "bbc-5-3a", "tdt2-10-5", "clinc150-20-10", "20ng-10-5", "reuters-10-5")
LOWEST_RATE, HIGHEST_RATE = 0.05, 0.6

Definition = dict[str, Any]  # of a problem, as `benchmarks.problems` reads it
Lines = dict[str, list[str]]  # of each category


def main() -> None:
    """Write all variations, and the data sets that they are of."""
    parser = argparse.ArgumentParser(prog="benchmarks.variations", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with data sets")
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    sizes = {}
    for name in sorted({subset.dataset for subset in SUBSETS} | {variation.dataset for variation in VARIATIONS}):
        if name not in {subset.name for subset in SUBSETS}:
            lines = read(arguments.data / f"{name}.jsonl.gz")
            sizes[name] = {label: len(held) for label, held in lines.items()}
            write(arguments.output / f"{name}.jsonl.gz", lines)
    for subset in SUBSETS:
        lines = chosen(read(arguments.data / f"{subset.dataset}.jsonl.gz"), subset)
        sizes[subset.name] = {label: len(held) for label, held in lines.items()}
        write(arguments.output / f"{subset.name}.jsonl.gz", lines)
    problems = {variation.name: defined(variation, sizes[variation.dataset]) for variation in VARIATIONS}
    problems |= {name: siblings(*chosen) for name, chosen in SIBLINGS.items()}
    for name, made in MESS.items():
        problems |= {f"{name}+{end}": problems[name] | mess for end, mess in made.items()}
    for name in UNEVEN:
        problems |= uneven(name, problems[name], sizes[problems[name]["dataset"]])
    (arguments.output / "problems.json").write_text(json.dumps(problems, indent=1), encoding="utf-8")


def read(path: Path) -> Lines:
    """The lines of a data set by category."""
    found = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            found[json.loads(line)["label"]].append(line)
    return found


def write(path: Path, lines: Lines) -> None:
    """Write a data set."""
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
        for held in lines.values():
            file.writelines(held)


def chosen(lines: Lines, subset: Subset) -> Lines:
    """The documents of a subset."""
    dice = random.Random(subset.seed)
    found = {}
    for label in sorted(lines):
        n_documents = int(subset.most * dice.random() ** 2) + FEWEST if subset.is_skewed else subset.most
        dice.shuffle(lines[label])
        found[label] = lines[label][:n_documents]
    return found


def siblings(dataset: str, n_known: int, labels: tuple[str, ...]) -> Definition:
    """A problem of categories that look alike."""
    return {"dataset": dataset, "known": labels[:n_known], "new": labels[n_known:], "train_fraction": 0.4}


def uneven(name: str, base: Definition, sizes: dict[str, int]) -> dict[str, Definition]:
    """Two problems with as many labels: each category labeled at a rate of its own, and all at the same one."""
    known = base["known"]
    order = random.Random(name).sample(range(len(known)), len(known))
    step = (HIGHEST_RATE / LOWEST_RATE) ** (1 / (len(known) - 1))
    rates = {label: round(LOWEST_RATE * step ** order[k], 3) for k, label in enumerate(known)}
    same = sum(rates[label] * sizes[label] for label in known) / sum(sizes[label] for label in known)
    return {f"{name}+uneven": base | {"rates": rates}, f"{name}+even": base | {"train_fraction": same}}


def defined(variation: Variation, sizes: dict[str, int]) -> Definition:
    """The problem of a variation; `sizes` are the documents of each category."""
    dice = random.Random(variation.seed * 1000 + variation.n_categories * 10 + variation.n_known)
    offered = sorted(label for label, n in sizes.items() if n >= variation.fewest and label != NO_CATEGORY)
    labels = dice.sample(offered, min(variation.n_categories, len(offered)))
    return {
        "dataset": variation.dataset,
        "known": labels[: variation.n_known],
        "new": labels[variation.n_known :],
        "train_fraction": variation.labeled,
    }


if __name__ == "__main__":
    main()
