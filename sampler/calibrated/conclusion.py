"""What the chains of the calibrated model say together: categories, probabilities, diagnostics, and doubtful labels."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from sampler.answers import pooling
from sampler.answers.consensus import Consensus
from sampler.answers.pooling import Reason, Verdict
from sampler.calibrated.chain import CalibratedState
from sampler.calibrated.refinement import among_unlabeled, consensus_of_refined, join_starved, refine
from sampler.calibrated.steps import Calibration
from sampler.corpus import UNLABELED, Array, Corpus
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics.threads import Threads

DOUBTFUL = 0.5  # a label with less probability is listed by the audit
FEWEST_LABELS = 5  # of a category


class Audit(NamedTuple):
    """Labeled documents whose label is doubtful, the least likely first."""

    document: Array  # int64[n]
    probability: Array  # float64[n], of its own label, by fits that left the document out
    suggested: Array  # int64[n], the most likely other category
    suggested_probability: Array  # float64[n]


class CalibratedConclusion(NamedTuple):
    """The answers of all chains together."""

    consensus: Consensus
    stability: Array  # float64[D]
    category_stability: Array  # float64[K]
    agreement: Array  # float64[C, C], of each two chains, see `pooling.agreement`
    verdict: Verdict
    temperature: float  # of the probabilities, see `refinement.fit_temperature`
    audit: Audit


def conclude_chains(
    corpus: Corpus, hyperparameters: CalibratedHyperparameters, calibration: Calibration,
    states: list[CalibratedState], traces: Mapping[str, Array], threads: Threads,
) -> CalibratedConclusion:  # fmt: skip
    """Pool the chains, refine the categories that they agree on, and judge how far they can be trusted.

    `traces` has kept draws float64[C, S] of quantities by name.
    """
    bags, seed = calibration.prepared.bags, calibration.prepared.seed
    chains = pooling.read_answers(corpus, [state.tally for state in states], threads)
    pooled = pooling.pool_answers(corpus, chains, threads)
    agreed = pooled.consensus
    refined = refine(bags, corpus.labels, agreed.category, agreed.n_categories, hyperparameters, seed, threads)
    refined, joined = join_starved(refined, corpus.labels, corpus.n_known)
    refined = among_unlabeled(refined, corpus.labels, calibration.learned.rates)
    consensus, column = consensus_of_refined(refined, corpus.labels, corpus.n_known)
    stability, category_stability = pooling.stability(corpus, consensus, chains, threads)
    consensus = discount(
        consensus, corpus.labels, corpus.n_known, category_stability, calibration.scores.blind_share
    )  # fmt: skip
    doubts, blamed = audit(corpus.labels, bags.is_empty, refined.probability[:, column], corpus.n_known)
    answered = pooled._replace(consensus=consensus, stability=stability, category_stability=category_stability)
    verdict = pooling.verdict(answered, traces, about_labels(corpus.labels, corpus.n_known, joined, blamed))
    return CalibratedConclusion(
        consensus, stability, category_stability, pooled.agreement, verdict, refined.temperature, doubts
    )  # fmt: skip


def about_labels(labels: Array, n_known: int, joined: Array, blamed: Array) -> Iterator[Reason]:
    """What is to be said of the labels: of known categories int64[...] that were joined, or whose labels look wrong."""
    n_labels = np.bincount(labels[labels != UNLABELED], minlength=n_known)
    few = np.flatnonzero(n_labels < FEWEST_LABELS)
    if 2 * few.size > n_known:
        yield Reason("mixed", f"Most categories have fewer than {FEWEST_LABELS} labels, too few to tell known from new")
    elif few.size:
        yield Reason(
            "mixed", f"Categories with fewer than {FEWEST_LABELS} labels may be taken for new ones", tuple(few.tolist())
        )
    if joined.size:
        yield Reason(
            "mixed",
            "Categories that were found as new ones, since so little of them is labeled",
            tuple(joined.tolist()),
        )
    if blamed.size:
        yield Reason(
            "mixed",
            "Categories most labels of which are likelier of another, so that none is doubted",
            tuple(blamed.tolist()),
        )


def discount(
    consensus: Consensus, labels: Array, n_known: int, category_stability: Array, blind_share: float
) -> Consensus:  # fmt: skip
    """The answers with their probabilities times the chance that their categories are as the answer has them.

    The regressions take the categories for certain. Two things say how far that is true, and their mean is taken:

    - the chains: of two sets of one size with Jaccard index J, each shares 2 J / (1 + J) with the other; J is the
      category's stability, 1 where it is not known;
    - the labels: known categories are theirs; a new one is as right as the known ones are when their labels are hidden.
    """
    jaccard = np.where(np.isnan(category_stability), 1.0, category_stability)
    by_chains = 2.0 * jaccard / (1.0 + jaccard)
    by_labels = np.ones(consensus.n_categories)
    by_labels[n_known:] = by_chains[n_known:] if np.isnan(blind_share) else blind_share
    chance = np.append((by_chains + by_labels) / 2.0, 1.0)  # NO_CATEGORY takes the last one
    is_labeled = labels != UNLABELED
    probability = np.where(is_labeled, consensus.probability, consensus.probability * chance[consensus.category])
    runner_up = consensus.runner_up_probability * chance[consensus.runner_up]
    return consensus._replace(probability=probability, runner_up_probability=np.minimum(runner_up, probability))


def audit(labels: Array, is_empty: Array, probability: Array, n_known: int) -> tuple[Audit, Array]:
    """The labeled documents whose own label is DOUBTFUL, of which none is changed; and categories that are not blamed.

    Where most labels of a category are doubtful it is the category that is not understood: none of them is listed, and
    the category is among the latter, int64[...].
    """
    labeled = np.flatnonzero((labels != UNLABELED) & ~is_empty)
    nobody = np.empty(0, np.int64)
    if labeled.size == 0 or probability.shape[1] < 2:  # there is no other category to doubt it for
        return Audit(nobody, np.empty(0), nobody, np.empty(0)), nobody
    own = probability[labeled, labels[labeled]].astype(np.float64)
    order = np.argsort(own, kind="stable")
    doubtful = labeled[order][own[order] < DOUBTFUL]
    n_labels, n_doubtful = (np.bincount(labels[documents], minlength=n_known) for documents in (labeled, doubtful))
    blamed = np.flatnonzero(2 * n_doubtful > n_labels)
    doubtful = doubtful[~np.isin(labels[doubtful], blamed)]
    others = probability[doubtful]
    others[np.arange(doubtful.size), labels[doubtful]] = -1.0
    likeliest = others.argmax(axis=1)
    own, other = probability[doubtful, labels[doubtful]], probability[doubtful, likeliest]
    return Audit(doubtful, own.astype(np.float64), likeliest, other.astype(np.float64)), blamed
