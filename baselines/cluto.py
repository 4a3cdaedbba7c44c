"""Our implementation of CLUTO's direct k-way clustering by criterion i2 (Karypis; Zhao and Karypis 2004).

It sees no labels: the unlabeled documents alone are put into K groups, so that the lengths of the groups' sums add up
to as much as possible. A chain is one of CLUTO's trials; the best of several chains by the objective is the answer.
"""

import numpy as np

from baselines.method import Given, MethodState, new_state
from baselines.rows import unit_rows
from baselines.settings import ClutoSettings
from baselines.single_moves import refine_i2, rows_of, summed
from sampler.corpus import UNLABELED, Array
from sampler.numerics.streams import Step, generator

DOCUMENTS_AT_ONCE = 4096  # whose similarities to all seeds are held at a time


class Cluto:
    """Direct k-way clustering of the unlabeled documents. A sweep is one pass of refinement over them."""

    def __init__(self, given: Given, settings: ClutoSettings) -> None:
        """Raises ValueError for fewer than one category."""
        if given.n_categories < 1:
            raise ValueError(f"n_categories = {given.n_categories} is not at least 1")
        self.given, self.settings = given, settings
        unlabeled = np.flatnonzero(given.corpus.labels == UNLABELED)
        matrix = unit_rows(given.corpus, unlabeled)
        has_row = matrix.count_nonzero(axis=1) > 0
        self.documents = unlabeled[has_row]  # those that are put into groups
        self.matrix = matrix[has_row]
        self.rows = rows_of(self.matrix)
        self.n_groups = min(given.n_categories, self.documents.size)

    def start(self, chain: int) -> MethodState:
        """K random documents are seeds; every document goes to the most similar one."""
        seeds = generator(self.given.seed, chain, 0, Step.METHOD).choice(
            self.documents.size, self.n_groups, replace=False
        )
        group = np.zeros(self.documents.size, np.int64)
        for part in self.given.threads.slices(group.size, DOCUMENTS_AT_ONCE):
            group[part] = (self.matrix[part] @ self.matrix[seeds].T).toarray().argmax(axis=1)
        group[seeds] = np.arange(seeds.size)  # a copy of another seed would leave its group without a document
        return new_state(self.given, chain, self.category_of(group), self.criterion(group))

    def sweep(self, state: MethodState) -> None:
        """Visit the documents in random order and move each to where the criterion gains most."""
        group = state.category[self.documents].astype(np.int64) - self.given.corpus.n_known
        order = generator(state.seed, state.chain, state.n_sweeps, Step.METHOD).permutation(group.size)
        sums = summed(self.rows, group, self.n_groups, self.matrix.shape[1])
        n_moved = refine_i2(self.rows, order, group, sums, self.given.threads.stop)
        self.given.threads.check()
        state.category = self.category_of(group)
        state.objective = self.criterion(group)
        state.is_settled = n_moved == 0 or state.n_sweeps >= self.settings.n_refinements

    def criterion(self, group: Array) -> float:
        """I2, the sum of the lengths of the groups' sums; `group` int64[n], of each document that has a row."""
        sums = summed(self.rows, group, self.n_groups, self.matrix.shape[1])
        return float(np.sqrt((sums * sums).sum(axis=0)).sum())

    def category_of(self, group: Array) -> Array:
        """int32[D]: labeled documents have their label, and the groups are categories from n_known on."""
        category = self.given.corpus.labels.copy()  # UNLABELED is NO_CATEGORY
        category[self.documents] = self.given.corpus.n_known + group
        return category
