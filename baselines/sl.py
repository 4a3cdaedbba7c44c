"""Serendipitous learning: maximum margin over known categories and new ones; docs/baselines/sl.md.

    J(W) = 1/2 sum_m |w_m|^2 + C_l / l sum over labeled i of   max_m [ 1(m != y_i) + (w_m - w_(y_i)) x_i ]
                             + C_u / u sum over unlabeled j of max(0, 1 - [ max_m w_m x_j - second_m w_m x_j ])

under balance of the new categories (Zhang, Liu and Si 2011; its constraints after Zhao, Wang and Zhang 2008), by the
concave-convex procedure: each unlabeled document is given the category that wins it, which makes the problem convex
(`multiclass_margin`) and its minimum no higher; and so on.
"""

from enum import IntEnum
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from sklearn.cluster import KMeans

from baselines.method import Given, MethodState, new_state
from baselines.multiclass_margin import MarginProblem, MarginSolution, descend, losses, solution_of, standing
from baselines.principal_components import principal_components, with_unit_length
from baselines.rows import unit_rows
from baselines.settings import SlSettings
from sampler.corpus import NO_CATEGORY, UNLABELED, Array
from sampler.numerics.streams import Step, generator

WORK_PER_SWEEP = 1e9  # products of a sweep at most, unless a single pass takes more: about two seconds


class Stage(IntEnum):
    """What is fitted at present."""

    KNOWN = 0  # the labeled documents, once
    START = 1  # and the least known documents, as groups
    ROUND = 2  # all documents


class Place(IntEnum):
    """What each number of `own["place"]` is."""

    STAGE = 0
    RESTART = 1
    ROUND = 2
    PASS = 3  # over the documents, in the present convex problem


