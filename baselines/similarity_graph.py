"""The graph of constrained clustering: cosines of all pairs of documents, those of one label merged into a vertex."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array, vstack
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from baselines.balanced_cut import Graph
from baselines.cosc_kernels import degrees, fill, part_of
from baselines.rows import unit_rows
from baselines.settings import ROWS_TOGETHER
from sampler.corpus import UNLABELED, Array, Corpus
from sampler.numerics.threads import Threads

FEW = 40  # vertices for which eigenvectors are computed from the whole matrix
EIGENVECTOR_TOLERANCE = 1e-4  # it is only where a descent starts


class Vertices(NamedTuple):
    """Merged documents of each known category that has some, then each unlabeled document; those without weight apart.

    The edge between two vertices weighs as much as all edges between their documents: the product of summed rows.
    """

    rows: csr_array  # float64[n, V], sums of tf-idf rows of unit length
    volume: Array  # float64[n], sums over its documents of the cosines with all others
    inside: Array  # float64[n], of that the cosines among its own documents
    known: Array  # int64[m], the category of each of the first m vertices
    document: Array  # int64[n - m], of each of the others

    @property
    def n(self) -> int:
        return int(self.volume.size)


def vertices_of(corpus: Corpus) -> Vertices:
    """The vertices of a corpus."""
    rows = unit_rows(corpus)
    has_weight = np.asarray((rows * rows).sum(axis=1)).ravel() > 0.0
    document = np.flatnonzero(has_weight & (corpus.labels == UNLABELED))
    labeled = np.flatnonzero(has_weight & (corpus.labels != UNLABELED))
    known, merged_into = np.unique(corpus.labels[labeled], return_inverse=True)
    ones = (np.ones(labeled.size), (merged_into, labeled))
    merged = csr_array(ones, shape=(known.size, corpus.n_documents)) @ rows
    summed = csr_array(vstack([merged, rows[document]]))
    summed.eliminate_zeros()
    n_documents = np.concatenate([np.bincount(merged_into, minlength=known.size), np.ones(document.size)])
    volume = summed @ np.asarray(rows.sum(axis=0)).ravel() - n_documents  # without the cosine with itself
    inside = np.asarray((summed * summed).sum(axis=1)).ravel() - n_documents
    return Vertices(summed, np.maximum(volume, 0.0), np.maximum(inside, 0.0), known.astype(np.int64), document)


def triangle_of(rows: csr_array, threads: Threads) -> Array:
    """float32[n (n - 1) / 2]: products of all pairs of rows, as in cosc_kernels."""
    n = rows.shape[0]
    triangle = np.empty(n * (n - 1) // 2, np.float32)
    single = csr_array(rows.astype(np.float32))
    columns = csr_array(single.T)
    for some in threads.slices(n, ROWS_TOGETHER):
        fill(triangle, (single[some] @ columns).toarray(), some.start, n)
    return triangle


def graph_of(vertices: Vertices, triangle: Array, members: Array) -> Graph:
    """The graph of some vertices int64[n], ascending; `triangle` is that of all."""
    if members.size < vertices.n:
        part = np.empty(members.size * (members.size - 1) // 2, np.float32)
        part_of(triangle, vertices.n, members, part)
    else:
        part = triangle
    rivals = np.flatnonzero(members < vertices.known.size)
    degree = degrees(part, members.size)
    return Graph(part, degree, degree + vertices.inside[members], rivals)


def components(rows: csr_array) -> Array:
    """int[n]: which connected part each vertex is in; vertices that share a word are connected."""
    shares = rows.shape[0]
    bipartite = csr_array(vstack([csr_array((shares, shares)), rows.T]))
    square = csr_array((bipartite.data, bipartite.indices, bipartite.indptr), shape=(sum(rows.shape),) * 2)
    return np.asarray(connected_components(square, directed=False)[1][:shares])


def second_eigenvector(rows: csr_array, degree: Array, first: Array) -> Array:
    """float64[n]: that of the normalized Laplacian, divided by the root of the degree; `first` if it cannot be had.

    `first` float64[n] is where the iteration begins.
    """
    root = np.sqrt(np.where(degree > 0.0, degree, 1.0))
    scaled = csr_array(diags_array(1.0 / root) @ rows)
    itself = np.asarray((scaled * scaled).sum(axis=1)).ravel()
    if first.size <= FEW:
        dense = (scaled @ scaled.T).toarray() - np.diag(itself)
        return np.asarray(np.linalg.eigh(dense)[1][:, -2] / root)
    operator = LinearOperator(
        (first.size, first.size), lambda x: scaled @ (scaled.T @ x.ravel()) - itself * x.ravel(), dtype=np.float64
    )
    try:
        vectors = eigsh(operator, k=2, which="LA", v0=first, tol=EIGENVECTOR_TOLERANCE)[1]
    except ArpackError:
        return first
    return np.asarray(vectors[:, 0] / root)
