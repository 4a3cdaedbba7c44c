"""What the steps of a leg make of one corpus again and again: made by its first use, and then kept."""

import hashlib
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sampler.calibrated.atoms import seed_atoms
from sampler.calibrated.bags import WordBags, effective_counts, inverse_frequency, select, tf_idf, word_bags
from sampler.calibrated.directions import Directions, directions
from sampler.calibrated.known_or_new import Propensity
from sampler.calibrated.settings import AtomSetting
from sampler.calibrated.sides import Address, Side, seed_side, side_of
from sampler.calibrated.sources import Sources, mark_of, with_sources
from sampler.corpus import Array, Corpus
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics import streams
from sampler.numerics.streams import Step
from sampler.numerics.threads import Threads


class Sample(NamedTuple):
    """The documents that the atoms of the whole corpus are sought in."""

    documents: Array  # int64[n]
    bags: WordBags
    entries: Array  # int64[E'], of the bags among those of all documents


class PreparedCorpus:
    """A corpus with the constants and the seed of one calibrated job, and its bags.

    Whatever is kept follows from these alone, so it saves time and changes nothing. Beside the bags that is little: the
    sides have no more documents than the sample.
    """

    def __init__(
        self, corpus: Corpus, hyperparameters: CalibratedHyperparameters, seed: int, vectors: Array | None = None,
        sources: Sources | None = None,
    ) -> None:  # fmt: skip
        """`vectors` float[D, p] are those of the documents, see `sampler.vectors`; None if words alone count."""
        self.corpus, self.hyperparameters, self.seed = corpus, hyperparameters, seed
        self.vectors, self.sources = vectors, sources
        self.sides: dict[int, Side] = {}
        self.sample_seeds: Array | None = None
        self.seeds_of_sides: dict[tuple[int, Address, bool], Array] = {}

    def relabeled(self, corpus: Corpus) -> "PreparedCorpus":
        """The same words under other labels; the bags are not made again."""
        other = PreparedCorpus(corpus, self.hyperparameters, self.seed, self.vectors, self.sources)
        other.bags, other.inverse_frequency, other.places = self.bags, self.inverse_frequency, self.places
        return other

    @property
    def has_vectors(self) -> bool:
        """Whether vectors count."""
        return self.vectors is not None

    @cached_property
    def mark(self) -> str:
        """SHA-256 in hex of the vectors' bytes, and of the sources; empty without them."""
        of_vectors = "" if self.vectors is None else hashlib.sha256(np.ascontiguousarray(self.places).data).hexdigest()
        return of_vectors + mark_of(self.sources)

    @cached_property
    def places(self) -> Array:
        """float32[D, p]: the vectors of documents that have a word, 0 for the others; p is 0 without vectors."""
        if self.vectors is None:
            return np.zeros((self.bags.n_documents, 0), np.float32)
        return np.where(self.bags.is_empty[:, None], np.float32(0.0), self.vectors.astype(np.float32))

    @cached_property
    def bags(self) -> WordBags:
        """All documents; what their sources are like is taken off."""
        return with_sources(word_bags(self.corpus), self.sources, self.hyperparameters.sample_size, self.seed)

    @cached_property
    def inverse_frequency(self) -> Array:
        """float64[V], see `bags.inverse_frequency`."""
        return inverse_frequency(self.bags)

    def directions(self, setting: AtomSetting) -> Directions:
        """What a setting knows of the vectors of all documents."""
        return directions(self.places, setting.has_vectors, setting.smoothing)

    def values(self, weighting: int) -> Array:
        """float32[E]: effective counts of all documents. Not kept: they take as much room as the bags."""
        return effective_counts(
            self.bags, weighting, self.hyperparameters.effective_length, self.inverse_frequency
        )  # fmt: skip

    @cached_property
    def sample(self) -> Sample:
        """Documents that have a word."""
        documents = np.flatnonzero(~self.bags.is_empty)
        drawn = streams.chosen(documents, self.hyperparameters.sample_size, self.seed, Step.SAMPLE)
        return Sample(drawn, *select(self.bags, drawn))

    def seeds(self, threads: Threads) -> Array:
        """int32[n]: the atoms that the sample starts from, whatever the weighting."""
        if self.sample_seeds is None:
            size, bags = self.sample.documents.size, self.sample.bags
            n_atoms = max(min(max(self.hyperparameters.n_atoms, int(size**0.5)), size // 3), 1)
            key = streams.stream(self.seed, 0, 0, Step.ATOM_SEEDS)
            self.sample_seeds = seed_atoms(bags.rows(tf_idf(bags)), n_atoms, key, threads)
        return self.sample_seeds

    def side(self, number: int, learned: Propensity) -> Side:
        """The known or the new side; what is learned is the same in all steps of a calibration."""
        if number not in self.sides:
            self.sides[number] = side_of(
                number, self.bags, self.inverse_frequency, self.places, learned, self.hyperparameters, self.seed
            )  # fmt: skip
        return self.sides[number]

    def side_seeds(
        self, number: int, learned: Propensity, address: Address, threads: Threads, by_vectors: bool = False
    ) -> Array:
        """int32[n]: the atoms that a start of a side begins with, the same for all variants with or without vectors."""
        key = (number, address, by_vectors)
        if key not in self.seeds_of_sides:
            side, n_known = self.side(number, learned), self.corpus.n_known
            self.seeds_of_sides[key] = seed_side(side, n_known, self.hyperparameters, address, threads, by_vectors)
        return self.seeds_of_sides[key]
