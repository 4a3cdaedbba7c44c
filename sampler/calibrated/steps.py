"""The steps of the units `atoms` and `calibrate`, and what chains are given of them.

Atoms are found with all labels hidden, so they are reused when labels change. A calibration learns known or new (the
propensity), then groups both sides under every setting from several starts, and weighs the settings. Each step is a
function of the corpus and of the steps before it; what several steps need of the corpus is prepared once.
"""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sampler.calibrated.atoms import count_atoms, likeliest_atoms, settle_atoms
from sampler.calibrated.bags import WEIGHTINGS
from sampler.calibrated.directions import Columns
from sampler.calibrated.granularity import Scores, score_settings
from sampler.calibrated.known_or_new import Propensity, propensity
from sampler.calibrated.labeled_groups import blended, company, groupings, weight_of_groups
from sampler.calibrated.new_side_powers import match_powers, new_side_powers
from sampler.calibrated.prepared import PreparedCorpus
from sampler.calibrated.settings import Setting, all_settings, variants
from sampler.calibrated.sides import BOTH_SIDES, KNOWN_SIDE, NEW_SIDE, Side, group_side, labeled_of
from sampler.corpus import UNLABELED, Array, Corpus
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics.threads import Threads

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


def atom_run(prepared: PreparedCorpus, number: int, threads: Threads) -> Arrays:
    """`atoms` uint16[smoothings, D]: the atoms of all documents under one weighting."""
    bags, sample, hyperparameters = prepared.bags, prepared.sample, prepared.hyperparameters
    if sample.documents.size == 0:
        return {"atoms": np.zeros((len(hyperparameters.smoothings), bags.n_documents), np.uint16)}
    values, seeds, address = prepared.values(number), prepared.seeds(threads), (prepared.seed, number)
    own_values, found = values[sample.entries], []
    for smoothing in hyperparameters.smoothings:
        prior = np.full(bags.n_words, smoothing)
        own = settle_atoms(sample.bags, own_values, seeds, prior, hyperparameters.n_atom_sweeps, address, threads)
        counts = count_atoms(sample.bags, own_values, own, int(own.max()) + 1, threads)
        atom = likeliest_atoms(bags, values, counts, prior, threads)
        atom[sample.documents] = own
        found.append(atom)
    return {"atoms": np.array(found).astype(np.uint16)}


def n_calibration_steps(hyperparameters: CalibratedHyperparameters, has_vectors: bool = False) -> int:
    """Steps of the unit `calibrate`: known or new, then each start, side and variant."""
    return 1 + hyperparameters.n_starts * len(BOTH_SIDES) * len(variants(has_vectors))


def calibration_step(
    prepared: PreparedCorpus, runs: list[Arrays], done: list[Arrays], number: int, threads: Threads
) -> Arrays:
    """The result of one step from those before it."""
    corpus, hyperparameters, seed = prepared.corpus, prepared.hyperparameters, prepared.seed
    if number == 0:
        learned = learn(prepared, [atom for run in runs for atom in run["atoms"]], threads)
        told = {name: np.asarray(value) for name, value in learned._asdict().items()}
        return told if prepared.has_vectors else {name: told[name] for name in told if name != "scales"}
    all_variants = variants(prepared.has_vectors)
    start, which = divmod(number - 1, len(BOTH_SIDES) * len(all_variants))
    side_number, place = divmod(which, len(all_variants))
    variant = all_variants[place]
    learned, address = learned_in(done), (seed, FIRST_RUN + start)
    side = prepared.side(side_number, learned)
    seeds = prepared.side_seeds(side_number, learned, address, threads, variant.has_vectors)
    powers = sorted(hyperparameters.powers) if side_number == KNOWN_SIDE else new_side_powers(hyperparameters)
    groups = group_side(side, seeds, variant, powers, hyperparameters, address, threads)
    if side_number == KNOWN_SIDE:  # the others are there to be grouped with
        groups = groups[:, labeled_of(side, corpus.labels)]
    return {"groups": groups}


