"""Every kind of long work that a leg does, on a corpus where it takes a moment, and on one where it takes minutes.

Later stages begin with results at random: what comes of them does not matter, only how long it takes.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from sampler.answers import consensus
from sampler.answers.consensus import Consensus
from sampler.answers.others import no_others
from sampler.answers.portraits import portraits
from sampler.answers.tally import Tally, no_tally
from sampler.answers.tree import tree_of
from sampler.answers.words import distances, group_words, word_counts
from sampler.calibrated import chain as calibrated_chain
from sampler.calibrated import checkpoint as calibrated_checkpoint
from sampler.calibrated import granularity, steps
from sampler.calibrated.atom_groups import atom_rows, regroup
from sampler.calibrated.atoms import count_atoms, settle_atoms
from sampler.calibrated.bags import WEIGHTINGS, effective_counts, word_bags, word_prior
from sampler.calibrated.chain import CalibratedState, GroupedAtoms
from sampler.calibrated.conclusion import conclude_chains
from sampler.calibrated.granularity import Scores
from sampler.calibrated.known_or_new import Propensity
from sampler.calibrated.power_test import power_step
from sampler.calibrated.prepared import PreparedCorpus
from sampler.calibrated.refinement import refine
from sampler.calibrated.settings import all_settings
from sampler.calibrated.sides import NEW_SIDE
from sampler.calibrated.steps import Arrays, Calibration
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus, fingerprint
from sampler.hyperparameters import CalibratedHyperparameters, Hyperparameters
from sampler.lbpl_ntm import chain, topics_of_categories
from sampler.lbpl_ntm.assignments import recount
from sampler.lbpl_ntm.checkpoint import dump
from sampler.lbpl_ntm.collapsed.state import CollapsedState
from sampler.lbpl_ntm.start import seated
from sampler.lbpl_ntm.state import State
from sampler.lbpl_ntm.topics_of_categories import Topics
from sampler.numerics.threads import Threads

Work = Callable[[Threads], object]
N_DRAWS = 10


class Size(NamedTuple):
    """How much there is to do."""

    n_documents: int
    length: int
    n_words: int
    n_known: int
    n_topics: int
    n_start: int  # of Algorithm 1
    calibrated: CalibratedHyperparameters
    n_chains: int
    n_sweeps: int


SMALL = Size(
    90, 20, 60, 2, 6, 3,
    CalibratedHyperparameters(
        n_atoms=10, n_atom_sweeps=2, smoothings=(0.4, 0.8), powers=(0.0, 1.0, 2.0), n_topics=6, n_refinements=1
    ),
    2, 9,
)  # fmt: skip
LARGE = Size(
    12_000, 40, 3_000, 400, 2_000, 4_000,
    CalibratedHyperparameters(
        n_atoms=4_000, n_atom_sweeps=1_000, n_starts=16, n_folds=20, n_topics=2_000, n_refinements=20, n_settings=100,
        smoothings=tuple(np.linspace(0.1, 2.0, 16).tolist()), powers=tuple(np.linspace(-1.0, 3.0, 16).tolist()),
    ),
    64, 10_000,
)  # fmt: skip


@cache
def corpus_of(size: Size) -> Corpus:
    """Documents of neighboring words, about a third of them labeled."""
    rng, n_categories = np.random.default_rng(91), 2 * size.n_known
    truth = np.arange(size.n_documents) % n_categories
    first = truth * (size.n_words // n_categories)
    words = first[:, None] + rng.geometric(10.0 / size.n_words, (size.n_documents, size.length))
    is_labeled = (truth < size.n_known) & (rng.random(size.n_documents) < 0.6)
    return Corpus(
        (words % size.n_words).ravel().astype(np.int32),
        np.arange(size.n_documents + 1, dtype=np.int64) * size.length,
        np.where(is_labeled, truth, UNLABELED).astype(np.int32),
        size.n_words,
        size.n_known,
    )


def prepared(size: Size) -> PreparedCorpus:
    """The corpus as a leg begins with it."""
    return PreparedCorpus(corpus_of(size), size.calibrated, 1)


def start_blocked(size: Size) -> Work:
    corpus, model = corpus_of(size), Hyperparameters(n_topics=size.n_topics, n_start=size.n_start)
    return lambda threads: dump(corpus, chain.start(corpus, model, 1, 0, "blocked", threads))


def start_collapsed(size: Size) -> Work:
    """With few topics, so that it comes to the superfluous categories soon."""
    corpus, model = corpus_of(size), Hyperparameters(n_topics=2, n_start=size.n_start)
    return lambda threads: dump(corpus, chain.start(corpus, model, 1, 0, "collapsed", threads))


def swept(corpus: Corpus, model: Hyperparameters, state: State, size: Size, threads: Threads) -> object:
    """What some sweeps leave."""
    draws = [chain.sweep(corpus, model, state, threads) for _ in range(size.n_sweeps)]
    return draws, dump(corpus, state)


def sweep_blocked(size: Size) -> Work:
    """With births, splits and merges, and from a start that takes no time."""
    corpus, model = corpus_of(size), Hyperparameters(n_topics=6, birth_share=0.5, start="random")
    state = chain.start(corpus, model, 1, 0, "blocked")
    return lambda threads: swept(corpus, model, state, size, threads)


def sweep_collapsed(size: Size) -> Work:
    """From documents in categories at random: a single sweep of the large size takes half a minute."""
    corpus, model = corpus_of(size), Hyperparameters(n_topics=size.n_topics)
    small = chain.start(corpus_of(SMALL), Hyperparameters(n_topics=1, n_start=0), 1, 0, "collapsed")
    rng = np.random.default_rng(92)
    topic = rng.integers(size.n_topics, size=corpus.n_tokens).astype(np.int32)
    categories = size.n_known + rng.integers(size.n_start, size=corpus.n_documents)
    assignments = seated(corpus, topic, categories, size.n_known + size.n_start + 2)
    assignments.identity[: size.n_known] = np.arange(size.n_known)
    counts = recount(corpus, assignments, size.n_topics)
    facts = {**vars(small), "fingerprint": fingerprint(corpus), "n_topics": size.n_topics, "n_born": size.n_known}
    state = CollapsedState(**{**facts, "assignments": assignments, "counts": counts})
    chain.name_new_categories(state)
    return lambda threads: swept(corpus, model, state, size, threads)


def run_atoms(size: Size) -> Work:
    """The large size does not get beyond the seeds."""
    return lambda threads: steps.atom_run(prepared(size), 1, threads)


def atoms_at_random(n_documents: int, size: Size) -> Array:
    """int32[n]: documents in as many atoms as there may be."""
    n_atoms = max(min(size.calibrated.n_atoms, n_documents // 3), 1)
    return np.random.default_rng(93).permutation(np.arange(n_documents) % n_atoms).astype(np.int32)


def sweep_atoms(size: Size) -> Work:
    bags = word_bags(corpus_of(size))
    values, prior = effective_counts(bags, 1, 10.0), np.full(bags.n_words, 0.4)
    atom = atoms_at_random(bags.n_documents, size)
    return lambda threads: settle_atoms(bags, values, atom, prior, size.calibrated.n_atom_sweeps, (1, 1), threads)


def atom_runs(size: Size) -> list[Arrays]:
    """Results of all steps of `atoms`."""
    rng, shape = np.random.default_rng(94), (len(size.calibrated.smoothings), size.n_documents)
    n_atoms = max(size.n_documents // 4, 1)
    return [{"atoms": rng.integers(n_atoms, size=shape).astype(np.uint16)} for _ in range(WEIGHTINGS)]


def learn_known(size: Size) -> Work:
    """Step 0: folds of regressions."""
    runs = atom_runs(size)
    return lambda threads: steps.calibration_step(prepared(size), runs, [], 0, threads)


def learned(size: Size) -> Propensity:
    """A result of step 0."""
    corpus, rng = corpus_of(size), np.random.default_rng(95)
    is_labeled = corpus.labels != UNLABELED
    known = np.where(is_labeled, 1.0, rng.random(size.n_documents)).astype(np.float32)
    category = np.where(is_labeled, corpus.labels, rng.integers(size.n_known, size=size.n_documents))
    return Propensity(0.5, np.full(size.n_known, 0.5), known, category.astype(np.int32))


def group_side(size: Size) -> Work:
    """Step 4: the new side."""
    done = [{name: np.asarray(value) for name, value in learned(size)._asdict().items()}]
    return lambda threads: steps.calibration_step(prepared(size), [], done, 4, threads)


def group_atoms(size: Size) -> Work:
    """What follows the atoms of a side."""
    bags = word_bags(corpus_of(size))
    atom = atoms_at_random(bags.n_documents, size)
    rows = atom_rows(count_atoms(bags, effective_counts(bags, 0, 10.0), atom, int(atom.max()) + 1))
    prior, powers = word_prior(rows.word_totals, 0.4, True), list(size.calibrated.powers)
    return lambda threads: regroup(rows, np.arange(rows.size.size), prior, powers, 4, np.uint64(1), threads=threads)


def score_settings(size: Size) -> Work:
    corpus, rng = corpus_of(size), np.random.default_rng(96)
    labels = corpus.labels[corpus.labels != UNLABELED]
    n_settings, n_starts = len(all_settings(size.calibrated)), size.calibrated.n_starts
    known, new = (
        [rng.integers(50, size=(n_settings, n), dtype=np.uint16) for _ in range(n_starts)]
        for n in (labels.size, size.n_documents)
    )
    return lambda threads: granularity.score_settings(known, labels, size.n_known, new, size.calibrated, threads)


def calibration_of(size: Size) -> Calibration:
    """A calibration that keeps as many settings as it may."""
    given, settings = prepared(size), all_settings(size.calibrated)
    weight, nothing = np.zeros(len(settings)), np.zeros(len(settings))
    n_kept = min(size.calibrated.n_settings, len(settings))
    weight[:n_kept] = 1.0 / n_kept
    found = np.ones((len(settings), size.calibrated.n_starts), np.int64)
    scores = Scores(nothing, nothing, nothing, weight, found, found, found.astype(np.float64))
    found_known = learned(size)
    powers = np.array([setting.power for setting in settings])
    return Calibration(given, found_known, given.side(NEW_SIDE, found_known), settings, powers, scores)


def start_calibrated(size: Size) -> Work:
    corpus, found = corpus_of(size), calibration_of(size)
    return lambda threads: calibrated_checkpoint.dump(
        calibrated_chain.start(corpus, size.calibrated, found, 1, 0, threads)
    )


def chain_at_random(size: Size, found: Calibration) -> CalibratedState:
    """A chain of which every atom is a group."""
    part, corpus = found.new_side, corpus_of(size)
    state = CalibratedState(fingerprint(corpus), 1, 0, 0, size.n_known, no_tally(), "0", {}, {})
    own = atoms_at_random(part.documents.size, size)
    atom = np.zeros(size.n_documents, np.int64)
    atom[part.documents] = own
    for s in found.kept:
        setting = found.settings[s]
        if setting.atoms not in state.atoms:
            values = part.values[setting.weighting]
            rows = atom_rows(count_atoms(part.bags, values, own, int(own.max()) + 1))
            prior = word_prior(rows.word_totals, setting.smoothing, setting.has_background)
            state.atoms[setting.atoms] = GroupedAtoms(atom, rows, prior)
        state.groups[int(s)] = np.arange(int(own.max()) + 1)
    return state


def sweep_calibrated(size: Size) -> Work:
    corpus, found = corpus_of(size), calibration_of(size)
    state = chain_at_random(size, found)
    return lambda threads: [calibrated_chain.sweep(corpus, found, state, threads) for _ in range(size.n_sweeps)]


def load_calibrated(size: Size) -> Work:
    corpus, found = corpus_of(size), calibration_of(size)
    data = calibrated_checkpoint.dump(chain_at_random(size, found))
    return lambda threads: calibrated_checkpoint.dump(calibrated_checkpoint.load(corpus, found, data, threads))


def answers_at_random(size: Size) -> Array:
    """int32[D]: categories of all documents."""
    corpus, rng = corpus_of(size), np.random.default_rng(97)
    new = size.n_known + rng.integers(size.n_known, size=size.n_documents)
    return np.where(corpus.labels == UNLABELED, new, corpus.labels).astype(np.int32)


def tallies_at_random(size: Size, rng: np.random.Generator) -> list[Tally]:
    """Of each chain: every unlabeled document is in four categories."""
    free = np.flatnonzero(corpus_of(size).labels == UNLABELED).astype(np.int32)
    found = []
    for _ in range(size.n_chains):
        identity = np.stack([rng.integers(k * size.n_known, (k + 1) * size.n_known, free.size) for k in range(4)])
        hits = np.tile(np.array([4, 3, 2, 1], np.int32), free.size)
        found.append(Tally(N_DRAWS, np.repeat(free, 4), identity.T.ravel(), hits))
    return found


def conclude(size: Size) -> Work:
    """Pool the chains, refine, judge."""
    corpus, found, rng = corpus_of(size), calibration_of(size), np.random.default_rng(98)
    states = [
        CalibratedState("", 1, 0, N_DRAWS, 4 * size.n_known, tally, "0", {}, {})
        for tally in tallies_at_random(size, rng)
    ]
    traces = {name: rng.random((size.n_chains, N_DRAWS)) for name in ("n_categories", "n_new")}
    return lambda threads: conclude_chains(corpus, size.calibrated, found, states, traces, threads)


def refine_answers(size: Size) -> Work:
    corpus, category = corpus_of(size), answers_at_random(size)
    bags = word_bags(corpus)
    return lambda threads: refine(bags, corpus.labels, category, 2 * size.n_known, size.calibrated, 1, threads)


def learn_topics(size: Size) -> Work:
    corpus, category = corpus_of(size), answers_at_random(size)
    model = Hyperparameters(n_topics=size.n_topics)
    return lambda threads: topics_of_categories.learn_topics(corpus, category, 2 * size.n_known, model, 1, threads)


def name_topics(size: Size) -> Work:
    """Of more words than the corpus has, for their sorting takes longest."""
    rng = np.random.default_rng(99)
    chances = rng.random((4 * size.n_words, size.n_topics))
    found = Topics(np.ones((1, size.n_topics)), chances, rng.random(size.n_topics))
    return lambda threads: topics_of_categories.top_words(found, 5, threads)


def name_categories(size: Size) -> Work:
    """Again and again: once takes seconds, even of the large size."""
    corpus, category = corpus_of(size), answers_at_random(size)
    answers = Consensus(2 * size.n_known, category, np.ones(0), category, np.ones(0), np.ones(0), *no_others(0))
    return lambda threads: [consensus.category_words(corpus, answers, 5, threads) for _ in range(size.n_chains)]


def portray_categories(size: Size) -> Work:
    corpus, category = corpus_of(size), answers_at_random(size)
    nobody, sure = np.full(category.size, NO_CATEGORY), np.full(category.size, 0.9)
    unknown, others = np.full(category.size, np.nan), no_others(category.size)
    answers = Consensus(2 * size.n_known, category, sure, nobody, unknown, sure, *others)
    counts, weight = word_counts(corpus), np.ones(category.size, np.int64)

    def work(threads: Threads) -> object:
        words = group_words(counts, category, answers.n_categories, threads)
        return portraits(counts, words, distances(words, threads), corpus.labels, answers, weight, threads)

    return work


def grow_tree(size: Size) -> Work:
    category, rng = answers_at_random(size), np.random.default_rng(96)
    tallies, weight = tallies_at_random(size, rng), np.ones(category.size, np.int64)
    atoms = [rng.integers(size.n_known, size=category.size)]
    return lambda threads: tree_of(category, size.n_known, weight, tallies, atoms, threads)


def power_test(size: Size) -> Work:
    runs = atom_runs(size)
    return lambda threads: power_step(prepared(size), runs, 1, threads)


STAGES: dict[str, Callable[[Size], Work]] = {
    "start of the blocked sampler": start_blocked,
    "start of Algorithm 1": start_collapsed,
    "sweeps of the blocked sampler": sweep_blocked,
    "a sweep of Algorithm 1": sweep_collapsed,
    "an atom run": run_atoms,
    "sweeps of atoms": sweep_atoms,
    "known or new": learn_known,
    "groups of a side": group_side,
    "groups of atoms": group_atoms,
    "scores": score_settings,
    "start of a calibrated chain": start_calibrated,
    "sweeps of a calibrated chain": sweep_calibrated,
    "a checkpoint of a calibrated chain": load_calibrated,
    "conclusion": conclude,
    "refinement": refine_answers,
    "topics": learn_topics,
    "words of topics": name_topics,
    "words of categories": name_categories,
    "portraits of categories": portray_categories,
    "the tree over new categories": grow_tree,
    "a power test": power_test,
}
