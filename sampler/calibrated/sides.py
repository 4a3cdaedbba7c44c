"""The two sides of a corpus, and how the documents of each are grouped under every setting.

The known side has the documents of known categories, the new side all others. Each is grouped by itself, as if nobody
had named a category: into atoms from one start, and these into groups. A side has no more documents than the sample.
"""

from typing import NamedTuple

import numpy as np

from sampler.calibrated.atom_groups import AtomRows, atom_rows, regroup
from sampler.calibrated.atoms import Atoms, count_atoms, seed_atoms, settle_atoms
from sampler.calibrated.bags import (
    WEIGHTINGS,
    WordBags,
    effective_counts,
    select,
    squeeze,
    tf_idf,
    word_prior,
    word_totals,
)
from sampler.calibrated.directions import Directions, as_rows, directions
from sampler.calibrated.known_or_new import Propensity
from sampler.calibrated.settings import AtomSetting, Variant, atom_setting
from sampler.corpus import UNLABELED, Array
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics import streams
from sampler.numerics.streams import Step
from sampler.numerics.threads import Threads

KNOWN_SIDE, NEW_SIDE = 0, 1
BOTH_SIDES = (KNOWN_SIDE, NEW_SIDE)
MOST_ATOMS = 1_000  # for the sake of known categories: what joins what is a square table
REGROUPINGS = 4  # Gibbs sweeps at each power

Address = tuple[int, int]  # seed and number of a run: where its random streams are


class Side(NamedTuple):
    """Some of the documents, as bags over the words that they use."""

    documents: Array  # int64[n]
    bags: WordBags
    words: Array  # int64[V'], the words that they use, of the corpus
    values: tuple[Array, ...]  # float32[E'], effective counts under each weighting, those that they have in the corpus
    places: Array  # float32[n, p], their vectors

    def directions(self, setting: AtomSetting) -> Directions:
        """What a setting knows of the vectors."""
        return directions(self.places, setting.has_vectors, setting.smoothing)


def side_of(
    number: int, bags: WordBags, of_corpus: Array, places: Array, learned: Propensity,
    hyperparameters: CalibratedHyperparameters, seed: int,
) -> Side:  # fmt: skip
    """The known or the new side, or a sample: labeled documents and those more likely known than new, or the others.

    `of_corpus` are the inverse frequencies float64[V], `places` the vectors of all documents.
    """
    is_known = learned.known >= 0.5
    documents = np.flatnonzero((is_known if number == KNOWN_SIDE else ~is_known) & ~bags.is_empty)
    sample = streams.chosen(documents, hyperparameters.sample_size, seed, Step.SAMPLE)
    chosen = select(bags, sample)[0]
    values = tuple(
        effective_counts(chosen, w, hyperparameters.effective_length, of_corpus) for w in range(WEIGHTINGS)
    )  # fmt: skip
    return Side(sample, *squeeze(chosen), values, places[sample])


def labeled_of(side: Side, labels: Array) -> Array:
    """int64[n]: positions of a side's labeled documents."""
    return np.flatnonzero(labels[side.documents] != UNLABELED)


def n_seeds(n_documents: int, n_known: int, hyperparameters: CalibratedHyperparameters) -> int:
    """Atoms that a start of a side begins with."""
    wanted = max(hyperparameters.n_atoms, min(3 * n_known, MOST_ATOMS))
    return max(min(wanted, n_documents // 3), 1)


def seed_side(
    side: Side, n_known: int, hyperparameters: CalibratedHyperparameters, address: Address, threads: Threads,
    by_vectors: bool = False,
) -> Array:  # fmt: skip
    """int32[n]: the atoms that k-means gives to the documents of a side, which every setting starts from.

    Those with vectors start from k-means over these; documents without one are in further atoms, by their words.
    """
    if side.documents.size == 0:
        return np.zeros(0, np.int32)
    n_atoms = n_seeds(side.documents.size, n_known, hyperparameters)
    key = streams.stream(*address, 0, Step.ATOM_SEEDS)
    rows, has_vector = side.bags.rows(tf_idf(side.bags)), side.places.any(axis=1)
    if not by_vectors or not has_vector.any():
        return seed_atoms(rows, n_atoms, key, threads)
    seeds = seed_atoms(as_rows(side.places), n_atoms, key, threads)
    if has_vector.all():
        return seeds
    return np.where(has_vector, seeds, n_atoms + seed_atoms(rows, n_atoms, key, threads)).astype(np.int32)


def settle_side(
    side: Side, seeds: Array, setting: AtomSetting, n_sweeps: int, address: Address, threads: Threads
) -> tuple[Array, Atoms]:
    """The atoms int32[n] of a side's documents, and their counts."""
    values = side.values[setting.weighting]
    prior = word_prior(word_totals(side.bags, values), setting.smoothing, setting.has_background)
    directed = side.directions(setting)
    atom = settle_atoms(side.bags, values, seeds, prior, n_sweeps, address, threads, directed)
    return atom, count_atoms(side.bags, values, atom, int(atom.max(initial=0)) + 1, threads, directed)


def group_side(
    side: Side, seeds: Array, variant: Variant, powers: list[float], hyperparameters: CalibratedHyperparameters,
    address: Address, threads: Threads,
) -> Array:  # fmt: skip
    """uint16[smoothings powers, n]: the groups of a side's documents under one variant, at these powers.

    `seeds` are the atoms int32[n] that they start from, see `seed_side`.
    """
    if side.documents.size == 0:
        return np.zeros((len(hyperparameters.smoothings) * len(powers), 0), np.uint16)
    atoms, pairs = [], []
    for smoothing in hyperparameters.smoothings:
        setting = atom_setting(variant, smoothing)
        atom, counts = settle_side(side, seeds, setting, hyperparameters.n_atom_sweeps, address, threads)
        rows = atom_rows(counts)
        atoms.append(atom)
        pairs.append((rows, word_prior(rows.word_totals, smoothing, variant.has_background)))
    groups = group_all(pairs, powers, address, threads)
    return np.concatenate([g[:, atom] for g, atom in zip(groups, atoms, strict=True)]).astype(np.uint16)


def group_all(
    pairs: list[tuple[AtomRows, Array]], powers: list[float], address: Address, threads: Threads
) -> list[Array]:  # fmt: skip
    """int64[powers, A] for atoms and their prior of words: groups at each power, made at the same time."""
    found: list[Array] = [np.empty(0)] * len(pairs)

    def group(thread: int, first: int, end: int) -> None:
        for i in range(first, end):
            found[i] = group_by_power(*pairs[i], powers, address, threads)

    threads.share(group, [(i, i + 1) for i in range(len(pairs))])
    return found


def group_by_power(rows: AtomRows, prior: Array, powers: list[float], address: Address, threads: Threads) -> Array:
    """int64[powers, A]: groups of atoms at each power, each from those of the power before.

    At first, and where a power is lower than the one before, all atoms are apart.
    """
    key = streams.stream(*address, 0, Step.GROUPS)
    ascents = np.split(np.array(powers), np.flatnonzero(np.diff(powers) < 0.0) + 1)
    apart = np.arange(rows.size.size)
    return np.concatenate(
        [regroup(rows, apart, prior, ascent.tolist(), REGROUPINGS, key, threads=threads) for ascent in ascents]
    )
