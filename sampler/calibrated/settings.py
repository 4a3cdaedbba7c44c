"""Settings: how fine the categories may be. Each is one variant of how words weigh, one beta and one omega."""

from typing import NamedTuple

from sampler.hyperparameters import CalibratedHyperparameters


class Variant(NamedTuple):
    """How words weigh."""

    weighting: int  # of effective counts, 0: all words alike, 1: by inverse document frequency
    has_background: bool  # of the prior of words, see `bags.word_prior`


VARIANTS = (Variant(0, False), Variant(1, False), Variant(0, True))


class AtomSetting(NamedTuple):
    """The part of a setting that its atoms depend on: all but the power."""

    weighting: int
    has_background: bool
    smoothing: float  # beta


class Setting(NamedTuple):
    """One granularity."""

    weighting: int  # as its variant has it
    has_background: bool
    smoothing: float  # beta
    power: float  # omega

    @property
    def atoms(self) -> AtomSetting:
        """What its atoms depend on."""
        return AtomSetting(*self[:3])


def all_settings(hyperparameters: CalibratedHyperparameters) -> list[Setting]:
    """All settings, in the order of scores; powers vary first, and ascend."""
    return [
        Setting(*variant, smoothing, power)
        for variant in VARIANTS
        for smoothing in hyperparameters.smoothings
        for power in sorted(hyperparameters.powers)
    ]
