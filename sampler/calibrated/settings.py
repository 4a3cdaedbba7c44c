"""Settings: how fine the categories may be. Each is one variant of how words weigh, one beta and one omega."""

from typing import NamedTuple

from sampler.hyperparameters import CalibratedHyperparameters


class Variant(NamedTuple):
    """How words weigh."""

    weighting: int  # of effective counts, 0: all words alike, 1: by inverse document frequency
    has_background: bool  # of the prior of words, see `bags.word_prior`
    has_vectors: bool = False  # whether vectors count beside the words, see `directions`


OF_WORDS = (Variant(0, False), Variant(1, False), Variant(0, True))
WITH_VECTORS = (*OF_WORDS, Variant(0, False, True))


def variants(has_vectors: bool) -> tuple[Variant, ...]:
    """All variants of a corpus, in the order of steps."""
    return WITH_VECTORS if has_vectors else OF_WORDS


class AtomSetting(NamedTuple):
    """The part of a setting that its atoms depend on: all but the power."""

    weighting: int
    has_background: bool
    smoothing: float  # beta
    has_vectors: bool = False


class Setting(NamedTuple):
    """One granularity."""

    weighting: int  # as its variant has it
    has_background: bool
    smoothing: float  # beta
    power: float  # omega
    has_vectors: bool = False

    @property
    def atoms(self) -> AtomSetting:
        """What its atoms depend on."""
        return atom_setting(Variant(self.weighting, self.has_background, self.has_vectors), self.smoothing)


def atom_setting(variant: Variant, smoothing: float) -> AtomSetting:
    """A variant under a smoothing."""
    return AtomSetting(variant.weighting, variant.has_background, smoothing, variant.has_vectors)


def all_settings(hyperparameters: CalibratedHyperparameters, has_vectors: bool = False) -> list[Setting]:
    """All settings, in the order of scores; powers vary first, and ascend."""
    return [
        Setting(variant.weighting, variant.has_background, smoothing, power, variant.has_vectors)
        for variant in variants(has_vectors)
        for smoothing in hyperparameters.smoothings
        for power in sorted(hyperparameters.powers)
    ]
