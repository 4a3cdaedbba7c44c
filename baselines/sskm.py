"""Our implementation of semi-supervised kernel k-means (Kulis, Basu, Dhillon and Mooney 2005, 2009).

K-means over all documents, labeled ones too, with a reward for each pair of one label in a group and a penalty for
each pair of two labels there, both divided by the group's size. That is kernel k-means with the kernel S + A + sigma I:
S has the products of the rows, A the constraints. Neither is built: sums of rows and counts of labels take their place.
"""

from typing import NamedTuple

import numpy as np

from baselines.method import Given, MethodState, new_state
from baselines.rows import unit_rows
from baselines.settings import SskmSettings
from baselines.single_moves import Constraints, refine_kernel_means, rows_of, summed, within_groups
from sampler.corpus import UNLABELED, Array
from sampler.numerics.streams import Step, generator

DOCUMENTS_AT_ONCE = 4096  # whose distances to all groups are held at a time
FARNESS_OF_COPIES = 1e-9  # a copy of a seed may be the next one only when nothing else is left
BATCH, SINGLE = 0, 1  # what a run is at: rounds in which all documents move, passes in which they move one by one


class Groups(NamedTuple):
    """What follows from the groups: K of them."""

    sums: Array  # float64[V, K], of rows
    sizes: Array  # int64[K], documents
    constraints: Constraints
    within: Array  # float64[K], the sum of the kernel without sigma over all ordered pairs of the group


class Violations(NamedTuple):
    """Constraints that an answer does not keep, in pairs of labeled documents."""

    apart: int  # of one label in two groups
    together: int  # of two labels in one group


