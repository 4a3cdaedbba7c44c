"""The steps of the units `atoms` and `calibrate`, and what chains are given of them.

Atoms are found with all labels hidden, so they are reused when labels change. A calibration learns known or new (the
propensity), then groups both sides under every setting from several starts, and weighs the settings. Each step is a
function of the corpus and of the steps before it.
"""

import hashlib
from typing import Any, NamedTuple

import numpy as np

from sampler.calibrated import granularity
from sampler.calibrated.atoms import assign, count, seed_atoms, settle
from sampler.calibrated.bags import WEIGHTINGS, Bags, bag, effective_counts, select, tf_idf
from sampler.calibrated.granularity import KNOWN, NEW, VARIANTS, Scores, Setting, Side
from sampler.calibrated.known_or_new import Propensity, propensity
from sampler.corpus import Array, Corpus
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics import streams
from sampler.numerics.streams import Step
from sampler.numerics.threads import Threads

SIDES = (KNOWN, NEW)
FIRST_RUN = 1  # run 0 of the streams belongs to the atoms of the whole corpus

Arrays = dict[str, Array]


def words_digest(corpus: Corpus) -> str:
    """SHA-256 in hex of all that atoms are made from: the words and where documents begin, not the labels."""
    hashed = hashlib.sha256(str(corpus.n_words).encode())
    for array in (corpus.words, corpus.offsets):
        hashed.update(np.ascontiguousarray(array).data)
    return hashed.hexdigest()


def n_atom_runs(hyperparameters: CalibratedHyperparameters) -> int:
    """Steps of the unit `atoms`: one for each weighting."""
    return WEIGHTINGS


