"""Open-set problems read from a folder: DIR/problems.json and DIR/NAME.jsonl.gz.

problems.json maps a problem's name to its `dataset`, the labels that are `known`, those that are `new`, and
`train_fraction`, the share of each known category's documents that keeps its label; and the mess that is made of them,
if any (see `benchmarks.mess`). A data set holds one JSON object a line with `label` and either `text` or `counts`, a
map from a word's index to its count.
"""

import gzip
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import mess
from benchmarks.mess import Document
from sampler.copies import find_copies
from sampler.corpus import UNLABELED, Array, Corpus
from sampler.text import NO_STOP_WORDS, Encoded, TextOptions, encode

MIN_DOCUMENT_FREQUENCY = 16  # the paper keeps words with a document frequency above 15
# That frequency leaves short texts almost empty, and the stop list takes the words that very short ones live by.
SHORT, MIN_DOCUMENT_FREQUENCY_SHORT = 30, 5  # tokens of a document, in the mean, after the paper's encoding
VERY_SHORT, MIN_DOCUMENT_FREQUENCY_VERY_SHORT = 10, 3


class Problem(NamedTuple):
    """A corpus with some labels, and the truth about all documents."""

    name: str
    corpus: Corpus
    truth: Array  # int64[D], true category; the known ones first, as in the corpus
    texts: list[str]  # D, for a method that encodes them in its own way
    names: list[str]  # of the true categories, known ones first: document d is of names[truth[d]]
    copy_of: Array  # int32[D], the document that each is a copy of, or itself
    vectors: Array | None = None  # float[D, n], if they were asked for

    @property
    def scored(self) -> Array:
        """Unlabeled documents that have a word: those that the paper scores."""
        return np.flatnonzero((self.corpus.labels == UNLABELED) & (self.corpus.lengths > 0))

    @property
    def n_new(self) -> int:
        """New categories among the scored documents."""
        true = self.truth[self.scored]
        return int(np.unique(true[true >= self.corpus.n_known]).size)

    @property
    def n_true(self) -> int:
        """The true number of categories: the known ones, and the new ones among the scored documents."""
        return self.corpus.n_known + self.n_new


def names(folder: Path) -> list[str]:
    """The problems defined in the folder."""
    return list(json.loads((folder / "problems.json").read_text(encoding="utf-8")))


def read(folder: Path, name: str, split: int, vectors: Path | None = None) -> Problem:
    """A problem under one random choice of the labeled documents.

    With the vectors in the file NAME.npz of a folder, where the data set of that name has one: its arrays are `ids`,
    the documents' ids, and `vectors` float[n, length], a row for each id.
    """
    definition = json.loads((folder / "problems.json").read_text(encoding="utf-8"))[name]
    by_label: dict[str, list[Any]] = {label: [] for label in definition["known"] + definition["new"]}
    with gzip.open(folder / f"{definition['dataset']}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for document in map(json.loads, lines):
            if document["label"] in by_label:
                by_label[document["label"]].append(document)
    dice, documents = random.Random(split), []
    has_text = "text" in next(held[0] for held in by_label.values() if held)
    for label, held in by_label.items():
        n_labeled = 0
        if label in definition["known"]:
            dice.shuffle(held)
            n_labeled = mess.n_labels(definition, label, len(held))
        texts = [document["text"] if has_text else as_text(document["counts"]) for document in held]
        ids = [document.get("id", "") for document in held]
        documents += [Document(text, label, n < n_labeled, ids[n]) for n, text in enumerate(texts)]
    documents = mess.with_mess(documents, definition, dice)
    texts, categories, is_labeled, ids = (list(column) for column in zip(*documents, strict=True))
    problem = pose(name, texts, categories, is_labeled, has_text)
    file = None if vectors is None else vectors / f"{definition['dataset']}.npz"
    return problem if file is None or not file.exists() else problem._replace(vectors=vectors_of(file, ids))


def vectors_of(file: Path, ids: list[str]) -> Array:
    """float[D, n]: the vectors of documents with these ids. Raises KeyError if one has none."""
    with np.load(file) as held:
        place = {id_: row for row, id_ in enumerate(held["ids"].tolist())}
        found: Array = held["vectors"][[place[id_] for id_ in ids]]
    return found


def pose(name: str, texts: list[str], categories: list[str], is_labeled: list[bool], has_stop_words: bool) -> Problem:
    """The problem of finding the category of every document when some are told."""
    labels = [category if told else None for category, told in zip(categories, is_labeled, strict=True)]
    return posed(name, encode_by_length(texts, labels, has_stop_words), texts, categories)


def posed(name: str, encoded: Encoded, texts: list[str], categories: list[str]) -> Problem:
    """The problem of texts that are encoded with some labels, and of these categories in truth."""
    order = list(dict.fromkeys(encoded.categories + categories))
    index = {category: k for k, category in enumerate(order)}
    truth = np.array([index[category] for category in categories])
    return Problem(name, encoded.corpus, truth, texts, order, encoded.copy_of)


def encode_by_length(texts: list[str], labels: list[str | None], has_stop_words: bool) -> Encoded:
    """The corpus as the paper encodes it, unless so few tokens are left that the texts are short.

    Texts of fewer than SHORT tokens in the mean keep rarer words; below VERY_SHORT they keep stop words too.
    """
    stop_words = "en" if has_stop_words else NO_STOP_WORDS
    encoded = encode(texts, labels, TextOptions(stop_words, min_document_frequency=MIN_DOCUMENT_FREQUENCY), find_copies)
    mean_length = encoded.corpus.n_tokens / encoded.corpus.n_documents
    if mean_length >= SHORT:
        return encoded
    if mean_length >= VERY_SHORT:
        options = TextOptions(stop_words, min_document_frequency=MIN_DOCUMENT_FREQUENCY_SHORT)
    else:
        options = TextOptions(NO_STOP_WORDS, min_document_frequency=MIN_DOCUMENT_FREQUENCY_VERY_SHORT)
    return encode(texts, labels, options, find_copies)


def as_text(counts: dict[str, int]) -> str:
    """A text with these words; w17 is the word with index 17."""
    return " ".join(word for index, n in counts.items() for word in [f"w{index}"] * n)


def small(n_documents: int = 30, n_words: int = 20, length: int = 40) -> Problem:
    """An easy problem of two known and two new categories, which share no word. `n_documents`, `n_words`: of each."""
    dice = random.Random(0)
    categories = [f"category{k}" for k in range(4) for _ in range(n_documents)]
    texts = [" ".join(f"{category}word{dice.randrange(n_words)}" for _ in range(length)) for category in categories]
    is_labeled = [k < 2 and d < 0.4 * n_documents for k in range(4) for d in range(n_documents)]
    return pose("small", texts, categories, is_labeled, has_stop_words=True)


def chosen(folder: Path, wanted: Iterable[str]) -> list[str]:
    """The wanted problems, all if none is named. Raises ValueError for a name that is not there."""
    known = names(folder)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ValueError(f"{', '.join(unknown)}: not in {folder / 'problems.json'}, which has {', '.join(known)}")
    return list(wanted) or known