class Sskm:
    """Semi-supervised kernel k-means. A sweep is a batch round or, once these change nothing, a pass of single moves.

    `own["group"]` int64[n] is the group of each document that has a row, labeled ones too, which need not be in the
    group of their label; `own["phase"]` int64[1] is BATCH or SINGLE.
    """

    def __init__(self, given: Given, settings: SskmSettings) -> None:
        """Raises ValueError for fewer categories than there are known ones, or none at all."""
        corpus = given.corpus
        if given.n_categories < max(corpus.n_known, 1):
            raise ValueError(f"n_categories = {given.n_categories} is not at least {max(corpus.n_known, 1)}")
        self.given, self.settings = given, settings
        matrix = unit_rows(corpus)
        self.documents = np.flatnonzero(matrix.count_nonzero(axis=1))
        self.matrix = matrix[self.documents]
        self.rows = rows_of(self.matrix)
        labels = corpus.labels[self.documents]
        known = np.unique(labels[labels != UNLABELED])  # a category none of whose documents has a row has no group
        self.labels = np.where(labels == UNLABELED, UNLABELED, np.searchsorted(known, labels))
        self.n_labels = known.size
        n_new = min(given.n_categories - corpus.n_known, int((labels == UNLABELED).sum()))
        self.categories = np.concatenate([known, corpus.n_known + np.arange(n_new)])  # of each group
        self.weight = settings.weight * self.documents.size / (given.n_categories * max(self.n_constraints, 1))
        self.shift = smallest_shift(np.bincount(self.labels[self.labels >= 0], minlength=known.size), self.weight)

    @property
    def n_constraints(self) -> int:
        """Pairs of labeled documents: each is a constraint."""
        n_labeled = int((self.labels != UNLABELED).sum())
        return n_labeled * (n_labeled - 1) // 2

    def start(self, chain: int) -> MethodState:
        """A group is seeded by each label, the others by single documents; all go to the seed of the greatest cosine.

        In chain 0 each further seed is the document that is farthest from all before; in other chains it is drawn in
        proportion to that distance. Labeled documents start in the group of their label.
        """
        group, similarity = self.nearest_label()
        random = generator(self.given.seed, chain, 0, Step.METHOD)
        is_free = self.labels == UNLABELED
        for s in range(self.n_labels, self.categories.size):
            self.given.threads.check()
            distance = np.where(is_free, np.maximum(1.0 - similarity, FARNESS_OF_COPIES), 0.0)
            seed = distance.argmax() if chain == 0 else random.choice(distance.size, p=distance / distance.sum())
            to_seed = (self.matrix @ self.matrix[[seed]].T).toarray().ravel()
            group[(to_seed > similarity) & is_free] = s
            similarity = np.maximum(similarity, to_seed)
            group[seed], is_free[seed] = s, False
        return self.written(new_state(self.given, chain, self.category_of(group), 0.0), group, BATCH)

    def nearest_label(self) -> tuple[Array, Array]:
        """Each document's label, or that with whose documents' sum it has the greatest cosine, and that cosine."""
        group, similarity = np.zeros(self.documents.size, np.int64), np.zeros(self.documents.size)
        if self.n_labels:
            is_labeled = self.labels != UNLABELED
            member = (self.labels[is_labeled, None] == np.arange(self.n_labels)).astype(np.float64)
            sums = self.matrix[is_labeled].T @ member
            directions = sums / np.linalg.norm(sums, axis=0)
            for part in self.given.threads.slices(group.size, DOCUMENTS_AT_ONCE):
                cosines = self.matrix[part] @ directions
                group[part], similarity[part] = cosines.argmax(axis=1), cosines.max(axis=1)
            group[is_labeled] = self.labels[is_labeled]
        return group, similarity

    def sweep(self, state: MethodState) -> None:
        """A batch round, or a pass of single moves in random order."""
        group, phase = state.own["group"].copy(), int(state.own["phase"][0])
        if phase == BATCH:
            group = self.moved_together(group)
            has_moved = bool((group != state.own["group"]).any())
            phase = BATCH if has_moved else SINGLE
        else:
            order = generator(state.seed, state.chain, state.n_sweeps, Step.METHOD).permutation(group.size)
            groups = self.groups(group)
            stop = self.given.threads.stop
            has_moved = refine_kernel_means(self.rows, groups.constraints, order, group, groups.sums, stop) > 0
            state.is_settled = not has_moved
        self.given.threads.check()
        self.written(state, group, phase)
        state.is_settled = state.is_settled or state.n_sweeps >= self.settings.n_rounds

    def moved_together(self, group: Array) -> Array:
        """int64[n]: each document's nearest group; no group is left empty."""
        groups = self.groups(group)
        nearest, distance = np.empty_like(group), np.empty(group.size)
        for part in self.given.threads.slices(group.size, DOCUMENTS_AT_ONCE):
            distances = self.distances(groups, group, part)
            nearest[part], distance[part] = distances.argmin(axis=1), distances.min(axis=1)
        return refilled(nearest, distance, self.categories.size)

    def distances(self, groups: Groups, group: Array, part: slice) -> Array:
        """float64[m, K]: squared distances of some documents to the groups' means under S + A + sigma I, less K_ii."""
        labels, counts, weight = self.labels[part], groups.constraints.counts, groups.constraints.weight
        own = np.arange(self.categories.size) == group[part, None]
        tied = weight * (2.0 * counts[labels] - counts.sum(axis=0) - own) * (labels != UNLABELED)[:, None]
        products = self.matrix[part] @ groups.sums + tied + self.shift * own
        sizes = np.maximum(groups.sizes, 1)
        return np.asarray((groups.within + self.shift * sizes) / sizes**2 - 2.0 * products / sizes)

    def groups(self, group: Array) -> Groups:
        """What follows from the groups of the documents."""
        n_groups = self.categories.size
        sums = summed(self.rows, group, n_groups, self.matrix.shape[1])
        counts = np.zeros((max(self.n_labels, 1), n_groups), np.int64)  # a row even without labels, to be indexed
        is_labeled = self.labels != UNLABELED
        np.add.at(counts, (self.labels[is_labeled], group[is_labeled]), 1)
        constraints = Constraints(self.labels, counts, self.weight)
        within = (sums * sums).sum(axis=0) + within_groups(constraints)
        return Groups(sums, np.bincount(group, minlength=n_groups), constraints, within)

    def objective(self, group: Array) -> float:
        """Minus J: J is the squared distances to the means, less rewards and plus penalties over ordered pairs."""
        groups = self.groups(group)
        return float((groups.within / np.maximum(groups.sizes, 1)).sum() - self.documents.size)  # rows of length one

    def violations(self, state: MethodState) -> Violations:
        """How many constraints the run does not keep."""
        counts = self.groups(state.own["group"]).constraints.counts
        same, by_label, by_group = (counts**2).sum(), (counts.sum(axis=1) ** 2).sum(), (counts.sum(axis=0) ** 2).sum()
        return Violations(int(by_label - same) // 2, int(by_group - same) // 2)

    def written(self, state: MethodState, group: Array, phase: int) -> MethodState:
        """The state, in which these groups stand."""
        state.category, state.objective = self.category_of(group), self.objective(group)
        state.own = {"group": group, "phase": np.array([phase])}
        return state

    def category_of(self, group: Array) -> Array:
        """int32[D]: labeled documents have their label, others the category of their group."""
        category = self.given.corpus.labels.copy()  # UNLABELED is NO_CATEGORY
        is_unlabeled = self.labels == UNLABELED
        category[self.documents[is_unlabeled]] = self.categories[group[is_unlabeled]]
        return category


def refilled(group: Array, distance: Array, n_groups: int) -> Array:
    """The groups, in which each one that is empty has taken the farthest document of those that have company."""
    sizes = np.bincount(group, minlength=n_groups)
    distance = distance.copy()
    for s in np.flatnonzero(sizes == 0):
        farthest = np.where(sizes[group] > 1, distance, -np.inf).argmax()
        sizes[group[farthest]] -= 1
        group[farthest], sizes[s] = s, 1
    return group


def smallest_shift(n_labeled: Array, weight: float) -> float:
    """Sigma: minus the least eigenvalue of the constraints A, with which S + A + sigma I is positive semidefinite.

    `n_labeled` int64[k], labeled documents of each label. On the labeled documents A = w (2 Y Y' - 1 1' - I) for the
    0/1 matrix Y of their labels, whose eigenvalues are those of a k by k matrix, less w, and -w.
    """
    root = np.sqrt(n_labeled)
    if not root.size:
        return 0.0
    least = float(np.linalg.eigvalsh(2.0 * np.diag(n_labeled) - np.outer(root, root)).min())
    return weight * (1.0 - min(least, 0.0))
