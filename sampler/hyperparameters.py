"""The constants of LBPL-NTM: what the model is given before it sees a document."""

from dataclasses import dataclass
from typing import Literal

CategoryStep = Literal["exact", "as_printed"]

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
}


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

    def __post_init__(self) -> None:
        for name, (low, high) in LIMITS.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} = {value} is not within {low} and {high}")
        if self.category_step not in ("exact", "as_printed"):
            raise ValueError(f"category_step = {self.category_step!r} is not exact or as_printed")

    @property
    def gamma_mean(self) -> float:
        """Prior mean of gamma, the concentration of categories in the corpus."""
        return self.gamma_shape * self.gamma_scale

    @property
    def alpha_mean(self) -> float:
        """Prior mean of alpha, the concentration of tables in a document."""
        return self.alpha_shape * self.alpha_scale