def atom_run(
    corpus: Corpus, hyperparameters: CalibratedHyperparameters, seed: int, number: int, threads: Threads
) -> Arrays:
    """`atoms` uint16[smoothings, D]: the atoms of all documents under one weighting."""
    bags = bag(corpus)
    values = effective_counts(bags, number, hyperparameters.effective_length)
    sample = streams.chosen(np.flatnonzero(~bags.is_empty), hyperparameters.sample_size, seed, Step.SAMPLE)
    if sample.size == 0:
        return {"atoms": np.zeros((len(hyperparameters.smoothings), corpus.n_documents), np.uint16)}
    part, entries = select(bags, sample)
    n_atoms = max(min(max(hyperparameters.n_atoms, int(sample.size**0.5)), sample.size // 3), 1)
    seeds = seed_atoms(part, tf_idf(part), n_atoms, streams.stream(seed, 0, 0, Step.ATOM_SEEDS), threads)
    found = []
    for smoothing in hyperparameters.smoothings:
        prior = np.full(bags.n_words, smoothing)
        settled = settle(part, values[entries], seeds, prior, hyperparameters.n_atom_sweeps, (seed, number), threads)
        counts = count(part, values[entries], settled, int(settled.max()) + 1, threads)
        atom = assign(bags, values, counts, prior, threads)
        atom[sample] = settled
        found.append(atom)
    return {"atoms": np.array(found).astype(np.uint16)}


def n_calibration_steps(hyperparameters: CalibratedHyperparameters) -> int:
    """Steps of the unit `calibrate`: known or new, then each start, side and variant."""
    return 1 + hyperparameters.n_starts * len(SIDES) * len(VARIANTS)


def calibration_step(
    corpus: Corpus, hyperparameters: CalibratedHyperparameters, seed: int, runs: list[Arrays], done: list[Arrays],
    number: int, threads: Threads,
) -> Arrays:  # fmt: skip
    """The result of one step from those before it."""
    bags = bag(corpus)
    if number == 0:
        atoms = [atom for run in runs for atom in run["atoms"]]
        learned = propensity(bags, corpus.labels, corpus.n_known, atoms, hyperparameters, seed, threads)
        return {name: np.asarray(value) for name, value in learned._asdict().items()}
    start, which = divmod(number - 1, len(SIDES) * len(VARIANTS))
    side, variant = divmod(which, len(VARIANTS))
    weighting, has_background = VARIANTS[variant]
    part = granularity.side(side, bags, learned_in(done), hyperparameters, seed)
    values = effective_counts(bags, weighting, hyperparameters.effective_length)[part.entries]
    address = (seed, FIRST_RUN + start)
    groups = granularity.group_side(part, values, has_background, corpus.n_known, hyperparameters, address, threads)
    if side == KNOWN:  # the others are there to be grouped with
        groups = groups[:, granularity.labeled_of(part, corpus.labels)]
    return {"groups": groups}


def all_atom_runs(
    corpus: Corpus, hyperparameters: CalibratedHyperparameters, seed: int, threads: Threads
) -> list[Arrays]:  # fmt: skip
    """The results of all steps of `atoms`, for whoever keeps none of them."""
    return [atom_run(corpus, hyperparameters, seed, n, threads) for n in range(n_atom_runs(hyperparameters))]


def all_steps(
    corpus: Corpus, hyperparameters: CalibratedHyperparameters, seed: int, runs: list[Arrays], threads: Threads
) -> list[Arrays]:
    """The results of all steps of `calibrate`, for whoever keeps none of them."""
    done: list[Arrays] = []
    for number in range(n_calibration_steps(hyperparameters)):
        done.append(calibration_step(corpus, hyperparameters, seed, runs, done, number, threads))
    return done


def learned_in(done: list[Arrays]) -> Propensity:
    """The result of the first step."""
    return Propensity(float(done[0]["rate"]), done[0]["known"], done[0]["category"])


class Calibration(NamedTuple):
    """All that chains share."""

    bags: Bags
    values: tuple[Array, ...]  # float32[E], effective counts under each weighting
    learned: Propensity
    new_side: Side
    settings: list[Setting]  # all
    scores: Scores
    seed: int

    @property
    def kept(self) -> Array:
        """int64[...]: the settings that have a weight."""
        return np.flatnonzero(self.scores.weight > 0)

    def report(self) -> dict[str, Any]:
        """What a user is told: the labeling rate and the kept settings, best first."""
        order = self.kept[np.argsort(-self.scores.weight[self.kept], kind="stable")]
        return {
            "labeling_rate": None if np.isnan(self.learned.rate) else self.learned.rate,
            "settings": [
                {
                    "weighting": ("flat", "inverse_frequency")[self.settings[s].weighting],
                    "background": self.settings[s].has_background,
                    "smoothing": self.settings[s].smoothing,
                    "power": self.settings[s].power,
                    "given_back": float(self.scores.given_back[s]),
                    "stability": float(self.scores.stability[s]),
                    "weight": float(self.scores.weight[s]),
                }
                for s in order
            ],
        }


def read(
    corpus: Corpus, hyperparameters: CalibratedHyperparameters, seed: int, done: list[Arrays],
    threads: Threads | None = None,
) -> Calibration:  # fmt: skip
    """Read the calibration from the results of all steps. Without threads nothing interrupts it."""
    bags, learned = bag(corpus), learned_in(done)
    known_side, new_side = (granularity.side(number, bags, learned, hyperparameters, seed) for number in SIDES)
    groups: dict[int, list[Array]] = {KNOWN: [], NEW: []}
    for first in range(1, len(done), len(VARIANTS)):
        side = (first - 1) // len(VARIANTS) % len(SIDES)
        groups[side].append(np.concatenate([step["groups"] for step in done[first : first + len(VARIANTS)]]))
    labels = corpus.labels[known_side.documents[granularity.labeled_of(known_side, corpus.labels)]]
    scores = granularity.score(groups[KNOWN], labels, corpus.n_known, groups[NEW], hyperparameters, threads)
    values = tuple(effective_counts(bags, w, hyperparameters.effective_length) for w in range(WEIGHTINGS))
    return Calibration(bags, values, learned, new_side, granularity.settings(hyperparameters), scores, seed)
