"""The power test: would a known category have been found if nobody had named it?

One known category at a time loses its labels. All steps of the calibrated model are taken again, but for the atoms,
which do not depend on labels, and the answer is judged where the labels say what it ought to be.
"""

import numpy as np

from sampler.calibrated import chain as calibrated_chain
from sampler.calibrated import steps
from sampler.calibrated.chain import CalibratedState
from sampler.calibrated.conclusion import CalibratedConclusion, conclude_chains
from sampler.calibrated.prepared import PreparedCorpus
from sampler.calibrated.steps import Arrays, Calibration
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.numerics.threads import Threads

POWER_SWEEPS, POWER_BURN_IN = 20, 5  # of the one chain
SEEN = 0.5  # Jaccard index from which on a draw has the hidden category


def hide(corpus: Corpus, category: int) -> Corpus:
    """The corpus without the labels of one known category; those above it move down by one."""
    labels = np.where(corpus.labels == category, UNLABELED, corpus.labels - (corpus.labels > category))
    return corpus._replace(labels=labels.astype(np.int32), n_known=corpus.n_known - 1)


def power_step(prepared: PreparedCorpus, runs: list[Arrays], category: int, threads: Threads) -> Arrays:
    """How a known category is found again from the atoms of `runs` once its labels are hidden; scalars by name.

    Of its documents with a word, and those of other labels:
    `found`        float64, Jaccard index of the category with the new one that is most like it; see `likeness`
    `recall`       float64, share of the hidden documents in that new category
    `taken_for`    int64, the known category with most of them, as the whole corpus numbers it, or NO_CATEGORY
    `taken`        float64, share of the hidden documents in it
    `probability`  float64, share of the kept draws in which a new category has at least half of them
    """
    corpus, hyperparameters, seed = prepared.corpus, prepared.hyperparameters, prepared.seed
    hidden_corpus = hide(corpus, category)
    relabeled = prepared.relabeled(hidden_corpus)
    done = steps.all_steps(relabeled, runs, threads)
    calibration = steps.read_calibration(relabeled, done, threads)
    hidden = np.flatnonzero((corpus.labels == category) & ~prepared.bags.is_empty)
    state = calibrated_chain.start(hidden_corpus, hyperparameters, calibration, seed, 0, threads)
    draws, seen = [], []
    for _ in range(POWER_SWEEPS):
        draw = calibrated_chain.sweep(hidden_corpus, calibration, state, threads)
        if state.n_sweeps > POWER_BURN_IN:
            calibrated_chain.keep(hidden_corpus, calibration, state)
            draws.append(draw)
            seen.append(is_seen(hidden_corpus, calibration, state, hidden))
    traces = calibrated_chain.traces_of([draws])
    conclusion = conclude_chains(hidden_corpus, hyperparameters, calibration, [state], traces, threads)
    return {**judge(hidden_corpus, conclusion, hidden, category), "probability": np.asarray(np.mean(seen))}


def is_seen(corpus: Corpus, calibration: Calibration, state: CalibratedState, hidden: Array) -> bool:
    """Whether some new category of the last sweep has the hidden documents with a Jaccard index of SEEN.

    A draw leaves labeled documents where they are: of them, a new category has hidden ones alone.
    """
    slots = calibrated_chain.document_slots(corpus, calibration, state)[hidden]
    sizes = np.bincount(slots[slots >= corpus.n_known])
    return bool(hidden.size and sizes.max(initial=0) >= SEEN * hidden.size)


def judge(corpus: Corpus, conclusion: CalibratedConclusion, hidden: Array, category: int) -> Arrays:
    """What the answer for a corpus without the labels of a category makes of its documents."""
    n_known, n_hidden = corpus.n_known, max(hidden.size, 1)
    sizes = np.bincount(conclusion.consensus.category[hidden], minlength=conclusion.consensus.n_categories)
    alike = likeness(corpus, conclusion, sizes, hidden.size)
    best = int(alike.argmax()) if alike.size else NO_CATEGORY
    taken_for = int(sizes[:n_known].argmax())
    taken = int(sizes[taken_for])
    return {
        "found": np.asarray(float(alike[best]) if alike.size else 0.0),
        "recall": np.asarray(float(sizes[n_known + best] / n_hidden) if alike.size else 0.0),
        "taken_for": np.asarray(taken_for + (taken_for >= category) if taken else NO_CATEGORY),
        "taken": np.asarray(taken / n_hidden),
    }


def likeness(corpus: Corpus, conclusion: CalibratedConclusion, sizes: Array, n_hidden: int) -> Array:
    """float64[new categories]: Jaccard index of each with the hidden documents, among all that have or had a label.

    `sizes` has the hidden documents in each category. A document that still has its label counts for a new category if
    that is likelier than the label by fits that did not see it: an answer never changes a label.
    """
    audit = conclusion.audit
    is_drawn = audit.suggested_probability > audit.probability
    drawn = np.bincount(audit.suggested[is_drawn], minlength=sizes.size)[corpus.n_known :]
    found: Array = sizes[corpus.n_known :] / np.maximum(n_hidden + drawn, 1)
    return found