def learn(prepared: PreparedCorpus, atoms: list[Array], threads: Threads) -> Propensity:
    """Known or new, by a regression, and by groups as far as labels are few."""
    corpus, hyperparameters, bags = prepared.corpus, prepared.hyperparameters, prepared.bags
    learned = propensity(
        bags, corpus.labels, corpus.n_known, atoms, hyperparameters, prepared.seed, threads, prepared.places
    )  # fmt: skip
    n_atoms = max((int(atom.max(initial=0)) + 1 for atom in atoms), default=0)
    weight = weight_of_groups(corpus.labels, corpus.n_known, n_atoms)
    if weight == 0.0 or np.isnan(learned.rate):
        return learned
    values = [prepared.values(weighting) for weighting in range(WEIGHTINGS)]
    groups = groupings(bags, values, atoms, hyperparameters, prepared.seed, threads)
    told = company(groups, corpus.labels, ~bags.is_empty, corpus.n_known, hyperparameters, threads)
    is_labeled = corpus.labels != UNLABELED
    known = np.where(is_labeled, 1.0, blended(learned.known, told.known, weight))
    follows = ~is_labeled & (told.known > 0.5) & (weight > 0.5)
    category = np.where(follows, told.category, learned.category)
    return learned._replace(known=known.astype(np.float32), category=category.astype(np.int32))


def all_atom_runs(prepared: PreparedCorpus, threads: Threads) -> list[Arrays]:
    """The results of all steps of `atoms`, for whoever keeps none of them."""
    return [atom_run(prepared, n, threads) for n in range(n_atom_runs(prepared.hyperparameters))]


def all_steps(prepared: PreparedCorpus, runs: list[Arrays], threads: Threads) -> list[Arrays]:
    """The results of all steps of `calibrate`, for whoever keeps none of them."""
    done: list[Arrays] = []
    for number in range(n_calibration_steps(prepared.hyperparameters, prepared.has_vectors)):
        done.append(calibration_step(prepared, runs, done, number, threads))
    return done


def learned_in(done: list[Arrays]) -> Propensity:
    """The result of the first step."""
    rate, *rest = (done[0][name] for name in Propensity._fields if name in done[0])
    return Propensity(float(rate), *rest)


def used_vectors(done: list[Arrays]) -> bool:
    """Whether the first step knew vectors."""
    return "scales" in done[0]


class Calibration(NamedTuple):
    """All that chains share."""

    prepared: PreparedCorpus
    learned: Propensity
    new_side: Side
    settings: list[Setting]  # all
    new_powers: Array  # float64[S], that of the new side under each, see `new_side_powers`
    scores: Scores
    groups_of_starts: Sequence[Array] = ()  # int[kept settings, n] by each start, of the new side's documents

    @property
    def columns(self) -> Columns:
        """The vectors as the regressions on categories see them."""
        return Columns(self.prepared.places, float(self.learned.scales[1]))

    @property
    def kept(self) -> Array:
        """int64[...]: the settings that have a weight."""
        return np.flatnonzero(self.scores.weight > 0)


def read_calibration(prepared: PreparedCorpus, done: list[Arrays], threads: Threads | None = None) -> Calibration:
    """Read the calibration from the results of all steps. Without threads nothing interrupts it."""
    corpus, hyperparameters, learned = prepared.corpus, prepared.hyperparameters, learned_in(done)
    threads, has_vectors = threads or Threads(), used_vectors(done)
    n_variants = len(variants(has_vectors))
    known_side, new_side = (prepared.side(number, learned) for number in BOTH_SIDES)
    groups: dict[int, list[Array]] = {KNOWN_SIDE: [], NEW_SIDE: []}
    for first in range(1, len(done), n_variants):
        side = (first - 1) // n_variants % len(BOTH_SIDES)
        groups[side].append(np.concatenate([step["groups"] for step in done[first : first + n_variants]]))
    settings = all_settings(hyperparameters, has_vectors)
    labels = corpus.labels[known_side.documents[labeled_of(known_side, corpus.labels)]]
    row, new_powers = match_powers(
        groups[NEW_SIDE], learned, ~prepared.bags.is_empty, corpus.n_known, hyperparameters, threads,
        np.array([setting.has_vectors for setting in settings]),
    )  # fmt: skip
    of_starts = [of_start[row] for of_start in groups[NEW_SIDE]]
    scores = score_settings(
        groups[KNOWN_SIDE], labels, corpus.n_known, of_starts, hyperparameters, threads, has_vectors
    )  # fmt: skip
    kept = [of_start[scores.weight > 0] for of_start in of_starts]
    return Calibration(prepared, learned, new_side, settings, new_powers, scores, kept)


def calibrate(prepared: PreparedCorpus, threads: Threads | None = None) -> Calibration:
    """Take all steps, for whoever keeps none of them. Without threads nothing interrupts it."""
    threads = threads or Threads()
    done = all_steps(prepared, all_atom_runs(prepared, threads), threads)
    return read_calibration(prepared, done, threads)
