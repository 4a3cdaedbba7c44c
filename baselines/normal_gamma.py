"""Normal distributions of unknown mean and precision, one a dimension, under their conjugate prior.

The precision is Gamma(a, b) by shape and rate, the mean is normal around m with kappa times that precision. A group of
n rows turns kappa_0, m_0 = 0, a_0 and b_0 into

    kappa = kappa_0 + n,  m = sum x / kappa,  a = a_0 + n / 2,  b = b_0 + (sum x^2 - kappa m^2) / 2.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from sampler.corpus import Array


class Prior(NamedTuple):
    """What is believed of every group before its rows are seen; means are around zero."""

    strength: float  # kappa_0: rows that the prior mean counts for
    shape: float  # a_0
    rate: Array  # float64[d], b_0


class Sums(NamedTuple):
    """What is known of the rows of C groups, each of which may belong to several in parts."""

    size: Array  # float64[C]
    first: Array  # float64[C, d], sums of rows
    second: Array  # float64[C, d], sums of their squares


class Posterior(NamedTuple):
    """What is believed of C groups when their rows have been seen."""

    strength: Array  # float64[C], kappa
    mean: Array  # float64[C, d], m
    shape: Array  # float64[C], a
    rate: Array  # float64[C, d], b


def prior_of(points: Array, strength: float, shape: float) -> Prior:
    """The prior under which the expected variance of a group is that of all points; `shape` is above 1."""
    return Prior(float(strength), float(shape), (shape - 1.0) * variance_of(points))  # floats: a kernel for each type


def variance_of(points: Array) -> Array:
    """float64[d]: the variance of rows that are centered."""
    return np.asarray((points**2).sum(axis=0) / max(points.shape[0], 1))


def sums_of(points: Array, group: Array, n_groups: int) -> Sums:
    """The sums of rows float64[n, d] in groups int64[n]."""
    member = (group == np.arange(n_groups)[:, None]).astype(np.float64)
    return Sums(member.sum(axis=1), member @ points, member @ points**2)


def posterior_of(prior: Prior, sums: Sums) -> Posterior:
    """What is believed when these rows have been seen."""
    strength = prior.strength + sums.size
    mean = sums.first / strength[:, None]
    rate = prior.rate + 0.5 * np.maximum(sums.second - strength[:, None] * mean**2, 0.0)
    return Posterior(strength, mean, prior.shape + 0.5 * sums.size, rate)


def log_evidence(prior: Prior, sums: Sums) -> Array:
    """float64[C]: the log density of each group's rows, its mean and precision integrated out."""
    posterior, n_dimensions = posterior_of(prior, sums), prior.rate.size
    each = gammaln(posterior.shape) - gammaln(prior.shape) + 0.5 * np.log(prior.strength / posterior.strength)
    each -= 0.5 * sums.size * np.log(2.0 * np.pi)
    rates = prior.shape * np.log(prior.rate).sum() - posterior.shape * np.log(posterior.rate).sum(axis=1)
    return np.asarray(n_dimensions * each + rates)


def expected_log_density(posterior: Posterior, points: Array, squares: Array) -> Array:
    """float64[n, C]: the mean under each group's posterior of the log density of each row; `squares` are the rows'."""
    precision = posterior.shape[:, None] / posterior.rate
    scaled = posterior.mean * precision
    distance = squares @ precision.T - 2.0 * points @ scaled.T + (posterior.mean * scaled).sum(axis=1)
    n_dimensions = points.shape[1]
    log_precision = n_dimensions * digamma(posterior.shape) - np.log(posterior.rate).sum(axis=1)
    constant = log_precision - n_dimensions * (np.log(2.0 * np.pi) + 1.0 / posterior.strength)
    return np.asarray(0.5 * (constant - distance))


def divergence(prior: Prior, posterior: Posterior) -> float:
    """The Kullback-Leibler divergence of what is believed of all groups from the prior."""
    shape, n_dimensions = posterior.shape, prior.rate.size
    of_shapes = (shape - prior.shape) * digamma(shape) - gammaln(shape) + gammaln(prior.shape)
    log_ratio = (np.log(posterior.rate) - np.log(prior.rate)).sum(axis=1)
    of_rates = prior.shape * log_ratio + shape * (prior.rate / posterior.rate - 1.0).sum(axis=1)
    ratio = prior.strength / posterior.strength
    of_means = 0.5 * prior.strength * shape * (posterior.mean**2 / posterior.rate).sum(axis=1)
    of_strengths = 0.5 * n_dimensions * (ratio - 1.0 - np.log(ratio))
    return float((n_dimensions * of_shapes + of_rates + of_means + of_strengths).sum())
