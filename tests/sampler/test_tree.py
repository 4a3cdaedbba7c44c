"""The tree over new categories against pairs counted in explicit draws, one by one."""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pytest

from sampler.answers import tree as trees
from sampler.answers.tree import NO_LEAF, NO_PARENT, Tree, tree_of
from sampler.corpus import NO_CATEGORY, Array
from tests.sampler.test_pooling import corpus_of, tally_of

Draws = Sequence[Sequence[int]]  # of one chain: the identity that holds each document


@pytest.fixture(autouse=True)
def small_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiny cases have tiny leaves."""
    monkeypatch.setattr(trees, "SMALLEST_LEAF", 1)


def grown(category: Sequence[int], chains: Sequence[Draws], **given: object) -> Tree:
    """The tree over an answer with two known categories."""
    corpus = corpus_of([-1] * len(category), n_known=2)
    weight = given.pop("weight", np.ones(len(category), np.int64))
    return tree_of(np.array(category), 2, weight, [tally_of(corpus, draws) for draws in chains], **given)  # type: ignore[arg-type]


def groups_of(tree: Tree, n: int) -> Array:
    """int64[D]: the node of the cut into n that each document is in."""
    node = np.where(tree.leaf == NO_LEAF, NO_PARENT, tree.leaf).astype(np.int64)
    for d in np.flatnonzero(node != NO_PARENT):
        while tree.parent[node[d]] != NO_PARENT and tree.parent[node[d]] < 2 * tree.n_leaves - n:
            node[d] = tree.parent[node[d]]
    return node


def share_together(chains: Sequence[Draws]) -> Callable[[int, int], float]:
    """The chance that a draw that has d and one of the same chain that has e join them, all pairs of draws counted."""

    def share(d: int, e: int) -> float:
        counted = [np.mean([first[d] == second[e] for first in draws for second in draws]) for draws in chains]
        return float(np.mean(counted))

    return share


# Documents 0 to 7 are of category 2, 8 to 11 of category 3, 12 of a known one. The chains name categories differently.
CATEGORY = [2] * 8 + [3] * 4 + [0]
CHAINS: list[Draws] = [
    [[5] * 8 + [6] * 4 + [0], [5] * 4 + [7] * 4 + [6] * 4 + [0], [5] * 4 + [7] * 4 + [6] * 4 + [0]],
    [[2] * 8 + [3] * 4 + [0], [2] * 8 + [3] * 4 + [0], [2] * 8 + [3] * 2 + [2] * 2 + [0]],
]


def test_means_of_nodes_are_those_of_pairs_counted_in_explicit_draws() -> None:
    tree, share = grown(CATEGORY, CHAINS), share_together(CHAINS)
    members = [np.flatnonzero(np.isin(tree.leaf, row.nonzero()[0])) for row in tree.members.toarray()]
    assert tree.n_leaves == 3 and tree.parent.size == 5
    for node in range(tree.parent.size):
        parts = np.flatnonzero(tree.parent == node)
        if parts.size:
            pairs = [(d, e) for d in members[parts[0]] for e in members[parts[1]]]
        else:
            pairs = list(combinations(members[node], 2))
        assert tree.together[node] == pytest.approx(np.mean([share(*pair) for pair in pairs]), abs=1e-12)
        assert tree.n_documents[node] == members[node].size


def test_where_draws_of_a_chain_are_alike_the_means_are_shares_of_draws() -> None:
    """Two chains of one draw each, repeated: what is counted within single draws is the same."""
    chains: list[Draws] = [[[5] * 4 + [7] * 4 + [6] * 4 + [0]] * 3, [[2] * 8 + [3] * 4 + [0]] * 3]
    tree = grown(CATEGORY, chains)
    draws = [draw for chain in chains for draw in chain]
    joins = int(np.flatnonzero(tree.category == 2)[-1])
    pairs = [(d, e) for d in range(4) for e in range(4, 8)]
    counted = np.mean([draw[d] == draw[e] for d, e in pairs for draw in draws])
    assert tree.together[joins] == pytest.approx(counted, abs=1e-12)
    assert counted == 0.5
    assert tree.together[-1] == 0.0, "no draw joins a document of the one category with one of the other"


def test_the_answer_is_a_cut_and_all_cuts_are_nested() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        category = rng.integers(0, 6, 60)
        chains = [
            [np.where(rng.random(60) < 0.3, rng.integers(0, 9, 60), category).tolist() for _ in range(5)]
            for _ in range(3)
        ]
        tree = grown(category.tolist(), chains, finer=[rng.integers(0, 4, 60), rng.integers(0, 3, 60)])
        new = category >= 2
        np.testing.assert_array_equal(tree.leaf != NO_LEAF, new)
        own = groups_of(tree, np.unique(category[new]).size)
        np.testing.assert_array_equal((own[:, None] == own)[new][:, new], (category[:, None] == category)[new][:, new])
        before = groups_of(tree, tree.n_leaves)
        for n in range(tree.n_leaves - 1, 0, -1):
            now = groups_of(tree, n)
            assert np.unique(now[new]).size == n
            assert all(np.unique(now[before == node]).size == 1 for node in np.unique(before[new]))
            before = now
        sizes = np.bincount(before[new])
        assert sizes[-1] == new.sum() and tree.category[-1] in (NO_CATEGORY, category[new][0])


def test_the_pair_that_draws_join_most_often_is_joined_first() -> None:
    """Three groups of one category: two are apart in one draw of four, the third in three."""
    category = [2] * 12
    near, far = [5] * 8 + [6] * 4, [5] * 4 + [6] * 4 + [7] * 4
    tree = grown(category, [[near] * 2, [far] * 2, [[5] * 12] * 2, [near] * 2])
    assert tree.n_leaves == 3
    first = np.flatnonzero(tree.parent == 3)
    assert sorted(np.flatnonzero(np.isin(tree.leaf, first))) == list(range(8))
    assert tree.together[3] == 0.75
    assert tree.together[4] == 0.25


def test_where_draws_part_nothing_the_finer_partitions_say_what_the_parts_are() -> None:
    category, draw = [2] * 12, [5] * 12
    atoms = np.repeat([0, 1, 2], 4)
    others = np.repeat([0, 0, 1], 4)
    tree = grown(category, [[draw]], finer=[atoms, others])
    assert tree.n_leaves == 3 and (tree.together == 1.0).all()
    assert np.unique(groups_of(tree, 2)[:8]).size == 1, "the first two are one part of the second partition"
    assert grown(category, [[draw]]).n_leaves == 1


def test_small_blocks_join_the_leaf_that_draws_put_them_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "SMALLEST_LEAF", 3)
    category = [2] * 9
    usual, astray = [5] * 4 + [6] * 4 + [6], [5] * 4 + [6] * 4 + [7]
    tree = grown(category, [[astray, astray, usual]])
    assert tree.n_leaves == 2
    assert np.unique(tree.leaf[4:]).size == 1 and tree.leaf[0] != tree.leaf[8]


def test_a_large_corpus_has_no_more_than_some_hundred_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "MOST_LEAVES", 10)
    rng = np.random.default_rng(2)
    draws = [rng.integers(2, 300, 2_000).tolist() for _ in range(3)]
    tree = grown((2 + np.arange(2_000) % 4).tolist(), [draws])
    assert 4 <= tree.n_leaves <= 10 + 4


def test_what_would_count_as_no_category_in_a_draw_is_no_leaf() -> None:
    """Forty documents of a category in four parts: those of three are less than a tenth, of four not."""
    draw = np.repeat([5, 6, 7, 8], [15, 18, 3, 4]).tolist()
    tree = grown([2] * 40, [[draw]])
    assert sorted(tree.n_documents[: tree.n_leaves].tolist()) == [4, 15, 21]
    together = grown([2] * 20 + [3] * 20, [[draw]])
    assert 3 in together.n_documents[: together.n_leaves], "of two categories with half as many a tenth is less"


def test_copies_count_as_documents_and_are_together_in_every_draw() -> None:
    """Four documents of which three are one text are the same tree as the texts with their numbers."""
    draws = [[5, 5], [5, 6], [5, 5]]
    share, weight = share_together([draws]), np.array([3, 1])
    tree = grown([2, 2], [draws], weight=weight)
    assert (tree.n_leaves, tree.n_documents[-1]) == (1, 4)
    assert tree.together[-1] == pytest.approx((3 * 1.0 + 3 * share(0, 1)) / 6)
    apart = grown([2, 2], [draws], weight=weight, finer=[np.array([0, 1])])
    assert apart.together.tolist() == pytest.approx([1.0, np.nan, share(0, 1)], nan_ok=True)


def test_without_a_new_category_there_is_no_tree() -> None:
    tree = grown([0, 1, NO_CATEGORY], [[[0, 1, 0]]])
    assert tree.parent.size == 0 and tree.n_leaves == 0 and (tree.leaf == NO_LEAF).all()
    assert tree.members.shape == (0, 0)
