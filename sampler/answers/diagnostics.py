"""Have the chains come to draw from one distribution, and what are their draws worth?

Rank-normalized split R-hat and effective sample sizes (Vehtari, Gelman, Simpson, Carpenter and Bürkner 2021,
"Rank-normalization, folding, and localization", Bayesian Analysis 16). They see a quantity's ranks alone, so heavy
tails, and counts with many ties, do no harm.

Each function takes the draws of one quantity, a vector a chain. Chains of different lengths are cut to the first
draws that all have. Each is split into halves, so that one chain that drifts is found out as well. Raises ValueError
for no chain, for fewer than MIN_DRAWS draws of a chain and for a draw that is not finite.

arviz-stats computes the same, but for the last bits, and answers NaN where there is one chain or all draws are equal:
ours stays, because a job's diagnostics keep their bytes and have an answer in these cases.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from sampler.corpus import Array

Draws = Sequence[npt.ArrayLike] | Array

MIN_DRAWS = 4  # two in each half: a variance needs as many
TAILS = (0.05, 0.95)


def r_hat(draws: Draws) -> float:
    """R-hat, the larger one of location and spread; 1 for chains that draw alike, more for others.

    1.0 if all draws are equal; infinite if each half of a chain is constant, and not all at the same value.
    """
    halves = split(cut_to_shortest(draws))
    folded = np.abs(halves - np.median(halves))
    return max(potential_reduction(normal_scores(halves)), potential_reduction(normal_scores(folded)))


def effective_size(draws: Draws) -> float:
    """How many independent draws would show the middle of the distribution as well (bulk ESS).

    All draws if they are equal; 0 if each half of a chain is constant, and not all at the same value.
    """
    return independent_draws(normal_scores(split(cut_to_shortest(draws))))


def tail_effective_size(draws: Draws) -> float:
    """The same for the tails: the smaller one of the 5 % and the 95 % quantile's."""
    chains = cut_to_shortest(draws)
    halves = split(chains)
    return min(independent_draws((halves <= np.quantile(chains, tail)).astype(np.float64)) for tail in TAILS)


def cut_to_shortest(draws: Draws) -> Array:
    """float64[C, S]: the first S draws of each chain, S the length of the shortest."""
    chains = [np.asarray(chain, np.float64).ravel() for chain in draws]
    shortest = min((chain.size for chain in chains), default=0)
    if shortest < MIN_DRAWS:
        raise ValueError(f"{shortest} draws of the shortest of {len(chains)} chains are fewer than {MIN_DRAWS}")
    cut = np.stack([chain[:shortest] for chain in chains])
    if not np.isfinite(cut).all():
        chain, draw = np.argwhere(~np.isfinite(cut))[0]
        raise ValueError(f"draw {draw} of chain {chain} is {cut[chain, draw]}")
    return cut


def split(chains: Array) -> Array:
    """float64[2 C, S // 2]: first and last halves; the middle draw of an odd number is in neither."""
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def normal_scores(chains: Array) -> Array:
    """Each value by the normal quantile of its rank among all; equal ones share a rank (equation 14)."""
    return np.asarray(ndtri((ranks(chains) - 0.375) / (chains.size + 0.25)))


def ranks(values: Array) -> Array:
    """Each value's rank among all, from 1; equal ones share the mean of theirs.

    As scipy.stats has it, which takes a worker a quarter of its start to load.
    """
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    mean = np.cumsum(counts) - (counts - 1) / 2.0
    return np.asarray(mean[which].reshape(values.shape))


def potential_reduction(chains: Array) -> float:
    """R-hat of equation 4: the root of the variance over all chains over that within them."""
    n_draws = chains.shape[1]
    if np.ptp(chains) == 0.0:
        return 1.0
    if np.ptp(chains, axis=1).max() == 0.0:
        return math.inf
    within = chains.var(axis=1, ddof=1).mean()
    between = chains.mean(axis=1).var(ddof=1)
    return math.sqrt((n_draws - 1) / n_draws + between / within)


def independent_draws(chains: Array) -> float:
    """Effective sample size of the mean (equations 10 to 13), by Geyer's initial monotone sequence."""
    if np.ptp(chains) == 0.0:
        return float(chains.size)
    if np.ptp(chains, axis=1).max() == 0.0:
        return 0.0
    n_draws = chains.shape[1]
    covariances = autocovariances(chains).mean(axis=0)
    within = covariances[0] * n_draws / (n_draws - 1)
    total = covariances[0] + chains.mean(axis=1).var(ddof=1)
    correlations = 1.0 - (within - covariances) / total
    correlations[0] = 1.0
    time = correlation_time(correlations)
    return chains.size / max(time, 1.0 / math.log10(chains.size))  # alternating chains may be better, within limits


def correlation_time(correlations: Array) -> float:
    """tau = 1 + 2 sum of rho_t, cut where noise takes over: sums of pairs are kept while positive, and made to fall."""
    n_pairs = max((correlations.size - 1) // 2, 1)  # the last lag has a single product
    pairs = correlations[0 : 2 * n_pairs : 2] + correlations[1 : 2 * n_pairs : 2]
    pairs[-1] = min(pairs[-1], 0.0)  # the sequence ends here at the latest
    n_kept = int((pairs <= 0.0).argmax())
    kept = np.minimum.accumulate(pairs[:n_kept]).sum()
    rest = max(correlations[2 * n_kept], 0.0)  # the first half of the pair that ended it
    return float(2.0 * kept - 1.0 + rest)


def autocovariances(chains: Array) -> Array:
    """float64[C, S]: at lags 0 to S - 1, each over S: longer lags have fewer products and weigh less."""
    n_draws = chains.shape[1]
    centered = chains - chains.mean(axis=1, keepdims=True)
    size = 2 * n_draws  # padded, so that the end does not meet the beginning
    spectrum = np.fft.rfft(centered, size, axis=1)
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2, size, axis=1)[:, :n_draws] / n_draws)
