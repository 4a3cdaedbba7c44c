"""Our implementation of a Dirichlet process mixture of Gaussians over principal components of the documents.

It sees no labels and finds the number of groups itself, among the unlabeled documents alone. Two ways of inference:
mean-field with truncated sticks (Blei and Jordan 2006), or collapsed Gibbs sampling (Neal 2000).
"""

import math

import numpy as np
from scipy.special import gammaln, logsumexp
from sklearn.cluster import kmeans_plusplus

from baselines.dpgm_gibbs import empty_tables, fill, sample_groups
from baselines.method import Given, MethodState, new_state
from baselines.normal_gamma import (
    Sums,
    divergence,
    expected_log_density,
    log_evidence,
    posterior_of,
    prior_of,
    sums_of,
    variance_of,
)
from baselines.principal_components import principal_components
from baselines.rows import unit_rows
from baselines.settings import DpgmSettings
from baselines.stick_breaking import expected_log_weights, stick_divergence, sticks_of
from sampler.corpus import UNLABELED, Array
from sampler.numerics.streams import Step, generator

DOCUMENTS_AT_ONCE = 4096  # whose densities in all groups are held at a time
NO_CHAIN = -1  # in the address of numbers that all chains share
LEAST_CONCENTRATION = 1e-9  # of a draw, whose logarithm is taken
N_START_ROUNDS = 20  # of k-means, which both ways start from


