"""The peers of today: a linear classifier with a threshold, and sentence embeddings, of the benchmark only.

What a peer leaves open is at the default of its library, or of BERTopic, whose recipe is embeddings, UMAP and HDBSCAN.
"""

import contextlib
import fcntl
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.model_selection import KFold
from sklearn.svm import LinearSVC

from benchmarks import rivals
from benchmarks.problems import Problem
from benchmarks.scoring import Answer
from sampler.corpus import UNLABELED, Array

N_FOLDS = 5
REJECTED = 0.1  # share of the labeled documents that the classifier would take for new ones
N_STARTS = 10  # of k-means
SMALLEST_CLUSTER, N_NEIGHBORS, N_DIMENSIONS = 10, 15, 5  # as BERTopic has them

OfVectors = Callable[[Problem, Array, int], Answer]  # of a problem, float32[D, n] of its documents and a seed


def svm(problem: Problem, seed: int) -> Answer:
    """A linear SVM on tf-idf over the known categories; what no category claims goes to k-means, told how many are new.

    It claims a document whose highest margin is above that of one labeled document in ten, of those held out.
    """
    corpus = problem.corpus
    vectors = rivals.tf_idf(corpus)
    labeled = np.flatnonzero((corpus.labels != UNLABELED) & (corpus.lengths > 0))
    known, labels, free = np.unique(corpus.labels[labeled]), corpus.labels[labeled], problem.scored
    held_out = np.empty(labels.size)
    for rest, fold in KFold(N_FOLDS, shuffle=True, random_state=seed).split(labels):
        held_out[fold] = margins(vectors[labeled[rest]], labels[rest], vectors[labeled[fold]], known).max(axis=1)
    found = margins(vectors[labeled], labels, vectors[free], known)
    is_rejected = found.max(axis=1) < np.quantile(held_out, REJECTED)
    rejected = free[is_rejected]
    n_new = min(problem.n_new, rejected.size)

    category = corpus.labels.astype(np.int64)
    category[free] = known[found.argmax(axis=1)]
    nobody = np.full(rejected.size, UNLABELED)
    groups = rivals.best_partition(vectors[rejected], nobody, 0, n_new, np.random.default_rng(seed))
    category[rejected] = corpus.n_known + groups
    return Answer(category, corpus.n_known + n_new, None, None)


def margins(vectors: Any, labels: Array, others: Any, known: Array) -> Array:
    """float64[n, k]: the signed distances of other documents, one column for each of the categories `known`."""
    present = np.unique(labels)
    if present.size == 1:
        return np.where(known == present[0], 0.0, -np.inf) + np.zeros((others.shape[0], 1))
    scores = np.asarray(LinearSVC(random_state=0).fit(vectors, labels).decision_function(others))
    of_present = np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores
    found = np.full((others.shape[0], known.size), -np.inf)
    found[:, np.searchsorted(known, present)] = of_present
    return found


def k_means(problem: Problem, vectors: Array, seed: int) -> Answer:
    """K-means of the scored documents at the true number of categories."""
    groups = KMeans(problem.n_true, n_init=N_STARTS, random_state=seed).fit_predict(vectors[problem.scored])
    return of_groups(problem, groups)


def hdbscan(problem: Problem, vectors: Array, seed: int) -> Answer:
    """Dense regions of the scored documents; what is in none is a group of its own. No random number is drawn."""
    return of_groups(problem, dense_regions(vectors[problem.scored]))


def umap_hdbscan(problem: Problem, vectors: Array, seed: int) -> Answer:
    """BERTopic's recipe: dense regions of a map in five dimensions; what is in none is a group of its own."""
    umap: Any = importlib.import_module("umap")  # for benchmarks alone, so not among our dependencies
    scored = vectors[problem.scored]
    mapping = umap.UMAP(
        n_neighbors=min(N_NEIGHBORS, len(scored) - 1), n_components=N_DIMENSIONS, min_dist=0.0, metric="cosine",
        random_state=seed, n_jobs=1,
    )  # fmt: skip
    return of_groups(problem, dense_regions(mapping.fit_transform(scored)))


def dense_regions(points: Array) -> Array:
    """int64[n]: the region of each point; -1 for one that is in none."""
    return np.asarray(HDBSCAN(min_cluster_size=SMALLEST_CLUSTER, copy=True).fit_predict(points))


def of_groups(problem: Problem, groups: Array) -> Answer:
    """The answer that puts scored documents into these groups, int[n], all of them new categories."""
    category = problem.corpus.labels.astype(np.int64)
    numbers = np.unique(groups, return_inverse=True)[1]
    category[problem.scored] = problem.corpus.n_known + numbers
    return Answer(category, int(numbers.max(initial=-1)) + 1, None, None)


def embeddings(problem: Problem, out: Path) -> Array:
    """float32[D, 384]: MiniLM's sentence embeddings, kept in a file for all splits: they have the same texts."""
    texts = sorted(set(problem.texts))
    file = out / "embeddings" / f"{problem.name}.npy"
    file.parent.mkdir(parents=True, exist_ok=True)
    with (file.parent / "lock").open("w") as lock:  # another process may be about to make the same
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            partial = file.with_suffix(".partial.npy")
            np.save(partial, encode(texts, out / "model"))
            partial.replace(file)
    row = {text: n for n, text in enumerate(texts)}
    vectors = np.load(file)
    if len(vectors) != len(texts):
        raise ValueError(f"{file} has {len(vectors)} rows, not {len(texts)}: it is of other texts")
    return np.asarray(vectors[[row[text] for text in problem.texts]])


def encode(texts: list[str], folder: Path) -> Array:
    """float32[n, 384]: unit vectors, by the model that a Python package carries, unpacked into the folder."""
    with contextlib.redirect_stdout(sys.stderr):  # it prints, and our lines are on the standard output
        package: Any = importlib.import_module("all_minilm_l6_v2")  # with sentence_transformers, for benchmarks alone
        library: Any = importlib.import_module("sentence_transformers")
        path = package.get_model_path(str(folder))
    model = library.SentenceTransformer(str(path), device="cpu")
    return np.asarray(model.encode(texts, normalize_embeddings=True, show_progress_bar=False), np.float32)
