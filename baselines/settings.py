"""The constants of the methods: what each is given before it sees a document. Loads no numba: the API reads it too."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args


def check_limits(settings: object, limits: Mapping[str, tuple[float, float]]) -> None:
    """Raise ValueError, naming the value and its limits, for one that is outside them."""
    for name, (low, high) in limits.items():
        value = getattr(settings, name)
        if not low <= value <= high:
            raise ValueError(f"{name} = {value} is not within {low} and {high}")


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


# Inclusive limits of the constants of constrained 1-spectral clustering.
COSC_LIMITS: dict[str, tuple[float, float]] = {
    "n_starts": (1, 100),
    "n_repeats": (1, 100),
    "n_iterations": (1, 10_000),
    "most_iterations": (1, 100_000),
    "tolerance": (0.0, 1.0),
    "n_gammas": (1, 100),
}


@dataclass(frozen=True)
class CoscSettings:
    """Of constrained 1-spectral clustering; docs/baselines/cosc.md says more.

    Raises ValueError for a value outside `COSC_LIMITS`.
    """

    n_starts: int = 2  # of every split: one from the Laplacian's second eigenvector, the others random
    n_repeats: int = 1  # of the whole recursion, of which the lowest cut is kept
    n_iterations: int = 50  # of the inner problem of a step, at first
    most_iterations: int = 100  # they double when a step fails, up to this; then the descent is at its end
    tolerance: float = 1e-4  # relative fall of the ratio below which a step has failed
    n_gammas: int = 5  # penalties of broken links that a split tries, with more than two categories

    def __post_init__(self) -> None:
        check_limits(self, COSC_LIMITS)


ROWS_TOGETHER = 256  # of the matrix of cosines that constrained 1-spectral clustering computes at once


def cosc_bytes(n_documents: int) -> int:
    """Memory of constrained 1-spectral clustering at most: the graph, that of a part, and two flows along its edges."""
    return 4 * 4 * (n_documents * (n_documents - 1) // 2) + 3 * 4 * ROWS_TOGETHER * n_documents


# Inclusive limits of the constants of serendipitous learning.
SL_LIMITS: dict[str, tuple[float, float]] = {
    "labeled_weight": (1e-6, 1e9),
    "unlabeled_weight": (0.0, 1e9),
    "balance": (0.0, 1e6),
    "n_components": (1, 4096),
    "n_restarts": (1, 100),
    "start_share": (0.01, 1.0),
    "max_rounds": (1, 1000),
    "round_tolerance": (0.0, 1.0),
    "gap_tolerance": (1e-9, 1.0),
    "max_passes": (1, 10_000),
}


@dataclass(frozen=True)
class SlSettings:
    """Of serendipitous learning, maximum margin over known categories and new ones; docs/baselines/sl.md says more.

    Raises ValueError for a value outside `SL_LIMITS`.
    """

    labeled_weight: float = 100.0  # C_l, of the mean loss of labeled documents against |W|^2 / 2
    unlabeled_weight: float = 100.0  # C_u, of the mean loss of unlabeled documents
    balance: float = 0.1  # B / u: by how much the mean scores of two new categories may differ
    n_components: int = 500  # principal components that the documents are reduced to, as in the paper
    n_restarts: int = 10  # starts, of which the one with the lowest objective is kept
    start_share: float = 1 / 3  # of the unlabeled documents, the least known ones: new categories start from them
    max_rounds: int = 30  # of the concave-convex procedure, a start
    round_tolerance: float = 1e-3  # relative fall of the objective below which a start is done
    gap_tolerance: float = 1e-2  # relative duality gap below which a round's convex problem is solved
    max_passes: int = 50  # over the documents, for a round's convex problem

    def __post_init__(self) -> None:
        check_limits(self, SL_LIMITS)


Inference = Literal["variational", "gibbs"]

# Inclusive limits of the constants of the Dirichlet process Gaussian mixture.
DPGM_LIMITS: dict[str, tuple[float, float]] = {
    "n_components": (1, 10_000),
    "n_groups": (1, 10_000),
    "n_rounds": (1, 100_000),
    "tolerance": (0.0, 1e6),
    "n_start_groups": (1, 10_000),
    "most_groups": (1, 10_000),
    "concentration": (1e-6, 1e6),
    "concentration_shape": (0.1, 1e6),
    "concentration_rate": (1e-6, 1e6),
    "mean_strength": (1e-6, 1e6),
    "shape": (1.001, 1e6),
}


@dataclass(frozen=True)
class DpgmSettings:
    """Of the Dirichlet process Gaussian mixture. Raises ValueError for a value outside `DPGM_LIMITS`."""

    inference: Inference = "variational"
    n_components: int = 500  # principal components of the documents, as in the paper
    is_whitened: bool = False  # whether each of them is scaled to variance one
    n_groups: int = 50  # T, groups that the variational way may fill
    n_rounds: int = 500  # of the variational way at most
    tolerance: float = 1e-3  # it settles when its bound rises by less
    n_start_groups: int = 20  # groups of k-means that the sampler starts from
    most_groups: int = 200  # that the sampler may have at a time
    concentration: float = 1.0  # gamma of the variational way; the sampler starts from it
    concentration_shape: float = 1.0  # of gamma's Gamma prior, for the sampler
    concentration_rate: float = 1.0
    mean_strength: float = 0.01  # kappa_0, documents that the prior mean of a group counts for
    shape: float = 2.0  # a_0, of the Gamma prior of precisions, under which the expected variance is the whole's

    def __post_init__(self) -> None:
        check_limits(self, DPGM_LIMITS)
        if self.inference not in get_args(Inference):
            raise ValueError(f"inference = {self.inference!r} is not {' or '.join(get_args(Inference))}")
        if self.n_start_groups > self.most_groups:
            raise ValueError(f"n_start_groups = {self.n_start_groups} is above most_groups = {self.most_groups}")


# Inclusive limits of the constants of D-LDA.
DLDA_LIMITS: dict[str, tuple[float, float]] = {
    "n_topics": (1, 4096),
    "alpha": (1e-6, 1e6),
    "zeta": (1e-6, 1e6),
    "beta": (1e-6, 1e6),
}


@dataclass(frozen=True)
class DldaSettings:
    """Of D-LDA, the double-latent-layered topic model with a fixed number of categories.

    Raises ValueError for a value outside `DLDA_LIMITS`.
    """

    n_topics: int = 128  # L
    alpha: float = 0.1  # of the Dirichlet over a document's categories
    zeta: float = 1.0  # of that over a category's topics
    beta: float = 0.01  # of that over a topic's words

    def __post_init__(self) -> None:
        check_limits(self, DLDA_LIMITS)