class Dpgm:
    """A Dirichlet process mixture of Gaussians. A sweep is one update of all, or one sample of every document's group.

    The mean-field way goes on from `own["size"]`, `own["first"]` and `own["second"]`, the expected sums of the groups;
    the sampler from the categories and `own["concentration"]` float64[1], gamma.
    """

    def __init__(self, given: Given, settings: DpgmSettings) -> None:
        """Finds the principal components, which takes longer than a sweep. `given.n_categories` is not looked at."""
        self.given, self.settings = given, settings
        unlabeled = np.flatnonzero(given.corpus.labels == UNLABELED)
        matrix = unit_rows(given.corpus, unlabeled)
        has_row = matrix.count_nonzero(axis=1) > 0
        self.documents = unlabeled[has_row]
        random = generator(given.seed, NO_CHAIN, 0, Step.METHOD)
        points = principal_components(matrix[has_row], settings.n_components, random, given.threads)
        self.points = points / np.sqrt(variance_of(points)) if settings.is_whitened else points  # float64[n, d]
        self.prior = prior_of(self.points, settings.mean_strength, settings.shape)

    def start(self, chain: int) -> MethodState:
        """Groups by k-means, from which the first update or sample sets out."""
        is_gibbs = self.settings.inference == "gibbs"
        n_groups = self.settings.n_start_groups if is_gibbs else self.settings.n_groups
        group = self.k_means(min(n_groups, self.documents.size), generator(self.given.seed, chain, 0, Step.METHOD))
        state = new_state(self.given, chain, self.category_of(group), 0.0)
        state.is_settled = not self.documents.size
        if is_gibbs:
            state.own = {"concentration": np.array([self.settings.concentration])}
            state.objective = self.log_joint(group, self.settings.concentration)
        elif not state.is_settled:
            self.update(state, sums_of(self.points, group, min(n_groups, self.documents.size)))
        return state

    def k_means(self, n_groups: int, random: np.random.Generator) -> Array:
        """int64[n]: groups of nearest means, the largest first; begun by k-means++."""
        points, threads = self.points, self.given.threads
        if n_groups < 2 or not points.shape[1]:
            return np.zeros(points.shape[0], np.int64)
        centers, _ = kmeans_plusplus(points, n_groups, random_state=int(random.integers(2**31)))
        group = np.full(points.shape[0], UNLABELED)
        for _ in range(N_START_ROUNDS):
            nearest = np.empty(points.shape[0], np.int64)
            for part in threads.slices(group.size, DOCUMENTS_AT_ONCE):
                nearest[part] = (points[part] @ centers.T - 0.5 * (centers**2).sum(axis=1)).argmax(axis=1)
            if (nearest == group).all():
                break
            group, sums = nearest, sums_of(points, nearest, n_groups)
            has_rows = sums.size > 0
            centers[has_rows] = sums.first[has_rows] / sums.size[has_rows, None]
        rank: Array = np.empty(n_groups, np.int64)
        rank[np.argsort(-np.bincount(group, minlength=n_groups), kind="stable")] = np.arange(n_groups)
        return np.asarray(rank[group])

    def sweep(self, state: MethodState) -> None:
        """One mean-field update of all groups and documents, or one sample of every document's group."""
        if self.settings.inference == "gibbs":
            self.sample(state)
        else:
            before = state.objective
            self.update(state, Sums(state.own["size"], state.own["first"], state.own["second"]))
            rise = state.objective - before
            state.is_settled = rise < self.settings.tolerance or state.n_sweeps >= self.settings.n_rounds

    def update(self, state: MethodState, sums: Sums) -> None:
        """What is believed of the groups from their expected sums, and then the documents' shares in them.

        `objective` is the lower bound of the log evidence at that point, which never falls.
        """
        posterior, sticks = posterior_of(self.prior, sums), sticks_of(sums.size, self.settings.concentration)
        log_weights = expected_log_weights(sticks)
        bound = -divergence(self.prior, posterior) - stick_divergence(sticks, self.settings.concentration)
        group = np.empty(self.documents.size, np.int64)
        renewed = Sums(*(np.zeros_like(array) for array in sums))
        for part in self.given.threads.slices(group.size, DOCUMENTS_AT_ONCE):
            points = self.points[part]
            joint = expected_log_density(posterior, points, points**2) + log_weights
            total = logsumexp(joint, axis=1)
            share = np.exp(joint - total[:, None])
            bound += float(total.sum())
            group[part] = joint.argmax(axis=1)
            for array, more in zip(renewed, (share.sum(axis=0), share.T @ points, share.T @ points**2), strict=True):
                array += more
        state.category, state.objective, state.own = self.category_of(group), bound, renewed._asdict()

    def sample(self, state: MethodState) -> None:
        """Resample every document's group, and then gamma. `objective` is the log joint density of all of it."""
        random = generator(state.seed, state.chain, state.n_sweeps, Step.METHOD)
        group = state.category[self.documents].astype(np.int64) - self.given.corpus.n_known
        concentration = float(state.own["concentration"][0])
        tables = empty_tables(min(self.settings.most_groups, self.documents.size), self.points.shape[1])
        fill(self.points, group, self.prior, tables)
        uniforms = random.random(group.size)
        sample_groups(self.points, group, self.prior, concentration, uniforms, tables, self.given.threads.stop)
        self.given.threads.check()
        concentration = self.resampled(concentration, np.unique(group).size, random)
        state.own = {"concentration": np.array([concentration])}
        state.category, state.objective = self.category_of(group), self.log_joint(group, concentration)

    def resampled(self, concentration: float, n_groups: int, random: np.random.Generator) -> float:
        """A draw of gamma, given the number of groups (Escobar and West 1995)."""
        n, shape = self.documents.size, self.settings.concentration_shape
        rate = self.settings.concentration_rate - math.log(max(random.beta(concentration + 1.0, n), 1e-300))
        odds = (shape + n_groups - 1.0) / (n * rate)
        has_more = random.random() * (1.0 + odds) < odds
        return float(max(random.gamma(shape + n_groups - (0.0 if has_more else 1.0)) / rate, LEAST_CONCENTRATION))

    def log_joint(self, group: Array, concentration: float) -> float:
        """The log density of documents, groups and gamma."""
        sizes = np.bincount(group)
        places = np.flatnonzero(sizes)
        sums = sums_of(self.points, np.searchsorted(places, group), places.size)
        of_groups = places.size * math.log(concentration) + gammaln(sizes[places]).sum()
        of_groups += gammaln(concentration) - gammaln(concentration + group.size)
        shape, rate = self.settings.concentration_shape, self.settings.concentration_rate
        of_gamma = shape * math.log(rate) - gammaln(shape) + (shape - 1.0) * math.log(concentration)
        evidence = log_evidence(self.prior, sums).sum()
        return float(evidence + of_groups + of_gamma - rate * concentration)

    def category_of(self, group: Array) -> Array:
        """int32[D]: labeled documents have their label, and the groups are categories from n_known on.

        Groups keep their numbers from sweep to sweep; a number may have no document.
        """
        category = self.given.corpus.labels.copy()  # UNLABELED is NO_CATEGORY
        category[self.documents] = self.given.corpus.n_known + group
        return category
