"""What the chains of the calibrated model say together: categories, probabilities, diagnostics, and doubtful labels."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sampler import pooling
from sampler.calibrated import CalibratedState
from sampler.calibration_steps import Calibration
from sampler.consensus import Consensus
from sampler.corpus import UNLABELED, Array, Corpus
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.refinement import consensus_of, refine
from sampler.workers import Workers

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
    states: list[CalibratedState], traces: Mapping[str, Array], workers: Workers,
) -> Conclusion:  # fmt: skip
    """Pool the chains, refine the categories that they agree on, and judge how far they can be trusted.

    `traces` has kept draws float64[C, S] of quantities by name.
    """
    pooled = pooling.pool(corpus, [state.tally for state in states])
    refined = refine(
        calibrated.bags, corpus.labels, pooled.consensus.category, pooled.consensus.n_categories, hyperparameters,
        calibrated.seed, workers,
    )  # fmt: skip
    consensus, column = consensus_of(refined, corpus.labels, corpus.n_known)
    chains = [pooling.read(corpus, state.tally) for state in states]
    stability, category_stability = pooling.stability(corpus, consensus, chains)
    consensus = reckon_with(consensus, stability, category_stability)
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


def reckon_with(consensus: Consensus, stability: Array, category_stability: Array) -> Consensus:
    """The answers with their probabilities times the share of its company that a document keeps.

    The regressions take the categories for certain. Of two sets of one size with Jaccard index J, each shares
    2 J / (1 + J) with the other: so likely are the categories themselves as the answer has them. J is the mean of what
    the chains say of the document and of its category.
    """
    of_category = np.append(category_stability, np.nan)[consensus.category]  # NONE takes the last one
    jaccard = (stability + of_category) / 2.0
    share = np.where(np.isnan(jaccard), 1.0, 2.0 * jaccard / (1.0 + jaccard))
    return consensus._replace(
        probability=np.minimum(consensus.probability * share, 1.0),
        runner_up_probability=np.minimum(consensus.runner_up_probability * share, 1.0),
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
