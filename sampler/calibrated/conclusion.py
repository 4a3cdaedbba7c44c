"""What the chains of the calibrated model say together: categories, probabilities, diagnostics, and doubtful labels."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from sampler.answers import pooling
from sampler.answers.consensus import Consensus
from sampler.answers.pooling import Pooled
from sampler.answers.verdict import Limits, Reason, Verdict, verdict, worst_limit
from sampler.calibrated.certainty import answered_new, certainty_of_new, chances_of_new
from sampler.calibrated.chain import CalibratedState
from sampler.calibrated.refinement import Fits, among_unlabeled, consensus_of_refined, join_starved, refine_with_draws
from sampler.calibrated.starts import tallies_of_starts
from sampler.calibrated.steps import Calibration
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics.threads import Threads

DOUBTFUL = 0.5  # a label with less probability is listed by the audit
FEWEST_LABELS = 5  # of a category
BLIND_LIMITS: Limits = ((0.65, "unreliable"), (0.85, "mixed"))
INTERVAL = (0.05, 0.95)
NARROW, NARROW_SHARE = 2, 0.35  # categories, and part of them: a wider interval does not say how many there are


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
    label_probability: Array  # float64[D], of a document's own label as the audit has it; NaN where there is none
    fits: Fits | None  # the last regressions, whose targets `column` of each category
    column: Array  # int64[K]
    chance: Array  # float64[K], by which probabilities of a category are discounted, in the mean of its documents


def conclude_chains(
    corpus: Corpus, hyperparameters: CalibratedHyperparameters, calibration: Calibration,
    states: list[CalibratedState], traces: Mapping[str, Array], threads: Threads,
) -> CalibratedConclusion:  # fmt: skip
    """Pool the chains, refine the categories that they agree on, and judge how far they can be trusted.

    `traces` has the kept draws float64[C, S] of `n_categories` and `n_new`, as CalibratedDraw names them.
    """
    bags, seed, n_known = calibration.prepared.bags, calibration.prepared.seed, corpus.n_known
    chains = pooling.read_answers(corpus, [state.tally for state in states], threads)
    starts = [pooling.answers_of(corpus, tally) for tally in tallies_of_starts(calibration)]
    pooled = pooling.pool_answers(corpus, chains, threads, starts)
    rates = calibration.learned.rates
    refined = refine_with_draws(
        bags, corpus.labels, pooled.consensus, pooled.shares, rates, hyperparameters, seed, threads,
        calibration.columns,
    )  # fmt: skip
    refined, joined = join_starved(refined, corpus.labels, n_known)
    refined = among_unlabeled(refined, corpus.labels, rates, threads)
    consensus, column = consensus_of_refined(refined, corpus.labels, n_known)
    stability, category_stability = pooling.stability(corpus, consensus, chains, threads)
    pooled = pooled._replace(consensus=consensus, stability=stability, category_stability=category_stability)
    blind_share = calibration.scores.blind_share
    n_new = traces["n_categories"] - n_known
    voices = [*chains, *starts]
    certainty = certainty_of_new(consensus, corpus.labels, n_known, voices, blind_share, n_new, threads)
    probability = refined.probability[:, column]
    doubts, blamed = audit(corpus.labels, bags.is_empty, probability, n_known)
    findings = [
        *about_labels(corpus.labels, n_known, joined, blamed),
        *about_what_comes_back(blind_share),
        *about_the_number(traces["n_new"] + n_known),
    ]
    discounted = discount(pooled, corpus.labels, n_known, certainty)
    return CalibratedConclusion(
        discounted,
        stability,
        category_stability,
        pooled.agreement,
        verdict(pooled, n_known, {"the number of categories": traces["n_categories"]}, findings),
        refined.temperature,
        doubts,
        label_probability(corpus.labels, bags.is_empty, probability),
        refined.fits,
        column,
        mean_discount(consensus, discounted, corpus.labels),
    )


def about_what_comes_back(blind_share: float) -> Iterator[Reason]:
    """Would the known categories have been found? `blind_share` of their documents are put right without labels."""
    for limit, level in worst_limit(blind_share, BLIND_LIMITS):
        sentence = f"With their labels hidden, {blind_share:.0%} of the documents of known categories are put right"
        yield Reason(level, f"{sentence}, less than {limit:.0%}: new categories will be wrong as often")


def about_the_number(numbers: Array) -> Iterator[Reason]:
    """Do the draws float64[C, S] say how many categories there are?"""
    low, high = np.quantile(numbers, INTERVAL)
    if high - low > max(NARROW, NARROW_SHARE * float(np.median(numbers))):
        yield Reason("mixed", f"There may be {low:.0f} to {high:.0f} categories in all, with 90 % probability")


def about_labels(labels: Array, n_known: int, joined: Array, blamed: Array) -> Iterator[Reason]:
    """What is to be said of the labels: of known categories int64[...] that were joined, or whose labels look wrong."""
    n_labels = np.bincount(labels[labels != UNLABELED], minlength=n_known)
    few = np.flatnonzero(n_labels < FEWEST_LABELS)
    if 2 * few.size > n_known:
        yield Reason("mixed", f"Most categories have fewer than {FEWEST_LABELS} labels, too few to tell known from new")
    elif few.size:
        yield Reason(
            "sound", f"Categories with fewer than {FEWEST_LABELS} labels may be taken for new ones", tuple(few.tolist())
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


def discount(pooled: Pooled, labels: Array, n_known: int, certainty: float) -> Consensus:
    """The answers with their probabilities times the chance that their categories are as the answer has them.

    The regressions take the categories for certain. Of two sets of one size with Jaccard index J, each shares
    2 J / (1 + J) with the other; J is the stability of a category, and that of a document.

    - New categories are as certain as `certainty` has it in the mean, see `certainty.certainty_of_new`, and a document
      the surer the more it shares.
    - A known category is by its labels: half of its chance is 1, the rest the shares of category and document.

    Labeled texts are certain.
    """
    consensus, jaccard = pooled.consensus, np.append(pooled.category_stability, np.nan)  # NO_CATEGORY takes the last
    of_document = shared(pooled.stability)
    of_new = chances_of_new(certainty, of_document, answered_new(consensus, labels, n_known))

    def chance(category: Array) -> Array:
        of_known = (2.0 + shared(jaccard[category]) + of_document) / 4.0
        return np.where(category < n_known, of_known, of_new)

    probability = consensus.probability * np.where(labels == UNLABELED, chance(consensus.category), 1.0)
    runner_up = np.minimum(consensus.runner_up_probability * chance(consensus.runner_up), probability)
    others, last = consensus.other_probability.copy(), runner_up
    for place in range(others.shape[1]):  # none is told as likelier than the one before it
        last = others[:, place] = np.minimum(others[:, place] * chance(consensus.others[:, place]), last)
    return consensus._replace(probability=probability, runner_up_probability=runner_up, other_probability=others)


def mean_discount(before: Consensus, after: Consensus, labels: Array) -> Array:
    """float64[K]: what is left of the probabilities of each category's unlabeled documents; 1 where it has none."""
    answered = np.flatnonzero((labels == UNLABELED) & (before.category != NO_CATEGORY))
    category, size = before.category[answered], before.n_categories
    left = np.bincount(category, after.probability[answered], size)
    whole = np.bincount(category, before.probability[answered], size)
    return np.divide(left, whole, out=np.ones(size), where=whole > 0)


