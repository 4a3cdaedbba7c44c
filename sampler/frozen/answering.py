"""New documents, answered by a frozen model: each by itself, so that no answer depends on what else is asked."""

import math
from typing import NamedTuple

import numpy as np

from sampler.answers.others import MATTERS, N_OTHERS
from sampler.corpus import NO_CATEGORY, Array
from sampler.frozen.model import FrozenModel
from sampler.vectors import Axes, projected

DIGITS = 9  # of what is computed: processors differ in the last bits of an exponential
N_EVIDENCE = 5  # words
NOVEL = 0.95  # novelty from which on a document is novel


class Likely(NamedTuple):
    """A category and how probable it is."""

    category: int
    probability: float


class Evidence(NamedTuple):
    """A word, and by how much it speaks for the answer and against the runner-up, in nats."""

    word: int
    weight: float


class FrozenAnswer(NamedTuple):
    """What a model says of a document that has a word of its vocabulary."""

    likely: list[Likely]  # the answer, the runner-up if there is one, and others that matter; none is likelier than
    # the one before it
    known: float  # probability of being of a known category, whichever
    novelty: float  # see `novelty`
    evidence: list[Evidence]  # the strongest first
    is_of_corpus: bool  # the answer is the one that the job gave to this text


def answer(
    model: FrozenModel, n_known: int, words: Array, counts: Array, mark: int, vector: Array | None = None
) -> FrozenAnswer | None:
    """The answer for a bag of distinct words int64[n], each so often, and a vector float64[...] if there is one.

    None if the bag is empty, and no vector counts.
    Of the rows of `weights` only those of its words are read. All sums run in one order: the same document gives the
    same bits, whatever it comes with.
    """
    place = place_of(model, vector)
    if words.size == 0 and not place.any():
        return None
    values = tf_idf(model, words, counts)
    scores = scores_of(model, words, values) + scores_of_place(model, place)
    told = told_by_job(model, mark)
    if told is None:
        likely, known = judged(model, n_known, scores)
    else:
        likely, known = told
    first = likely[0].category
    second = likely[1].category if len(likely) > 1 else None
    strange = novelty(model, words.size, np.float32(energy_of(scores)))
    return FrozenAnswer(likely, known, strange, evidence(model, words, values, first, second), told is not None)


def tf_idf(model: FrozenModel, words: Array, counts: Array) -> Array:
    """float32[n], as `sampler.calibrated.bags.tf_idf` has it of the documents of the job."""
    values = (1.0 + np.log(counts)) * (1.0 + model.inverse_frequency[words])
    length = math.sqrt(math.fsum((values * values).tolist()))
    of_row: Array = (values / length).astype(np.float32)
    return of_row


def scores_of(model: FrozenModel, words: Array, values: Array) -> Array:
    """float64[K]: W x, summed word after word."""
    terms = model.weights[words] * values.astype(np.float64)[:, None]
    scores: Array = terms.sum(axis=0) + model.weights[-1]
    return scores


def place_of(model: FrozenModel, vector: Array | None) -> Array:
    """float64[p]: a vector along the axes, rounded as those of the job are, times the scale; zeros without one."""
    if vector is None or model.vectors is None or model.n_axes == 0:
        return np.zeros(model.n_axes)
    mean, axes, scale = model.vectors
    return np.asarray(projected(vector[None, :], Axes(mean, axes))[0].astype(np.float64) * scale)


def scores_of_place(model: FrozenModel, place: Array) -> Array:
    """float64[K]: what a place adds to W x, axis after axis."""
    first = len(model.weights) - 1 - model.n_axes
    scores: Array = (model.weights[first:-1] * place[:, None]).sum(axis=0)
    return scores


def energy_of(scores: Array) -> float:
    """The log of the sum of exp(W x): great where some category claims the document."""
    top = float(scores.max())
    return top + math.log(math.fsum(np.exp(scores - top).tolist()))


def novelty(model: FrozenModel, n_distinct: int, energy: np.float32) -> float:
    """The novelty of a document with so many distinct words and this energy."""
    size = max(int(np.searchsorted(model.sizes, n_distinct, side="right")) - 1, 0)
    return float(novelty_among(model.reference[model.starts[size] : model.starts[size + 1]], energy))


def novelty_among(reference: Array, energy: Array | np.float32) -> Array:
    """float64, of energies float32: the share of known documents of the same size with greater ones, ascending.

    One in twenty of these has .95 or more: a p-value turned round, as in conformal prediction (Vovk and others 2005).
    Of the same size, since few words cannot be claimed as strongly as many, whatever they are.
    """
    n_below = np.searchsorted(reference, energy, side="right")
    share: Array = 1.0 - (1.0 + n_below) / (reference.size + 1.0)
    return share


def told_by_job(model: FrozenModel, mark: int) -> tuple[list[Likely], float] | None:
    """What the job answered for the text with this mark, and how probably that is of a known category."""
    place = int(np.searchsorted(model.marks, np.uint64(mark)))
    if place == model.marks.size or int(model.marks[place]) != mark:
        return None
    text = int(model.text_of_mark[place])
    if model.category[text] == NO_CATEGORY:
        return None
    likely = [Likely(int(model.category[text]), float(model.probability[text]))]
    if model.runner_up[text] != NO_CATEGORY:
        likely.append(Likely(int(model.runner_up[text]), float(model.runner_up_probability[text])))
    others = zip(model.others[text].tolist(), model.other_probability[text].tolist(), strict=True)
    likely += [Likely(category, probability) for category, probability in others if category != NO_CATEGORY]
    return likely, float(model.known[text])


def judged(model: FrozenModel, n_known: int, scores: Array) -> tuple[list[Likely], float]:
    """What the regression says of a document that bears no label, as of the job's own ones."""
    powered = np.exp((scores - scores.max()) / model.temperature) * model.unlabeled
    probability = powered / math.fsum(powered.tolist())
    known = math.fsum(probability[:n_known].tolist())
    order = np.argsort(-probability, kind="stable")[: 2 + N_OTHERS].tolist()
    likely, last = [], 1.0
    for place, category in enumerate(order):
        if place > 1 and probability[category] < MATTERS:
            break
        last = min(round(float(probability[category] * model.chance[category]), DIGITS), last)
        likely.append(Likely(category, last))
    return likely, round(min(known, 1.0), DIGITS)


def evidence(model: FrozenModel, words: Array, values: Array, first: int, second: int | None) -> list[Evidence]:
    """The words of a document that speak most for one category and against another, or against the mean of all."""
    other = model.weights[words].mean(axis=1) if second is None else model.weights[words, second]
    weight = (model.weights[words, first].astype(np.float64) - other) * values
    order = np.argsort(-weight, kind="stable")[:N_EVIDENCE]
    return [Evidence(int(words[n]), round(float(weight[n]), DIGITS)) for n in order if weight[n] > 0]
