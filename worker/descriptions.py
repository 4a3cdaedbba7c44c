"""Descriptions of categories against those that a job has found: rows to arrays, and what fits as rows hold it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sqlalchemy.orm import Session

from app.core.category_names import folded, spelled_out
from app.core.descriptions import descriptions_of
from app.core.kinds import BROUGHT, vectors_made_by
from app.core.tables import CategoryDescription, Job
from app.core.vectors import from_bytes
from sampler.answers.descriptions import Fit, Scores, fit, learn, vector_scores, word_scores
from sampler.answers.words import GroupWords
from sampler.corpus import NO_CATEGORY, Array
from sampler.text import TextFacts
from sampler.text.reader import Reader
from sampler.vectors import Axes, projected
from worker.store import Names, text_options

TOLD = 0.01  # least probability at which a description is told beside the one that fits best
MOST_TOLD = 5  # of them

Json = dict[str, Any]
Embed = Callable[[Sequence[str]], Array]  # float[J, n], the vectors of texts


class Matched(NamedTuple):
    """What descriptions say of the categories of an answer."""

    names: Mapping[int, str]  # of the new categories that one fits, by index
    described: Mapping[int, Json]  # what is told of each new category, by index
    listed: Sequence[Json] | None  # what is told of each description; None if the corpus has none


NOTHING = Matched({}, {}, None)


class Asked(NamedTuple):
    """The names that are compared with categories: those of the known ones, then those of descriptions."""

    texts: Sequence[str]  # the name and the description
    rows: Sequence[CategoryDescription | None]  # most known categories have none
    index_of: Mapping[str, int]  # of known categories that are described, by name
    n_described: int


class Seen(NamedTuple):
    """How a job sees the vectors of its texts."""

    vectors: Array  # float32[T, p], of the texts, along the axes
    axes: Axes
    embed: Embed | None  # for a job whose vectors the service makes: how


def asked(session: Session, job: Job, names: Names) -> Asked:
    """The descriptions that the corpus version has; those of known categories help to judge the others."""
    rows = descriptions_of(session, job.corpus_id, job.corpus_version)
    known = {folded(name): index for index, name in enumerate(names.categories)}
    index_of = {row.name: known[folded(row.name)] for row in rows if folded(row.name) in known}
    return asked_of(names.categories, rows, index_of)


def match(
    asked: Asked, job: Job, names: Names, category: Array, words: GroupWords, seen: Seen | None = None
) -> Matched:  # fmt: skip
    """Match the new categories of an answer to descriptions.

    `category` int[T] is the answer for each text, and `words` are those of the categories; `seen` are the texts'
    vectors, if they count.
    """
    if not asked.n_described:
        return NOTHING
    n_known = len(names.categories)
    of_words = word_scores(words, bags(job, names, asked.texts))
    of_vectors = scores_of_vectors(job, asked, category, words.sizes.size, seen)
    scores = Scores(of_words, np.zeros_like(of_words) if of_vectors is None else of_vectors)
    learned = learn(scores.part(slice(None), slice(n_known)))
    found = fit(scores.part(slice(n_known, None), slice(n_known, None)), learned)
    new = [row for row in asked.rows[n_known:] if row is not None]
    return matched_of(found, new, asked.index_of, n_known)


def asked_of(known: Sequence[str], rows: Sequence[CategoryDescription], index_of: Mapping[str, int]) -> Asked:
    """The names to compare: known ones, with their description if there is one, and new ones."""
    of_name, new = {folded(row.name): row for row in rows}, [row for row in rows if row.name not in index_of]
    all_rows = [*(of_name.get(folded(name)) for name in known), *new]
    named = [*known, *(row.name for row in new)]
    texts = [
        f"{spelled_out(name)} {'' if row is None else row.text}" for name, row in zip(named, all_rows, strict=True)
    ]
    return Asked(texts, all_rows, index_of, len(rows))


def scores_of_vectors(
    job: Job, asked: Asked, category: Array, n_categories: int, seen: Seen | None
) -> Array | None:  # fmt: skip
    """What vectors say of all pairs of a category and a name; None if they say nothing."""
    if seen is None:
        return None
    if vectors_made_by(job.settings) == BROUGHT:
        vectors = brought_vectors(asked.rows)
    else:
        vectors = None if seen.embed is None else seen.embed(asked.texts)
    if vectors is None or seen.axes.mean.size != vectors.shape[1]:
        return None
    sums, has_category = np.zeros((n_categories, seen.vectors.shape[1])), category != NO_CATEGORY
    np.add.at(sums, category[has_category], seen.vectors[has_category].astype(np.float64))
    return vector_scores(sums, projected(vectors, seen.axes))


def bags(job: Job, names: Names, texts: Sequence[str]) -> csr_array:
    """int64[J, V]: the words of texts that the vocabulary has, read as the documents were."""
    reader = Reader(names.vocabulary, text_options(job), TextFacts(**(names.facts or {})))
    readings = [reader.read(text) for text in texts]
    columns = np.concatenate([reading.words for reading in readings])
    counts = np.concatenate([reading.counts for reading in readings])
    offsets = np.cumsum([0, *(reading.words.size for reading in readings)])
    return csr_array((counts, columns, offsets), shape=(len(texts), len(names.vocabulary)))


def brought_vectors(rows: Sequence[CategoryDescription | None]) -> Array | None:
    """float64[J, n]: the vectors that descriptions brought, zeros for names without one; None if none brought one."""
    brought = {place: from_bytes(row.vector) for place, row in enumerate(rows) if row is not None and row.vector}
    if not brought:
        return None
    found = np.zeros((len(rows), len(next(iter(brought.values())))))
    for place, vector in brought.items():
        found[place] = vector
    return found


def matched_of(
    found: Fit, new: Sequence[CategoryDescription], known: Mapping[str, int], n_known: int
) -> Matched:  # fmt: skip
    """What fits as rows hold it; `known` has the index of the category that a description is of, by name."""
    names = {n_known + int(k): new[j].name for j, k in enumerate(found.category) if k != NO_CATEGORY}
    described = {}
    for category in range(found.probability.shape[0] if new else 0):
        probability = found.probability[category]
        best = np.argsort(-probability, kind="stable")
        others = [{"name": new[j].name, "probability": float(probability[j])} for j in best if probability[j] >= TOLD]
        own = names.get(n_known + category)
        fits = [other for other in others if other["name"] == own]
        described[n_known + category] = {
            "name": own,
            "probability": fits[0]["probability"] if fits else remainder(probability),
            "others": [other for other in others if other["name"] != own][:MOST_TOLD],
        }
    of_known = [listed(name, index, 1.0, True) for name, index in known.items()]
    of_new = [
        listed(row.name, None, remainder(found.probability[:, j]))
        if found.category[j] == NO_CATEGORY
        else listed(row.name, n_known + int(found.category[j]), float(found.probability[found.category[j], j]))
        for j, row in enumerate(new)
    ]
    return Matched(names, described, sorted([*of_known, *of_new], key=lambda each: str(each["name"])))


def listed(name: str, category: int | None, probability: float, is_known: bool = False) -> Json:
    """A description as JSON: the category that it is of, or none, and how probable that is."""
    return {"name": name, "known": is_known, "category": category, "probability": probability}


def remainder(probability: Array) -> float:
    """The probability that none fits."""
    return float(np.clip(1.0 - probability.sum(), 0.0, 1.0))