class Sl:
    """Our implementation of serendipitous learning. A sweep is some passes over the documents of one convex problem.

    `category` and `objective`, -J, are those of the best round so far.
    """

    def __init__(self, given: Given, settings: SlSettings) -> None:
        """Raises ValueError if there are fewer categories than known ones, or none at all."""
        if given.n_categories < max(given.corpus.n_known, 1):
            raise ValueError(f"n_categories = {given.n_categories} is below {max(given.corpus.n_known, 1)}")
        self.given, self.settings = given, settings
        self.n_new = given.n_categories - given.corpus.n_known

    @cached_property
    def tfidf(self) -> csr_array:
        """Sparse float64[D, V]."""
        return unit_rows(self.given.corpus)

    @cached_property
    def documents(self) -> Array:
        """int64[n], of those that have a word with weight."""
        return np.flatnonzero(np.diff(self.tfidf.indptr) > 0)

    @cached_property
    def rows(self) -> Array:
        """float64[n, d]: principal components, each row of unit length."""
        random = generator(self.given.seed, 0, 0, Step.METHOD)  # the same for all chains; sweeps count from 1
        tfidf = self.tfidf[self.documents]
        return with_unit_length(principal_components(tfidf, self.settings.n_components, random, self.given.threads))

    @cached_property
    def labels(self) -> Array:
        """int32[n]."""
        return np.asarray(self.given.corpus.labels[self.documents])

    @cached_property
    def unlabeled(self) -> Array:
        """int64[u], indices of rows."""
        return np.flatnonzero(self.labels == UNLABELED)

    @cached_property
    def cost(self) -> Array:
        """float64[n]: C_l / l of labeled documents, C_u / u of the others."""
        n_unlabeled = self.unlabeled.size
        labeled = self.settings.labeled_weight / max(self.labels.size - n_unlabeled, 1)
        unlabeled = self.settings.unlabeled_weight / max(n_unlabeled, 1)
        return np.where(self.labels == UNLABELED, unlabeled, labeled)

    def start(self, chain: int) -> MethodState:
        """A run with weights of zero, by which every unlabeled document belongs to the first category."""
        n = self.documents.size
        target = np.where(self.labels == UNLABELED, 0, self.labels).astype(np.int32)
        objective = -float(self.cost.sum()) if self.given.n_categories > 1 else 0.0
        return new_state(
            self.given,
            chain,
            self.categories(target),
            objective,
            alpha=np.zeros((n, self.given.n_categories)),
            multiplier=np.zeros((self.n_new, self.n_new)),
            target=target,
            known_score=np.zeros(n),
            reached=np.array([-objective]),  # J after the last round
            place=np.zeros(len(Place), np.int64),
        )

    def sweep(self, state: MethodState) -> None:
        """Some passes over the documents; if these solve the convex problem, J is looked at and the next one posed."""
        if self.documents.size == 0:
            state.is_settled = True
            return
        problem, place = self.problem(state), state.own["place"]
        solution = solution_of(problem, state.own["alpha"], state.own["multiplier"])
        random = generator(state.seed, state.chain, state.n_sweeps, Step.METHOD)
        if not self.solve(state, problem, solution, random):
            return
        place[Place.PASS] = 0
        scores = problem.rows @ solution.weights
        if place[Place.STAGE] == Stage.KNOWN:
            n_known = self.given.corpus.n_known
            state.own["known_score"] = scores[:, :n_known].max(axis=1) if n_known else np.zeros(len(scores))
            self.begin_restart(state, random)
        elif self.ends_start(state, scores, solution):
            place[Place.RESTART] += 1
            state.is_settled = bool(self.n_new == 0 or place[Place.RESTART] == self.settings.n_restarts)
            if not state.is_settled:
                self.begin_restart(state, random)

    def problem(self, state: MethodState) -> MarginProblem:
        """The convex problem that the run is at."""
        cost = np.where(state.own["target"] == NO_CATEGORY, 0.0, self.cost)
        if state.own["place"][Place.STAGE] == Stage.KNOWN:
            cost[self.unlabeled] = 0.0
        total = self.rows[self.unlabeled].sum(axis=0)
        bound = self.settings.balance * self.unlabeled.size
        target = np.maximum(state.own["target"], 0)  # of documents without part in it, no matter which
        return MarginProblem(self.rows, target, cost, total, bound, self.given.corpus.n_known)

    def solve(
        self, state: MethodState, problem: MarginProblem, solution: MarginSolution, random: np.random.Generator
    ) -> bool:
        """Some passes over the documents, in place; True if the problem needs no more."""
        place = state.own["place"]
        documents = np.flatnonzero(problem.cost > 0.0)
        n_passes = max(int(WORK_PER_SWEEP / max(documents.size * solution.weights.size, 1)), 1)
        for _ in range(n_passes):
            self.given.threads.check()
            descend(problem, solution, random.permutation(documents))
            place[Place.PASS] += 1
            reached = standing(problem, solution)
            tolerance = self.settings.gap_tolerance
            if reached.gap <= tolerance * max(reached.primal, 1e-12) and reached.excess <= tolerance * problem.bound:
                return True
            if place[Place.PASS] >= self.settings.max_passes:
                return True
        return False

    def begin_restart(self, state: MethodState, random: np.random.Generator) -> None:
        """Put the least known of the unlabeled documents into groups, from which the new categories start."""
        own, n_known = state.own, self.given.corpus.n_known
        own["alpha"][:] = 0.0
        own["multiplier"][:] = 0.0
        own["target"][:] = np.where(self.labels == UNLABELED, NO_CATEGORY, self.labels)
        own["place"][[Place.STAGE, Place.ROUND]] = Stage.START, 0
        if self.n_new == 0 or self.unlabeled.size == 0:
            return
        share = self.settings.start_share if n_known else 1.0
        n_wanted = min(max(round(share * self.unlabeled.size), self.n_new), self.unlabeled.size)
        order = np.argsort(own["known_score"][self.unlabeled], kind="stable")
        least_known = self.unlabeled[order[:n_wanted]]
        groups = KMeans(min(self.n_new, n_wanted), n_init=1, random_state=int(random.integers(2**31)))
        own["target"][least_known] = n_known + groups.fit_predict(self.rows[least_known])

    def ends_start(self, state: MethodState, scores: Array, solution: MarginSolution) -> bool:
        """Record J, and pose the next convex problem; True if there is nothing more to gain from this start."""
        own, place = state.own, state.own["place"]
        winner = self.winners(scores)
        reached = 0.5 * float((solution.weights**2).sum()) + float(self.cost @ losses(scores, winner))
        if -reached > state.objective:
            state.objective, state.category = -reached, self.categories(winner)
        fell = float(own["reached"][0]) - reached
        is_first = place[Place.STAGE] == Stage.START
        own["reached"][0] = reached
        if not is_first:
            place[Place.ROUND] += 1
            if fell < self.settings.round_tolerance * reached or place[Place.ROUND] >= self.settings.max_rounds:
                return True
        place[Place.STAGE] = Stage.ROUND
        own["target"][:] = winner  # alpha of those that changed is out of its bounds until their first visit
        return False

    def winners(self, scores: Array) -> Array:
        """int32[n]: the label, or the category with the highest score."""
        return np.where(self.labels == UNLABELED, scores.argmax(axis=1), self.labels).astype(np.int32)

    def categories(self, winner: Array) -> Array:
        """int32[D] of all documents, from int32[n] of those that have a row."""
        category = np.where(self.given.corpus.labels == UNLABELED, NO_CATEGORY, self.given.corpus.labels)
        category[self.documents] = winner
        return category.astype(np.int32)
