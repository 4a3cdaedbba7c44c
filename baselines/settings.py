"""The constants of the methods: what each is given before it sees a document. Loads no numba: the API reads it too."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ClutoSettings:
    """Of direct k-way clustering by criterion i2; what CLUTO does by default."""


@dataclass(frozen=True)
class SskmSettings:
    """Of semi-supervised kernel k-means."""


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
