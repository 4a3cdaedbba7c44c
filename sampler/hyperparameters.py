"""The constants of both models: what each is given before it sees a document."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

CategoryStep = Literal["exact", "as_printed"]
Kernel = Literal["blocked", "collapsed"]
Start = Literal["placed", "random"]
Answer = Literal["best_chain", "last", "pooled"]  # from which draws the answers of a job are
DEFAULT_ANSWER: Answer = "best_chain"
DEFAULT_KERNEL: Kernel = "blocked"

# Inclusive limits: wide enough for any sensible model, narrow enough that sums stay finite and that a draw
# from a Gamma of these shapes does not underflow to zero.
LIMITS: dict[str, tuple[float, float]] = {
    "n_topics": (1, 4096),
    "gamma_shape": (0.1, 1e6),
    "gamma_scale": (1e-9, 1e6),
    "alpha_shape": (0.1, 1e6),
    "alpha_scale": (1e-9, 1e6),
    "zeta": (1e-6, 1e6),
    "beta": (1e-6, 1e6),
    "n_start": (0, 10_000),
    "birth_share": (0.0, 1.0),
    "alpha": (1e-9, 1e6),
    "gamma": (1e-9, 1e3),
}

FIXED_OR_SAMPLED = ("alpha", "gamma")  # None has them sampled
# Constants that chains of earlier versions did not have, with the values under which they are what they were.
LATER: dict[str, Any] = {"alpha": None, "gamma": None, "start": "placed"}


@dataclass(frozen=True)
class Hyperparameters:
    """The model's constants with the values of the paper (section 4.3).

    The Gamma priors are given by shape and **scale**: their means are shape times scale.
    Raises ValueError for a value outside `LIMITS`.
    """

    n_topics: int = 128  # L
    gamma_shape: float = 1.0  # a_gamma
    gamma_scale: float = 0.001  # b_gamma
    alpha_shape: float = 5.0  # a_alpha
    alpha_scale: float = 0.1  # b_alpha
    zeta: float = 1.0  # of H, the Dirichlet over a category's topics
    beta: float = 0.01  # of the Dirichlet over a topic's words
    category_step: CategoryStep = "exact"
    n_start: int = 10  # superfluous new categories that a chain starts with
    birth_share: float = 0.0  # of the documents, that may open a category of their own in each of the first sweeps
    alpha: float | None = None  # fixed at this value; None: sampled, under its prior
    gamma: float | None = None
    start: Start = "placed"  # whole documents placed by what they say, or the paper's start at random

    def __post_init__(self) -> None:
        for name, (low, high) in LIMITS.items():
            value = getattr(self, name)
            if value is None and name in FIXED_OR_SAMPLED:
                continue
            if not low <= value <= high:
                raise ValueError(f"{name} = {value} is not within {low} and {high}")
        if self.category_step not in get_args(CategoryStep):
            raise ValueError(f"category_step = {self.category_step!r} is not exact or as_printed")
        if self.start not in get_args(Start):
            raise ValueError(f"start = {self.start!r} is not placed or random")

    def digested(self) -> dict[str, Any]:
        """What a chain's digest begins with. Constants that came later are left out where they change nothing."""
        given = asdict(self)
        return {name: given[name] for name in given if name not in LATER or given[name] != LATER[name]}

    @property
    def gamma_mean(self) -> float:
        """Prior mean of gamma, the concentration of categories in the corpus."""
        return self.gamma_shape * self.gamma_scale

    @property
    def alpha_mean(self) -> float:
        """Prior mean of alpha, the concentration of tables in a document."""
        return self.alpha_shape * self.alpha_scale

    @property
    def first_gamma(self) -> float:
        """Where a chain begins: the prior mean, unless it is fixed."""
        return self.gamma_mean if self.gamma is None else self.gamma

    @property
    def first_alpha(self) -> float:
        """Where a chain begins: the prior mean, unless it is fixed."""
        return self.alpha_mean if self.alpha is None else self.alpha


