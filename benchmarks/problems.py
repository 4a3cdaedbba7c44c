"""Open-set problems read from a folder: DIR/problems.json and DIR/NAME.jsonl.gz.

problems.json maps a problem's name to its `dataset`, the labels that are `known`, those that are `new`, and
`train_fraction`, the share of each known category's documents that keeps its label. A data set holds one JSON
object a line with `label` and either `text` or `counts`, a map from a word's index to its count.
"""

import gzip
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sampler.corpus import UNLABELED, Array
from sampler.text import NO_STOP_WORDS, TextOptions, encode

MIN_DOCUMENT_FREQUENCY = 16  # the paper keeps words with a document frequency above 15


class Problem(NamedTuple):
    """A corpus with some labels, and the truth about all documents."""

    name: str
    corpus: Any  # sampler.corpus.Corpus
    truth: Array  # int64[D], true category; the known ones first, as in the corpus

    @property
    def scored(self) -> Array:
        """Unlabeled documents that have a word: those that the paper scores."""
        return np.flatnonzero((self.corpus.labels == UNLABELED) & (self.corpus.lengths > 0))


def names(folder: Path) -> list[str]:
    """The problems defined in the folder."""
    return list(json.loads((folder / "problems.json").read_text(encoding="utf-8")))


def read(folder: Path, name: str, split: int) -> Problem:
    """A problem under one random choice of the labeled documents."""
    definition = json.loads((folder / "problems.json").read_text(encoding="utf-8"))[name]
    by_label: dict[str, list[Any]] = {label: [] for label in definition["known"] + definition["new"]}
    with gzip.open(folder / f"{definition['dataset']}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for document in map(json.loads, lines):
            if document["label"] in by_label:
                by_label[document["label"]].append(document)
    dice = random.Random(split)
    documents, labels = [], []
    for label, held in by_label.items():
        n_labeled = 0
        if label in definition["known"]:
            dice.shuffle(held)
            n_labeled = round(definition["train_fraction"] * len(held))
        documents += held
        labels += [label] * n_labeled + [None] * (len(held) - n_labeled)
    has_text = "text" in documents[0]
    encoded = encode(
        (document["text"] if has_text else as_text(document["counts"]) for document in documents),
        labels,
        TextOptions(stop_words="en" if has_text else NO_STOP_WORDS, min_document_frequency=MIN_DOCUMENT_FREQUENCY),
    )
    order = encoded.categories + [label for label in by_label if label not in encoded.categories]
    truth = np.array([order.index(document["label"]) for document in documents])
    return Problem(name, encoded.corpus, truth)


def as_text(counts: dict[str, int]) -> str:
    """A text with these words; w17 is the word with index 17."""
    return " ".join(word for index, n in counts.items() for word in [f"w{index}"] * n)


def chosen(folder: Path, wanted: Iterable[str]) -> list[str]:
    """The wanted problems, all if none is named. Raises ValueError for a name that is not there."""
    known = names(folder)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ValueError(f"{', '.join(unknown)}: not in {folder / 'problems.json'}, which has {', '.join(known)}")
    return list(wanted) or known
