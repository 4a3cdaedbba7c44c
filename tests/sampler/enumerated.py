"""The enumerated posterior that whole chains of every kernel are compared with."""

from functools import cache

from sampler.hyperparameters import Hyperparameters
from tests.sampler import exact, harness

CONSTANTS = exact.Constants(n_topics=2, zeta=0.6, beta=0.3)
ALPHA, GAMMA = 1.1, 0.8  # where they are fixed
ALPHA_PRIOR, GAMMA_PRIOR = exact.Prior(2.0, 0.5), exact.Prior(2.0, 0.5)
HYPERPARAMETERS = Hyperparameters(
    n_topics=CONSTANTS.n_topics,
    zeta=CONSTANTS.zeta,
    beta=CONSTANTS.beta,
    alpha_shape=ALPHA_PRIOR.shape,
    alpha_scale=ALPHA_PRIOR.scale,
    gamma_shape=GAMMA_PRIOR.shape,
    gamma_scale=GAMMA_PRIOR.scale,
    n_start=1,
)


@cache
def at_fixed_concentrations(name: str) -> dict[exact.Configuration, float]:
    """The posterior of a tiny corpus given alpha and gamma."""
    return exact.posterior(harness.TINY[name], ALPHA, GAMMA, CONSTANTS)


@cache
def full(name: str) -> exact.Full:
    """The posterior with the concentrations integrated out."""
    return exact.full_posterior(harness.TINY[name], ALPHA_PRIOR, GAMMA_PRIOR, CONSTANTS)