def check_kernel(kernel: Kernel, hyperparameters: Hyperparameters) -> None:
    """Raise ValueError unless there is such a kernel and it can draw from this model."""
    if kernel not in get_args(Kernel):
        raise ValueError(f"kernel = {kernel!r} is not {' or '.join(get_args(Kernel))}")
    if hyperparameters.category_step == "as_printed" and kernel != "collapsed":
        raise ValueError(
            f"category_step = 'as_printed' goes with kernel = 'collapsed' alone, not with {kernel!r}: "
            "only Algorithm 1 takes the step that equation (6) prints"
        )
    if hyperparameters.birth_share > 0.0 and kernel != "blocked":
        raise ValueError(
            f"birth_share = {hyperparameters.birth_share} goes with kernel = 'blocked' alone, not with {kernel!r}: "
            "Algorithm 1 opens categories table by table"
        )


# Inclusive limits of the calibrated model's constants.
CALIBRATED_LIMITS: dict[str, tuple[float, float]] = {
    "effective_length": (0.1, 1e6),
    "n_atoms": (2, 4096),
    "n_atom_sweeps": (1, 1000),
    "n_starts": (2, 16),
    "n_folds": (2, 20),
    "known_penalty": (1e-6, 1e6),
    "category_penalty": (1e-6, 1e6),
    "balance": (0.0, 1.0),
    "n_refinements": (0, 20),
    "power_center": (-10.0, 10.0),
    "power_weight": (0.0, 10.0),
    "stability_weight": (0.0, 10.0),
    "score_window": (0.0, 1.0),
    "score_scale": (1e-4, 1.0),
    "n_settings": (1, 100),
    "n_topics": (1, 4096),
    "sample_size": (1_000, 10_000_000),
}


@dataclass(frozen=True)
class CalibratedHyperparameters:
    """The calibrated model's constants; docs/calibrated.md says what each does.

    Raises ValueError for a value outside `CALIBRATED_LIMITS`.
    """

    effective_length: float = 10.0  # c: a document of n words counts as c log(1 + n / c) draws from its category
    n_atoms: int = 60  # K0: atoms that a start begins with, more if there are many known categories
    n_atom_sweeps: int = 12  # of a start
    n_starts: int = 2  # independent starts of every setting
    smoothings: tuple[float, ...] = (0.1, 0.2, 0.4, 0.8, 1.6)  # beta of the Dirichlet over a category's words
    powers: tuple[float, ...] = (-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0)  # omega of the powered CRP
    n_folds: int = 5  # of every cross-fitted regression
    known_penalty: float = 0.3  # C of the regression that separates known from new
    category_penalty: float = 10.0  # C of the regressions that refine the categories
    balance: float = 0.5  # in the latter, each of a category's n documents weighs n^-balance
    n_refinements: int = 3
    power_center: float = 2.5  # of omega with two known categories, a part 1 / (n - 1) of it with n
    power_weight: float = 0.02  # of the squared distance of omega to its center, in a setting's score
    stability_weight: float = 0.4  # of the agreement between starts
    score_window: float = 0.1  # settings whose score is this near to the best are kept
    score_scale: float = 0.03  # a setting weighs exp(score / scale)
    n_settings: int = 20  # kept at most
    n_topics: int = 128  # L, learned on top of the answer
    sample_size: int = 50_000  # documents that atoms are sought in and regressions trained on; the rest is assigned

    def __post_init__(self) -> None:
        for name, (low, high) in CALIBRATED_LIMITS.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} = {value} is not within {low} and {high}")
        if not self.smoothings or not all(1e-3 <= value <= 1e3 for value in self.smoothings):
            raise ValueError(f"smoothings = {self.smoothings} are not some numbers within 0.001 and 1000")
        if not self.powers or not all(-10.0 <= value <= 10.0 for value in self.powers):
            raise ValueError(f"powers = {self.powers} are not some numbers within -10 and 10")

    def atom_options(self) -> dict[str, object]:
        """What the atoms of a corpus depend on; with the seed and the words it names them."""
        names = ("effective_length", "n_atoms", "n_atom_sweeps", "smoothings", "sample_size")
        return {name: getattr(self, name) for name in names}
