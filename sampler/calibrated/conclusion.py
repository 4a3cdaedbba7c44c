"""What the chains of the calibrated model say together: categories, probabilities, diagnostics, and doubtful labels."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sampler.answers import pooling
from sampler.answers.consensus import Consensus
from sampler.calibrated.chain import CalibratedState
from sampler.calibrated.refinement import consensus_of, refine
from sampler.calibrated.steps import Calibration
from sampler.corpus import UNLABELED, Array, Corpus
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics.threads import Threads

DOUBTFUL = 0.5  # a label with less probability is listed by the audit


class Audit(NamedTuple):
    """Labeled documents whose label is doubtful, the least likely first."""

    document: Array  # int64[n]
    probability: Array  # float64[n], of its own label, by fits that left the document out
    suggested: Array  # int64[n], the most likely other category
    suggested_probability: Array  # float64[n]


class Conclusion(NamedTuple):
    """The answers of all chains together."""

    consensus: Consensus
    stability: Array  # float64[D]
    category_stability: Array  # float64[K]
    diagnostics: dict[str, Any]  # as JSON has it
    audit: Audit


def conclude(
    corpus: Corpus, hyperparameters: CalibratedHyperparameters, calibrated: Calibration,
    states: list[CalibratedState], traces: Mapping[str, Array], threads: Threads,
) -> Conclusion:  # fmt: skip
    """Pool the chains, refine the categories that they agree on, and judge how far they can be trusted.

    `traces` has kept draws float64[C, S] of quantities by name.
    """
    pooled = pooling.pool(corpus, [state.tally for state in states], threads)
    refined = refine(
        calibrated.bags, corpus.labels, pooled.consensus.category, pooled.consensus.n_categories, hyperparameters,
        calibrated.seed, threads,
    )  # fmt: skip
    consensus, column = consensus_of(refined, corpus.labels, corpus.n_known)
    chains = pooling.read_all(corpus, [state.tally for state in states], threads)
    stability, category_stability = pooling.stability(corpus, consensus, chains, threads)
    consensus = reckon_with(consensus, corpus.n_known, category_stability, calibrated.scores.blind_share)
    answered = pooled._replace(consensus=consensus, stability=stability, category_stability=category_stability)
    verdict = pooling.verdict(answered, traces)
    diagnostics = {
        "verdict": verdict.level,
        "reasons": list(verdict.reasons),
        "agreement": pooled.agreement.tolist(),
        "temperature": refined.temperature,
    }
    return Conclusion(
        consensus, stability, category_stability, diagnostics, audit(corpus, calibrated, refined.probability[:, column])
    )


def reckon_with(consensus: Consensus, n_known: int, category_stability: Array, blind_share: float) -> Consensus:
    """The answers with their probabilities times the chance that their categories are as the answer has them.

    The regressions take the categories for certain. Two things tell how far that is true, and their mean is taken:

    - the chains: of two sets of one size with Jaccard index J, each shares 2 J / (1 + J) with the other; J is the
      category's stability, 1 where it is not known;
    - the labels: known categories are theirs; a new one is as right as the known ones are when their labels are hidden.
    """
    jaccard = np.where(np.isnan(category_stability), 1.0, category_stability)
    by_chains = 2.0 * jaccard / (1.0 + jaccard)
    by_labels = np.ones(consensus.n_categories)
    by_labels[n_known:] = by_chains[n_known:] if np.isnan(blind_share) else blind_share
    chance = np.append((by_chains + by_labels) / 2.0, 1.0)  # NO_CATEGORY takes the last one
    return consensus._replace(
        probability=consensus.probability * chance[consensus.category],
        runner_up_probability=consensus.runner_up_probability * chance[consensus.runner_up],
    )


def audit(corpus: Corpus, calibrated: Calibration, probability: Array) -> Audit:
    """The labeled documents whose own label is DOUBTFUL. None is changed."""
    labeled = np.flatnonzero((corpus.labels != UNLABELED) & ~calibrated.bags.is_empty)
    if labeled.size == 0 or probability.shape[1] < 2:  # there is no other category to doubt it for
        nobody = np.empty(0, np.int64)
        return Audit(nobody, np.empty(0), nobody, np.empty(0))
    own = probability[labeled, corpus.labels[labeled]].astype(np.float64)
    order = np.argsort(own, kind="stable")
    doubtful = labeled[order][own[order] < DOUBTFUL]
    others = probability[doubtful]
    others[np.arange(doubtful.size), corpus.labels[doubtful]] = -1.0
    likeliest = others.argmax(axis=1)
    return Audit(
        doubtful,
        probability[doubtful, corpus.labels[doubtful]].astype(np.float64),
        likeliest,
        probability[doubtful, likeliest].astype(np.float64),
    )
