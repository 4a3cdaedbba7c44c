"""How good are a frozen model's answers? python -m benchmarks.new_documents --data DIR [--problems NAME ...]

A fifth of the unlabeled documents is held back. One JSON line a problem: the scores of a whole job that had them, those
of the model of a job that had not, how many of them are novel, and documents a second; then the model of a job that has
not seen one new category at all: how many of its documents are novel, and the area under the ROC curve.
"""

import argparse
import json
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from benchmarks import calibrated, problems
from benchmarks.problems import Problem
from sampler.answers import metrics
from sampler.answers.consensus import consensus_of_documents
from sampler.calibrated.bags import word_bags
from sampler.copies import find_copies, texts_from
from sampler.corpus import NO_CATEGORY, Array, Corpus
from sampler.frozen.answering import NOVEL, answer
from sampler.frozen.freeze import Judged, freeze
from sampler.frozen.model import FrozenModel
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics.ragged import entries_of
from sampler.numerics.threads import Threads

HELD_BACK = 0.2
DIGITS = 3
NOBODY = 2**64 - 1  # the mark of no document


class Told(NamedTuple):
    """What a model says of documents; what it knows no word of has no category and no novelty."""

    category: Array  # int64[n]
    probability: Array  # float64[n]
    novelty: Array  # float64[n]
    seconds: float


def main() -> None:
    """Measure the chosen problems in turn."""
    parser = argparse.ArgumentParser(prog="benchmarks.new_documents", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with problems.json and data sets")
    parser.add_argument("--problems", nargs="+", default=[], metavar="NAME", help="default: all")
    parser.add_argument("--split", type=int, default=0, help="random choice of labeled documents")
    arguments = parser.parse_args()
    for name in problems.chosen(arguments.data, arguments.problems):
        problem = problems.read(arguments.data, name, arguments.split)
        for line in (held_back(problem, arguments.split), never_seen(problem, arguments.split)):
            print(json.dumps({"problem": name, **line}), flush=True)


def held_back(problem: Problem, seed: int) -> dict[str, Any]:
    """A whole job beside the model of one that lacks some documents, over these."""
    some = chosen_documents(problem, seed)
    with Threads() as threads:
        texts = texts_from(problem.corpus, problem.copy_of)
        whole = calibrated.run(texts, seed, threads, {}).conclusion.consensus
        in_job = consensus_of_documents(whole, texts)
        told = asked(problem, some, some, seed, threads)
    known = told.novelty[problem.truth[some] < problem.corpus.n_known]
    return {
        "documents": some.size,
        "job": scores(problem, some, in_job.category[some], in_job.probability[some]),
        "model": scores(problem, some, told.category, told.probability),
        "novel": share_of_novel(told.novelty),
        "novel_of_known": share_of_novel(known),
        "documents_a_second": round(some.size / told.seconds),
    }


def never_seen(problem: Problem, seed: int) -> dict[str, Any]:
    """The model of a job that has no document of the new category of middle size."""
    scored = problem.truth[problem.scored]
    new, sizes = np.unique(scored[scored >= problem.corpus.n_known], return_counts=True)
    category = new[np.argsort(sizes, kind="stable")[new.size // 2]]
    unseen = problem.scored[scored == category]
    others = np.setdiff1d(chosen_documents(problem, seed), unseen)
    with Threads() as threads:
        missing = np.union1d(np.flatnonzero(problem.truth == category), others)
        told = asked(problem, missing, np.concatenate([others, unseen]), seed, threads)
    is_judged = ~np.isnan(told.novelty)
    is_unseen = np.arange(told.novelty.size) >= others.size
    return {
        "never_seen": problem.names[category],
        "documents": unseen.size,
        "novel": share_of_novel(told.novelty[is_unseen]),
        "novel_of_others": share_of_novel(told.novelty[~is_unseen]),
        "AUROC": area(told.novelty[is_judged], is_unseen[is_judged]),
    }


def chosen_documents(problem: Problem, seed: int) -> Array:
    """int64[...]: the documents that are held back."""
    shuffled = np.random.default_rng(seed).permutation(problem.scored)
    return np.sort(shuffled[: int(HELD_BACK * shuffled.size)])


def asked(problem: Problem, missing: Array, some: Array, seed: int, threads: Threads) -> Told:
    """What the model of a job without the `missing` documents says of `some`."""
    corpus = part_of(problem.corpus, np.setdiff1d(np.arange(problem.corpus.n_documents), missing))
    model = frozen_without(corpus, seed, threads)
    bags, is_seen = word_bags(part_of(problem.corpus, some)), np.zeros(corpus.n_words, bool)
    is_seen[corpus.words] = True
    began = time.perf_counter()
    found = [
        answer(model, corpus.n_known, *words, NOBODY)
        for words in known_words(bags.offsets, bags.words, bags.counts, is_seen)
    ]
    seconds = time.perf_counter() - began
    return Told(
        np.array([NO_CATEGORY if each is None else each.likely[0].category for each in found]),
        np.array([0.0 if each is None else each.likely[0].probability for each in found]),
        np.array([np.nan if each is None else each.novelty for each in found]),
        seconds,
    )


def known_words(offsets: Array, words: Array, counts: Array, is_seen: Array) -> Iterator[tuple[Array, Array]]:
    """The words of each document that the job had, and how often each occurs."""
    for first, end in pairwise(offsets):
        kept = is_seen[words[first:end]]
        yield words[first:end][kept].astype(np.int64), counts[first:end][kept]


def frozen_without(corpus: Corpus, seed: int, threads: Threads) -> FrozenModel:
    """The model of a job over a corpus."""
    texts = texts_from(corpus, find_copies(corpus, threads))
    done, hyperparameters = calibrated.run(texts, seed, threads, {}), CalibratedHyperparameters()
    found = done.conclusion
    assert found.fits is not None
    judged = Judged(
        word_bags(texts.corpus), found.fits, found.column, found.temperature, done.rates, found.chance
    )  # fmt: skip
    marks = np.arange(corpus.n_documents, dtype=np.uint64)
    return freeze(texts, marks, found.consensus, judged, hyperparameters, seed, threads)


def part_of(corpus: Corpus, documents: Array) -> Corpus:
    """Some documents of a corpus, with all of its words and categories."""
    offsets, tokens = entries_of(corpus.offsets, documents)
    return corpus._replace(words=corpus.words[tokens], offsets=offsets, labels=corpus.labels[documents])


def scores(problem: Problem, some: Array, category: Array, probability: Array) -> dict[str, float | None]:
    """The figures of answers for some documents."""
    true, n_known = problem.truth[some], problem.corpus.n_known
    is_right = metrics.is_right(true, category, n_known)
    found = {
        "NMI": metrics.nmi(true, category),
        "ARI": metrics.ari(true, category),
        "F1": metrics.mean_f1(true, category, np.arange(n_known)),
        "ECE": metrics.calibration_error(is_right, probability),
    }
    return {name: None if value is None else round(value, DIGITS) for name, value in found.items()}


def share_of_novel(novelty: Array) -> float:
    """The share of documents that are novel; one without evidence is not."""
    return round(float((novelty >= NOVEL).mean()), DIGITS) if novelty.size else 0.0


def area(score: Array, is_positive: Array) -> float | None:
    """The area under the ROC curve, ties counted half; None without documents of both kinds."""
    n_positive, n_negative = int(is_positive.sum()), int((~is_positive).sum())
    if not n_positive or not n_negative:
        return None
    ranks = rankdata(score)[is_positive].sum()
    return round(float((ranks - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative)), DIGITS)


if __name__ == "__main__":
    main()
