"""Constrained 1-spectral clustering by recursive splitting; docs/baselines/cosc.md.

Documents of one label are one vertex. All vertices are one part at first; as long as there are fewer than K, each part
is cut in two as well as it can be (`balanced_cut`), and the cut that costs least is kept.
"""

from functools import cached_property

import numpy as np

from baselines.balanced_cut import Cut, Effort, Graph, descend, evaluate
from baselines.method import Given, MethodState, new_state
from baselines.penalty_path import PenaltyPath, next_penalty
from baselines.settings import CoscSettings
from baselines.similarity_graph import Vertices, components, graph_of, second_eigenvector, triangle_of, vertices_of
from sampler.corpus import NO_CATEGORY, UNLABELED, Array
from sampler.numerics.streams import Step, generator


class Cosc:
    """Our implementation of constrained 1-spectral clustering. A sweep is one step of the descent of one cut.

    `objective` is the sum over parts of 1 - cut / volume. Of several recursions, the best one answers.
    `own["n_broken"]` counts the cannot-links that the answer breaks: pairs of known categories that share a part.
    """

    def __init__(self, given: Given, settings: CoscSettings) -> None:
        """Raises ValueError if there are fewer categories than known ones, or none at all."""
        if given.n_categories < max(given.corpus.n_known, 1):
            raise ValueError(f"n_categories = {given.n_categories} is below {max(given.corpus.n_known, 1)}")
        self.given, self.settings = given, settings

    @cached_property
    def vertices(self) -> Vertices:
        """Of the graph."""
        return vertices_of(self.given.corpus)

    @cached_property
    def triangle(self) -> Array:
        """float32[n (n - 1) / 2], of the graph of all vertices."""
        return triangle_of(self.vertices.rows, self.given.threads)

    def start(self, chain: int) -> MethodState:
        """A run with all vertices in one part."""
        category = np.where(self.given.corpus.labels == UNLABELED, NO_CATEGORY, self.given.corpus.labels)
        state = new_state(self.given, chain, category, 0.0, repeat=np.zeros(1, np.int64))
        self.begin_recursion(state)
        self.answer(state, self.objective(state))
        return state

    def begin_recursion(self, state: MethodState) -> None:
        """Put all vertices into one part."""
        n, n_parts = self.vertices.n, self.given.n_categories
        state.own.update(
            part=np.zeros(n, np.int32),
            n_parts=np.ones(1, np.int64),
            cost=np.zeros(n_parts),  # cut / volume of each part
            is_split=np.zeros(n_parts, np.bool_),  # whether the best split of a part is known
            side=np.zeros(n, np.bool_),  # of that split, or of the best one so far
            side_cost=np.zeros((n_parts, 2)),  # cut / volume of its sides
            found=np.full(2, np.inf),  # of the best one so far: links broken above those allowed, F without penalty
        )
        self.begin_split(state)

    def begin_split(self, state: MethodState) -> None:
        """Forget what was found on the way to the last split."""
        state.own.update(
            found=np.full(2, np.inf),
            start=np.zeros(1, np.int64),
            n_iterations=np.zeros(1, np.int64),  # 0 before a start has values
            values=np.zeros(self.vertices.n),  # f, of the vertices of the part
            path=PenaltyPath().as_array(),
        )

    def sweep(self, state: MethodState) -> None:
        """One step towards the best split of the next part; or, all being known, keep the best of them."""
        own, n_parts = state.own, int(state.own["n_parts"][0])
        unknown = np.flatnonzero(~own["is_split"][:n_parts])
        if n_parts == self.given.n_categories or self.vertices.n == 0:
            self.end_recursion(state)
        elif unknown.size:
            self.split(state, int(unknown[0]))
        elif np.isfinite(own["side_cost"][:n_parts].sum(axis=1)).any():
            self.keep_best_split(state)
        else:
            self.end_recursion(state)

    def split(self, state: MethodState, part: int) -> None:
        """One step towards the best split of a part."""
        own = state.own
        members = np.flatnonzero(own["part"] == part)
        if members.size < 2:
            self.end_split(state, part, members, None)
            return
        graph = graph_of(self.vertices, self.triangle, members)
        if own["start"][0] == 0 and own["n_iterations"][0] == 0 and self.isolate(state, graph, members):
            self.end_split(state, part, members, graph)
            return
        if own["n_iterations"][0] == 0:
            own["values"][members] = self.first_values(state, graph, members)
            own["n_iterations"][0] = self.settings.n_iterations
        if self.step(state, graph, members):
            own["start"][0] += 1
            own["n_iterations"][0] = 0
            own["path"] = PenaltyPath().as_array()
            if own["start"][0] == self.settings.n_starts:
                self.end_split(state, part, members, graph)

    def isolate(self, state: MethodState, graph: Graph, members: Array) -> bool:
        """Split a connected component off, which cuts nothing; False if all vertices with a volume are connected."""
        best = (-1, 0.0)
        total, component = graph.volume.sum(), components(self.vertices.rows[members])
        for number in range(component.max() + 1):
            side = component == number
            volume = graph.volume[side].sum()
            n_inside = int(side[graph.rivals].sum())
            resolved = n_inside * (graph.rivals.size - n_inside)
            if volume * (total - volume) > 0.0 and (resolved, volume * (total - volume)) > best:
                best = (resolved, volume * (total - volume))
                state.own["side"][members] = side
                state.own["found"][:] = 0.0
        return best[0] >= 0

    def first_values(self, state: MethodState, graph: Graph, members: Array) -> Array:
        """float64[n]: where a start begins; the first one is the Laplacian's second eigenvector, the others random."""
        random = generator(state.seed, state.chain, state.n_sweeps, Step.METHOD).standard_normal(members.size)
        if state.own["start"][0] > 0:
            return random
        return second_eigenvector(self.vertices.rows[members], graph.degree, random)

    def allowed(self, graph: Graph, members: Array) -> int:
        """Cannot-links that a split of a part may break: those that later splits may mend."""
        n_later = max(2, members.size * self.given.n_categories // self.vertices.n)
        return (n_later - 2) * graph.n_links // n_later

    def step(self, state: MethodState, graph: Graph, members: Array) -> bool:
        """One step of the descent, under the present penalty; True if the start is at its end."""
        own, threads = state.own, self.given.threads
        path, allowed = PenaltyPath(*own["path"]), self.allowed(graph, members)
        cut = evaluate(graph, own["values"][members], path.penalty, threads)
        self.consider(state, cut, members, allowed)
        effort = Effort(int(own["n_iterations"][0]), threads)
        values = descend(graph, own["values"][members], cut.ratio, path.penalty, effort) if cut.side.any() else None
        if values is not None:
            after = evaluate(graph, values, path.penalty, threads)
            self.consider(state, after, members, allowed)
            if after.ratio < cut.ratio * (1.0 - self.settings.tolerance):
                own["values"][members] = values
                return False
            own["n_iterations"][0] *= 2
            if own["n_iterations"][0] <= self.settings.most_iterations:
                return False
        n_penalties = None if self.given.n_categories == 2 else self.settings.n_gammas
        following = next_penalty(path, cut, graph, allowed, n_penalties)
        if following is None:
            return True
        own["path"] = following.as_array()
        own["n_iterations"][0] = self.settings.n_iterations
        return False

    def consider(self, state: MethodState, cut: Cut, members: Array, allowed: int) -> None:
        """Keep the cut as the split if it is the best so far."""
        found = (float(max(cut.n_broken - allowed, 0)), cut.plain)
        if cut.side.any() and found < tuple(state.own["found"].tolist()):
            state.own["found"][:] = found
            state.own["side"][members] = cut.side

    def end_split(self, state: MethodState, part: int, members: Array, graph: Graph | None) -> None:
        """Record what the sides of the best split of a part cost; infinite if it cannot be split."""
        own = state.own
        own["is_split"][part] = True
        own["side_cost"][part] = np.inf
        if graph is not None and np.isfinite(own["found"]).all():
            for number in (0, 1):
                side = members[own["side"][members] == bool(number)]
                own["side_cost"][part, number] = self.cost(side)
        self.begin_split(state)

    def cost(self, members: Array) -> float:
        """cut / volume of a part: the share of its volume that is of edges to the rest."""
        rows = self.vertices.rows
        inside = np.asarray(rows[members].sum(axis=0)).ravel()
        everything = np.asarray(rows.sum(axis=0)).ravel()
        cut = max(float(inside @ (everything - inside)), 0.0)
        return cut / max(float(self.vertices.volume[members].sum()), 1e-12)

    def keep_best_split(self, state: MethodState) -> None:
        """Split the part for which the sum of costs is lowest, of those that mend as many links as are wanted."""
        own, n_parts = state.own, int(state.own["n_parts"][0])
        links, resolved = self.links_of_parts(state)
        n_rounds = self.given.n_categories - n_parts + 1  # parts that there will be for each part, if one is taken
        wanted = links.sum() - (n_rounds - 2) * links.sum() // n_rounds
        gain = own["side_cost"][:n_parts].sum(axis=1) - own["cost"][:n_parts]
        possible = np.flatnonzero(np.isfinite(gain))
        enough = possible[resolved[possible] >= min(wanted, resolved[possible].max())]
        part = int(enough[gain[enough].argmin()])
        moved = (own["part"] == part) & own["side"]
        own["part"][moved] = n_parts
        own["cost"][[part, n_parts]] = own["side_cost"][part]
        own["is_split"][part] = False
        own["n_parts"][0] += 1
        if own["repeat"][0] == 0:  # later recursions answer when they are at their end, if they are better
            self.answer(state, self.objective(state))

    def links_of_parts(self, state: MethodState) -> tuple[Array, Array]:
        """int64[P], int64[P]: cannot-links within each part, and those that its best split would mend."""
        n_parts, n_rivals = int(state.own["n_parts"][0]), self.vertices.known.size
        part, side = state.own["part"][:n_rivals], state.own["side"][:n_rivals]
        within = np.bincount(part, minlength=n_parts)
        moved = np.bincount(part[side], minlength=n_parts)
        return within * (within - 1) // 2, moved * (within - moved)

    def end_recursion(self, state: MethodState) -> None:
        """Let it answer if it is better than those before; begin another, unless it was the last."""
        objective = self.objective(state)
        if objective > state.objective:
            self.answer(state, objective)
        state.own["repeat"][0] += 1
        state.is_settled = bool(state.own["repeat"][0] == self.settings.n_repeats)
        if not state.is_settled:
            self.begin_recursion(state)

    def objective(self, state: MethodState) -> float:
        """The sum over parts of 1 - cut / volume."""
        n_parts = int(state.own["n_parts"][0])
        return float(n_parts - state.own["cost"][:n_parts].sum())

    def answer(self, state: MethodState, objective: float) -> None:
        """Let the parts be the answer, and record how many pairs of known categories they do not tell apart."""
        together = np.bincount(state.own["part"][: self.vertices.known.size])
        state.own["n_broken"] = (together * (together - 1) // 2).sum(keepdims=True)
        state.objective = objective
        state.category[self.vertices.document] = self.categories(state.own["part"], int(state.own["n_parts"][0]))

    def categories(self, part: Array, n_parts: int) -> Array:
        """int32[n - m]: of the documents. Parts with a known category are of it, of the nearest if there are several.

        The others are new categories, the largest first; if known ones share a part, there are more than K - k.
        """
        known, n_rivals = self.vertices.known, self.vertices.known.size
        of_document = part[n_rivals:]
        category = np.full(n_parts, NO_CATEGORY, np.int32)
        for number in np.unique(part[:n_rivals]):
            rivals = np.flatnonzero(part[:n_rivals] == number)
            total = np.asarray(self.vertices.rows[n_rivals:][of_document == number].sum(axis=0)).ravel()
            category[number] = known[rivals[int((self.vertices.rows[rivals] @ total).argmax())]]
        new = np.flatnonzero(category == NO_CATEGORY)
        size = np.bincount(of_document, minlength=n_parts)
        category[new[np.argsort(-size[new], kind="stable")]] = self.given.corpus.n_known + np.arange(new.size)
        return np.asarray(category[of_document])
