"""Names without labels: do the new categories of an answer take the names that describe them?

`python -m benchmarks.descriptions --data DIR [--vectors FOLDER] [PROBLEM ...]` runs a job over each problem whose
categories have names that say something, with all defaults, on split 0, or `--split` another one. The answer is given
the names of all true new categories, those in GLOSSES with a few words, and five names of others. It prints a JSON line
a problem and one of all: of the new categories how many are named, and how many of these as most of their documents are
of; of the five others how many fit none; and for each band of probabilities how many pairs it has, their mean and the
share of these that are right.

With `--vectors` it is told the same with vectors: FOLDER/DATASET.npz has `ids` and `vectors` of the documents of a data
set, FOLDER/names.npz `texts` and `vectors` of all names. `--texts` prints these texts as JSON and does nothing else.
"""

import argparse
import gzip
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from app.core.category_names import spelled_out
from benchmarks import calibrated, problems
from benchmarks.problems import Problem
from sampler.answers.descriptions import Fit, Scores, fit, learn, vector_scores, word_scores
from sampler.answers.words import group_words, word_counts
from sampler.copies import Texts, texts_from
from sampler.corpus import NO_CATEGORY, UNLABELED, Array
from sampler.numerics.threads import Threads
from sampler.text import TextOptions
from sampler.text.reader import Reader
from sampler.vectors import axes_of, no_moments, projected, with_vectors

NAMED = (
    *("bbc-5", "searchsnippets-8", "clinc150-75", "reuters-r8", "reuters-20", "20ng-20way"),
    *(f"20ng-{kind}{number}" for kind in "DE" for number in range(1, 5)),
)
N_OTHERS = 5
OTHERS = ("gardening", "cooking recipes", "wedding planning", "fishing", "opera")  # of no data set
BANDS = (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 1.01)

# What somebody would say of categories whose names are codes.
GLOSSES = {
    "comp.graphics": "computer graphics, images and rendering",
    "comp.os.ms-windows.misc": "Microsoft Windows operating system",
    "comp.sys.ibm.pc.hardware": "IBM PC hardware, drives and controllers",
    "comp.sys.mac.hardware": "Apple Macintosh hardware",
    "comp.windows.x": "X window system",
    "rec.autos": "cars and driving",
    "rec.motorcycles": "motorcycles and riding bikes",
    "rec.sport.baseball": "baseball games and players",
    "rec.sport.hockey": "ice hockey teams and games",
    "sci.crypt": "encryption and cryptography",
    "sci.electronics": "electronics and circuits",
    "sci.med": "medicine, diseases and doctors",
    "sci.space": "space flight and astronomy",
    "talk.politics.guns": "gun control and firearms",
    "talk.politics.mideast": "politics of the Middle East, Israel and Arabs",
    "talk.politics.misc": "politics and government in general",
    "talk.religion.misc": "religion, Christianity and the Bible",
    "alt.atheism": "atheism and God",
    "misc.forsale": "things for sale",
    "soc.religion.christian": "Christian faith and church",
    "acq": "acquisitions and mergers of companies",
    "earn": "earnings, net profit and dividends",
    "crude": "crude oil",
    "money-fx": "foreign exchange and currency, dollar",
    "money-supply": "money supply",
    "ship": "shipping and vessels",
    "gnp": "gross national product, economic growth",
    "cpi": "consumer prices, inflation",
    "jobs": "unemployment and jobs",
    "ipi": "industrial production",
    "nat-gas": "natural gas",
    "veg-oil": "vegetable oil",
    "bop": "balance of payments, current account",
    "iron-steel": "iron and steel",
    "reserves": "foreign reserves",
}


class Solved(NamedTuple):
    """An answer to a problem."""

    texts: Texts
    category: Array  # int64[T], of each text
    n_categories: int


class Asked(NamedTuple):
    """The names that an answer is given: those of the known categories, of the true new ones, and of others."""

    names: list[str]
    n_known: int
    n_true: int

    @property
    def texts(self) -> list[str]:
        """Each name, and what is said of those that nobody has labeled."""
        glosses = [GLOSSES.get(name, "") if j >= self.n_known else "" for j, name in enumerate(self.names)]
        return [f"{spelled_out(name)} {gloss}".strip() for name, gloss in zip(self.names, glosses, strict=True)]


class Measured(NamedTuple):
    """How the new categories of an answer were named."""

    n_new: int
    n_named: int
    n_right: int
    n_others_none: int  # of N_OTHERS
    probability: Array  # float64[...], of all pairs of a new category and a description
    is_right: Array  # bool[...], whether most documents of the category are of the one described

    def line(self) -> dict[str, Any]:
        """As JSON."""
        return {"new": self.n_new, "named": self.n_named, "right": self.n_right, "others none": self.n_others_none}


def asked_of(folder: Path, problem: Problem) -> Asked:
    """The names for a problem; the others are labels of its data set that it leaves out, if there are enough."""
    definitions = json.loads((folder / "problems.json").read_text(encoding="utf-8"))
    labels = json.loads((folder / "label_counts.json").read_text(encoding="utf-8"))
    left_out = [label for label in labels[definitions[problem.name]["dataset"]] if label not in {*problem.names, "oos"}]
    chosen = np.random.default_rng(1).permutation(left_out)[:N_OTHERS].tolist()
    others = [*map(str, chosen), *OTHERS][:N_OTHERS]
    return Asked([*problem.names, *others], problem.corpus.n_known, len(problem.names))


def solve(problem: Problem) -> Solved:
    """What a job with all defaults answers."""
    texts = texts_from(problem.corpus, problem.copy_of)
    with Threads() as threads:
        found = calibrated.run(texts, 0, threads, {}).conclusion.consensus
    return Solved(texts, found.category, found.n_categories)