def shared(jaccard: Array) -> Array:
    """The share of either of two sets of one size with this Jaccard index that is in both; 1 where it is not known."""
    known = np.where(np.isnan(jaccard), 1.0, jaccard)
    found: Array = 2.0 * known / (1.0 + known)
    return found


def label_probability(labels: Array, is_empty: Array, probability: Array) -> Array:
    """float64[D]: of each labeled document, how probable its own label is by fits that left the document out.

    NaN for the others, for those without a word, and for all if there is no second category to doubt a label for.
    """
    own = np.full(labels.size, np.nan)
    if probability.shape[1] > 1:
        labeled = np.flatnonzero((labels != UNLABELED) & ~is_empty)
        own[labeled] = probability[labeled, labels[labeled]]
    return own


def audit(labels: Array, is_empty: Array, probability: Array, n_known: int) -> tuple[Audit, Array]:
    """The labeled documents whose own label is DOUBTFUL, of which none is changed; and categories that are not blamed.

    Where most labels of a category are doubtful it is the category that is not understood: none of them is listed, and
    the category is among the latter, int64[...].
    """
    own = label_probability(labels, is_empty, probability)
    labeled = np.flatnonzero(~np.isnan(own))
    if labeled.size == 0:
        nobody = np.empty(0, np.int64)
        return Audit(nobody, np.empty(0), nobody, np.empty(0)), nobody
    own = own[labeled]
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
