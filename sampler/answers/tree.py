"""A tree over the new categories of an answer: which documents belong together first, by the draws.

The closeness of two documents has two parts.

- `together`: the chance that a kept draw that has the one and another one of the same chain that has the other put them
  into one category, the mean over chains of sum_i s_di s_ei, s_di the share of a chain's draws in which d is in its
  category i. It is the share of draws that join them if the two move independently of each other within a chain, and
  errs on the side of apart if they move as one.
- `near`: the share of the partitions that the model itself works with, finer than any draw, that join them: where draws
  never part a category, these say what its parts are.

Leaves are blocks of documents that no chain parts, by the likeliest category of each, nor any of the finer partitions;
what would be too small is not parted. Average linkage joins them, first within each new category of the
answer, then these up to one root; so the answer is one cut of the tree, and nodes are numbered in the order in which
they are joined: the first n of them are the cut into so many fewer groups than there are leaves. Means are over pairs
of documents, copies counted, and exact: both parts are products of vectors, and a block has the sum of its documents'.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack

from sampler.answers.consensus import most_frequent_answers
from sampler.answers.tally import Tally
from sampler.corpus import NO_CATEGORY, Array
from sampler.numerics.threads import Threads

NO_LEAF = NO_PARENT = -1
SMALLEST_LEAF = 5  # documents
SMALLEST_PART = 0.1  # of what new categories hold on average; what holds less is no category in a draw either
MOST_LEAVES = 300  # about: a leaf of a large corpus has so large a part of the documents of new categories
BLOCKS_AT_ONCE = 4_096


class Tree(NamedTuple):
    """L leaves, then the nodes that join two each, 2 L - 1 in all; none without a new category."""

    leaf: Array  # int32[D], of the documents of new categories; NO_LEAF for the others
    parent: Array  # int64[N], always a higher number; NO_PARENT of the root, the last one
    category: Array  # int64[N], the new category that the node is, or is part of; NO_CATEGORY if it joins several
    n_documents: Array  # int64[N]
    # float64[N]: the mean of `together` over all pairs of a document of the one part and one of the other; of a leaf
    # over all its pairs, NaN if it has none.
    together: Array

    @property
    def n_leaves(self) -> int:
        return (self.parent.size + 1) // 2

    @property
    def members(self) -> csr_array:
        """int64[N, L]: with ones, the leaves of each node."""
        n_nodes, n_leaves = self.parent.size, self.n_leaves
        held = [[leaf] for leaf in range(n_leaves)] + [[] for _ in range(n_nodes - n_leaves)]
        for node in range(n_nodes - 1):
            held[self.parent[node]] += held[node]
        indptr = np.cumsum([0] + [len(leaves) for leaves in held])
        indices = np.array([leaf for leaves in held for leaf in leaves], np.int64)
        return csr_array((np.ones(indices.size, np.int64), indices, indptr), shape=(n_nodes, n_leaves))


class Blocks(NamedTuple):
    """Blocks of documents of one category each, ascending by category."""

    category: Array  # int64[B]
    size: Array  # int64[B], documents
    together: csr_array  # float64[B, I], sums of the vectors of their documents, whose products are `together`
    near: csr_array  # float64[B, F], the same of `near`

    def taken(self, chosen: Array) -> "Blocks":
        """Some of the blocks."""
        return Blocks(self.category[chosen], self.size[chosen], self.together[chosen], self.near[chosen])


def tree_of(
    category: Array, n_known: int, weight: Array, tallies: Sequence[Tally], finer: Sequence[Array] = (),
    threads: Threads | None = None,
) -> Tree:  # fmt: skip
    """The tree over the new categories of an answer int[D]. Without threads nothing interrupts it.

    `weight` int64[D] is how many documents each stands for; `finer` are partitions int64[D] that are finer than any
    draw. O(D + blocks of documents x leaves + leaves^3) time.
    """
    threads = threads or Threads()
    documents = np.flatnonzero(category >= n_known)
    leaf = np.full(category.size, NO_LEAF, np.int32)
    if documents.size == 0:
        nothing = np.empty(0, np.int64)
        return Tree(leaf, nothing, nothing, nothing, np.empty(0))
    own, copies = category[documents].astype(np.int64), weight[documents]
    together, near = vectors_of_draws(documents, tallies, category.size), vectors_of_partitions(documents, finer)
    likeliest = [most_frequent_answers(category.size, t.document, t.identity, t.hits)[0] for t in tallies]
    partitions = [partition[documents] for partition in (*likeliest, *finer)]
    leaf[documents] = find_leaves(partitions, own, copies, together, near, threads)
    leaves = blocks_of(leaf[documents], own, copies, together, near)
    within = pairs_within(leaf[documents], leaves, copies, together)
    return joined(leaf, leaves, within, threads)


def vectors_of_draws(documents: Array, tallies: Sequence[Tally], n_documents: int) -> csr_array:
    """float64[M, I]: the vectors of some documents whose products are `together`."""
    place = np.full(n_documents, -1)
    place[documents] = np.arange(documents.size)
    found = []
    for tally in tallies:
        row = place[tally.document]
        kept = row >= 0
        identities, column = np.unique(tally.identity[kept], return_inverse=True)
        share = tally.hits[kept] / max(tally.n_draws, 1) / np.sqrt(len(tallies))
        found.append(csr_array((share, (row[kept], column)), shape=(documents.size, identities.size)))
    return csr_array(hstack(found, format="csr"))


def vectors_of_partitions(documents: Array, finer: Sequence[Array]) -> csr_array:
    """float64[M, F]: the vectors of some documents whose products are `near`; F is 0 without partitions."""
    found = [csr_array((documents.size, 0))]
    for partition in finer:
        parts, column = np.unique(partition[documents], return_inverse=True)
        share = np.full(documents.size, 1.0 / np.sqrt(len(finer)))
        entries = (np.arange(documents.size), column)
        found.append(csr_array((share, entries), shape=(documents.size, parts.size)))
    return csr_array(hstack(found, format="csr"))


def find_leaves(
    partitions: Sequence[Array], own: Array, copies: Array, together: csr_array, near: csr_array, threads: Threads
) -> Array:  # fmt: skip
    """int64[M]: the leaf of each document, ascending by category.

    Each partition int[M] in turn parts the blocks of those before; a part that is too small for a leaf joins another
    part of its block, if one is large enough, and otherwise the block stays whole.
    """
    categories, block = np.unique(own, return_inverse=True)
    n_documents = int(copies.sum())
    smallest = max(SMALLEST_LEAF, SMALLEST_PART * n_documents / categories.size, n_documents / MOST_LEAVES)
    for partition in partitions:
        threads.check()
        _, part = np.unique(partition, return_inverse=True)
        _, finer = np.unique(block * (int(part.max()) + 1) + part, return_inverse=True)
        whole = np.empty(int(finer.max()) + 1, np.int64)
        whole[finer] = block
        block = join_small(blocks_of(finer, own, copies, together, near), whole, smallest, threads)[finer]
    return np.asarray(block)


def blocks_of(block: Array, own: Array, copies: Array, together: csr_array, near: csr_array) -> Blocks:
    """The blocks int64[M] of documents with these categories, numbers of copies and vectors."""
    n_blocks = int(block.max()) + 1
    belongs = csr_array((copies.astype(np.float64), (block, np.arange(block.size))), shape=(n_blocks, block.size))
    category = np.empty(n_blocks, np.int64)
    category[block] = own
    size = np.bincount(block, copies, n_blocks).astype(np.int64)
    return Blocks(category, size, belongs @ together, belongs @ near)


def join_small(blocks: Blocks, whole: Array, smallest: float, threads: Threads) -> Array:
    """int64[B]: the number of what each block becomes. A small one joins the one that it is closest to on average.

    They join within the wholes int64[B] that they are parts of, whose largest part is never joined to another. Numbers
    ascend by whole, and fall by size within one.
    """
    by_size = np.lexsort((-blocks.size, whole))
    is_first = np.append(True, np.diff(whole[by_size]) > 0)
    kept = by_size[is_first | (blocks.size[by_size] >= smallest)]
    number = np.full(blocks.size.size, NO_LEAF, np.int64)
    number[kept] = np.arange(kept.size)
    small, large = np.flatnonzero(number == NO_LEAF), blocks.taken(kept)
    for some in threads.slices(small.size, BLOCKS_AT_ONCE):
        closeness = products(blocks.taken(small[some]), large).sum(axis=0) / large.size  # their own changes no order
        closeness[whole[small[some]][:, None] != whole[kept]] = -1.0
        number[small[some]] = closeness.argmax(axis=1)
    return number


def products(first: Blocks, second: Blocks) -> Array:
    """float64[2, B, B']: sums of `together` and of `near` over all pairs of a document of either block."""
    return np.stack(
        [(first.together @ second.together.T).toarray(), (first.near @ second.near.T).toarray()]
    )  # fmt: skip


def pairs_within(leaf: Array, leaves: Blocks, copies: Array, together: csr_array) -> Array:
    """float64[L]: the sum of `together` over all pairs of documents of a leaf; copies are together in every draw."""
    squares = np.asarray(leaves.together.power(2).sum(axis=1)).ravel()
    own = np.asarray(together.power(2).sum(axis=1)).ravel() * copies.astype(np.float64) ** 2
    n_leaves = leaves.size.size
    among_copies = np.bincount(leaf, copies * (copies - 1) / 2.0, n_leaves)
    found: Array = (squares - np.bincount(leaf, own, n_leaves)) / 2.0 + among_copies
    return found


def joined(leaf: Array, leaves: Blocks, within: Array, threads: Threads) -> Tree:
    """The tree that average linkage makes of leaves; of pairs that are equally close the first is joined."""
    n_leaves = leaves.size.size
    n_nodes = 2 * n_leaves - 1
    parent, category = np.full(n_nodes, NO_PARENT, np.int64), np.full(n_nodes, NO_CATEGORY, np.int64)
    size, together = np.zeros(n_nodes, np.int64), np.full(n_nodes, np.nan)
    category[:n_leaves], size[:n_leaves] = leaves.category, leaves.size
    n_pairs = leaves.size * (leaves.size - 1) / 2.0
    together[:n_leaves] = np.divide(within, n_pairs, out=np.full(n_leaves, np.nan), where=n_pairs > 0)
    sums, node_in = products(leaves, leaves), np.arange(n_leaves)  # the node that each row of sums stands for now
    n_within = n_leaves - np.unique(leaves.category).size
    is_over = np.zeros(n_leaves, bool)
    for joins in range(n_leaves - 1):
        threads.check()
        held = size[node_in].astype(np.float64)
        closeness = sums.sum(axis=0) / np.outer(held, held)
        closeness[is_over] = closeness[:, is_over] = -1.0
        if joins < n_within:
            closeness[category[node_in][:, None] != category[node_in]] = -1.0
        np.fill_diagonal(closeness, -1.0)
        a, b = np.unravel_index(int(closeness.argmax()), closeness.shape)
        node, first, second = n_leaves + joins, node_in[a], node_in[b]
        parent[[first, second]] = node
        size[node] = size[first] + size[second]
        together[node] = sums[0, a, b] / (held[a] * held[b])
        category[node] = category[first] if category[first] == category[second] else NO_CATEGORY
        sums[:, a] += sums[:, b]
        sums[:, :, a] += sums[:, :, b]
        node_in[a], is_over[b] = node, True
    return Tree(leaf, parent, category, size, np.clip(together, 0.0, 1.0))