def bags(problem: Problem, texts: Sequence[str]) -> csr_array:
    """int64[J, V]: texts as bags of words of the problem's vocabulary."""
    labels = [
        None if label == UNLABELED else problem.names[label]
        for label in np.where(problem.corpus.labels == UNLABELED, UNLABELED, problem.truth).tolist()
    ]
    encoded = problems.encode_by_length(problem.texts, labels, has_stop_words=True)
    reader = Reader(encoded.vocabulary, TextOptions(), encoded.facts)
    rows = np.zeros((len(texts), len(encoded.vocabulary)), np.int64)
    for row, text in zip(rows, texts, strict=True):
        reading = reader.read(text)
        row[reading.words] = reading.counts
    return csr_array(rows)


def of_vectors(folder: Path, vectors: Path, problem: Problem, solved: Solved, asked: Asked) -> Array:
    """The evidence of the vectors of documents and names."""
    dataset = json.loads((folder / "problems.json").read_text(encoding="utf-8"))[problem.name]["dataset"]
    stored = np.load(vectors / f"{dataset}.npz")
    of_id = dict(zip(map(str, stored["ids"]), stored["vectors"], strict=True))
    with gzip.open(folder / f"{dataset}.jsonl.gz", "rt", encoding="utf-8") as lines:
        of_text = {document["text"]: of_id[str(document["id"])] for document in map(json.loads, lines)}
    own = np.stack([of_text[problem.texts[first]] for first in solved.texts.first.tolist()])
    axes = axes_of(with_vectors(no_moments(own.shape[1]), own))
    places, has_category = projected(own, axes).astype(np.float64), solved.category != NO_CATEGORY
    sums = np.zeros((solved.n_categories, places.shape[1]))
    np.add.at(sums, solved.category[has_category], places[has_category])
    names = np.load(vectors / "names.npz")
    of_name = dict(zip(names["texts"].tolist(), names["vectors"], strict=True))
    return vector_scores(sums, projected(np.stack([of_name[text] for text in asked.texts]), axes))


def scores_of(problem: Problem, solved: Solved, asked: Asked, vectors: Array | None) -> Scores:
    """The evidence about all pairs of a category and a name."""
    words = group_words(word_counts(solved.texts.corpus), solved.category, solved.n_categories)
    found = word_scores(words, bags(problem, asked.texts))
    return Scores(found, np.zeros_like(found) if vectors is None else vectors)


def matched(scores: Scores, n_known: int) -> Fit:
    """The match as a job makes it."""
    learned = learn(scores.part(slice(None), slice(n_known)))
    return fit(scores.part(slice(n_known, None), slice(n_known, None)), learned)


def measure(problem: Problem, solved: Solved, asked: Asked, found: Fit) -> Measured:
    """How right a match is; a category is what most of its texts are of."""
    held = np.zeros((solved.n_categories, len(problem.names)), np.int64)
    has_category = solved.category != NO_CATEGORY
    np.add.at(held, (solved.category[has_category], problem.truth[solved.texts.first[has_category]]), 1)
    most = held[asked.n_known :].argmax(axis=1)
    of_name = np.arange(asked.n_known, len(asked.names))
    is_right = most[:, None] == of_name
    named = np.flatnonzero(found.category != NO_CATEGORY)
    n_right = int(is_right[found.category[named], named].sum())
    n_none = int((found.category[of_name >= asked.n_true] == NO_CATEGORY).sum())
    return Measured(most.size, named.size, n_right, n_none, found.probability.ravel(), is_right.ravel())


def bands(measured: Sequence[Measured]) -> list[dict[str, Any]]:
    """How probable pairs are, and how many of these are right."""
    probability = np.concatenate([each.probability for each in measured])
    is_right = np.concatenate([each.is_right for each in measured])
    found = []
    for low, high in pairwise(BANDS):
        within = (probability >= low) & (probability < high)
        if within.any():
            mean, share = (round(float(column[within].mean()), 3) for column in (probability, is_right))
            found.append({"from": low, "pairs": int(within.sum()), "mean": mean, "right": share})
    return found


def total(measured: Sequence[Measured]) -> dict[str, Any]:
    """All problems in a line."""
    sums = {name: sum(each.line()[name] for each in measured) for name in measured[0].line()}
    return {**sums, "bands": bands(measured)}


def main() -> None:
    """Print what the problems give."""
    parser = argparse.ArgumentParser(prog="benchmarks.descriptions", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--split", type=int, default=0)
    parser.add_argument("--texts", action="store_true")
    parser.add_argument("problems", nargs="*", default=NAMED)
    arguments = parser.parse_args()
    posed = [problems.read(arguments.data, name, arguments.split) for name in arguments.problems]
    if arguments.texts:
        print(json.dumps(sorted({text for each in posed for text in asked_of(arguments.data, each).texts})))
        return
    ways: dict[str, list[Measured]] = {}
    for problem in posed:
        solved, asked = solve(problem), asked_of(arguments.data, problem)
        vectors: dict[str, Array | None] = {"words": None}
        if arguments.vectors is not None:
            vectors["vectors"] = of_vectors(arguments.data, arguments.vectors, problem, solved, asked)
        for way, evidence in vectors.items():
            found = matched(scores_of(problem, solved, asked, evidence), asked.n_known)
            ways.setdefault(way, []).append(measure(problem, solved, asked, found))
            print(json.dumps({"problem": problem.name, "by": way, **ways[way][-1].line()}), flush=True)
    for way, measured in ways.items():
        print(json.dumps({"problem": "all", "by": way, **total(measured)}))


if __name__ == "__main__":
    main()
