"""The constants of the methods: what each is given before it sees a document. Loads no numba: the API reads it too."""

from collections.abc import Mapping
from dataclasses import dataclass

# Inclusive limits of the constants of direct k-way clustering.
CLUTO_LIMITS: dict[str, tuple[float, float]] = {"n_refinements": (1, 1000)}


@dataclass(frozen=True)
class ClutoSettings:
    """Of direct k-way clustering by criterion i2; what CLUTO does by default. A chain is one of its trials.

    Raises ValueError for a value outside `CLUTO_LIMITS`.
    """

    n_refinements: int = 10  # passes of refinement at most

    def __post_init__(self) -> None:
        check_limits(self, CLUTO_LIMITS)


# Inclusive limits of the constants of semi-supervised kernel k-means.
SSKM_LIMITS: dict[str, tuple[float, float]] = {"weight": (0.0, 1e6), "n_rounds": (1, 10_000)}


@dataclass(frozen=True)
class SskmSettings:
    """Of semi-supervised kernel k-means. Raises ValueError for a value outside `SSKM_LIMITS`."""

    weight: float = 1.0  # of a constraint, as a multiple of n / (K C) for C constraints among n documents
    n_rounds: int = 100  # batch rounds and passes of single moves, together, at most

    def __post_init__(self) -> None:
        check_limits(self, SSKM_LIMITS)


@dataclass(frozen=True)
class CoscSettings:
    """Of constrained 1-spectral clustering."""


@dataclass(frozen=True)
class SlSettings:
    """Of serendipitous learning, maximum margin with known classes and clusters."""


@dataclass(frozen=True)
class DpgmSettings:
    """Of the Dirichlet process Gaussian mixture."""


@dataclass(frozen=True)
class DldaSettings:
    """Of D-LDA, the double-latent-layered topic model with a fixed number of categories."""


def check_limits(settings: object, limits: Mapping[str, tuple[float, float]]) -> None:
    """Raise ValueError, naming the value and its limits, for one that is outside them."""
    for name, (low, high) in limits.items():
        value = getattr(settings, name)
        if not low <= value <= high:
            raise ValueError(f"{name} = {value} is not within {low} and {high}")
