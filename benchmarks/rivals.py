"""The peers of the quality benchmark. Each is a function of a problem and a seed that returns an answer.

Two are told the true number of categories, which nobody knows in practice. What a peer leaves open was settled in its
favour, by the scores on the benchmark's own problems: INVERSE_PENALTY, the seeding of k-means, points of length 1.
"""

import warnings

import numpy as np
from scipy.sparse import csr_array
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import BayesianGaussianMixture
from sklearn.model_selection import KFold
from sklearn.preprocessing import normalize

from benchmarks.problems import Problem
from benchmarks.scoring import Answer
from sampler.answers import consensus
from sampler.corpus import UNLABELED, Array, Corpus
from sampler.hyperparameters import CategoryStep, Hyperparameters, Kernel
from sampler.lbpl_ntm import chain

N_STARTS = 3  # of k-means, the best of which counts
MAX_ROUNDS = 100
TINY = 1e-12  # in place of a length or a distance of zero

INVERSE_PENALTY = 10.0  # of the regression
N_FOLDS = 5
REJECTED = 0.1  # share of the labeled documents that the regression would take for new ones

N_DIMENSIONS = 50  # of latent semantic analysis
MAX_COMPONENTS = 80
MAX_STEPS = 500  # of variational inference
NAMED = 0.5  # a component is known if its labeled share is above this part of the corpus's

N_SWEEPS = 200  # of a chain, the first half burn-in
INTERVAL = (0.05, 0.95)


def k_means(problem: Problem, seed: int) -> Answer:
    """Seeded spherical k-means, told K: the known categories have their labeled documents from the start, for good."""
    corpus = problem.corpus
    rows = np.flatnonzero(corpus.lengths)
    category = corpus.labels.astype(np.int64)  # -1 where there is no answer yet
    rng = np.random.default_rng(seed)
    category[rows] = best_partition(tf_idf(corpus)[rows], corpus.labels[rows], corpus.n_known, problem.n_new, rng)
    return Answer(category, problem.n_true, None, None)


def k_means_on_vectors(problem: Problem, seed: int) -> Answer:
    """The same on the documents' vectors in place of their words; without vectors, that on words."""
    if problem.vectors is None:
        return k_means(problem, seed)
    corpus, rows = problem.corpus, np.flatnonzero(problem.corpus.lengths)
    category, points = corpus.labels.astype(np.int64), csr_array(normalize(problem.vectors[rows].astype(np.float64)))
    rng = np.random.default_rng(seed)
    category[rows] = best_partition(points, corpus.labels[rows], corpus.n_known, problem.n_new, rng)
    return Answer(category, problem.n_true, None, None)


def logistic_regression(problem: Problem, seed: int) -> Answer:
    """Logistic regression over the known categories; what it is least sure of goes to k-means, told how many are new.

    A document is left to k-means if its highest probability is below that of nine in ten labeled documents when the
    regression has not seen them. Its probability is NaN then: k-means has none.
    """
    corpus = problem.corpus
    vectors = tf_idf(corpus)
    labeled = np.flatnonzero((corpus.labels != UNLABELED) & (corpus.lengths > 0))
    free = problem.scored
    chances = fit(vectors[labeled], corpus.labels[labeled], vectors[free])
    certainty = chances.max(axis=1)
    least = np.quantile(held_out_certainty(vectors[labeled], corpus.labels[labeled], seed), REJECTED)

    category = corpus.labels.astype(np.int64)
    category[free] = np.unique(corpus.labels[labeled])[chances.argmax(axis=1)]
    rejected = free[certainty < least]
    n_new = min(problem.n_new, rejected.size)
    nobody = np.full(rejected.size, UNLABELED)
    found = best_partition(vectors[rejected], nobody, 0, n_new, np.random.default_rng(seed))
    category[rejected] = corpus.n_known + found
    probability = np.full(corpus.n_documents, np.nan)
    probability[free] = np.where(certainty < least, np.nan, certainty)
    return Answer(category, corpus.n_known + n_new, None, probability)


def bayesian_mixture(problem: Problem, seed: int) -> Answer:
    """A Dirichlet process mixture of diagonal Gaussians on latent semantic analysis, by variational inference.

    It does not see labels; they name its components afterwards, and components of one name are one category. The
    probability of an answer is the sum over its components. It has at most twice as many as there are true categories.
    """
    corpus = problem.corpus
    rows = np.flatnonzero(corpus.lengths)
    analysis = TruncatedSVD(min(N_DIMENSIONS, corpus.n_words - 1), random_state=seed)
    points = normalize(analysis.fit_transform(tf_idf(corpus)[rows]))
    mixture = BayesianGaussianMixture(
        n_components=min(2 * problem.n_true, MAX_COMPONENTS),
        covariance_type="diag",
        weight_concentration_prior_type="dirichlet_process",
        max_iter=MAX_STEPS,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # its answer after MAX_STEPS is the one that is scored
        mixture.fit(points)
    chances = mixture.predict_proba(points)
    name = name_components(chances.argmax(axis=1), corpus.labels[rows], corpus.n_known, chances.shape[1])
    by_category = np.zeros((rows.size, name.max() + 1))
    np.add.at(by_category.T, name, chances.T)

    category = corpus.labels.astype(np.int64)
    is_free = corpus.labels[rows] == UNLABELED
    category[problem.scored] = by_category[is_free].argmax(axis=1)
    probability = np.full(corpus.n_documents, np.nan)
    probability[problem.scored] = by_category[is_free].max(axis=1)
    n_new = np.unique(category[category >= corpus.n_known]).size
    return Answer(category, corpus.n_known + n_new, None, probability)


def lbpl_ntm(problem: Problem, seed: int, kernel: Kernel, step: CategoryStep) -> Answer:
    """One chain of the paper's model. The number of categories counts the known ones and new ones with documents."""
    corpus, hyperparameters = problem.corpus, Hyperparameters(category_step=step)
    state = chain.start(corpus, hyperparameters, seed, 0, kernel)
    n_categories = []
    for _ in range(N_SWEEPS):
        draw = chain.sweep(corpus, hyperparameters, state)
        if draw.sweep > N_SWEEPS // 2:
            chain.keep(corpus, state)
            n_categories.append(corpus.n_known + draw.n_new_with_documents)
    pooled = consensus.consensus_of(corpus, state.tally)
    return Answer(pooled.category, pooled.n_categories, interval(n_categories), pooled.probability)


def lbpl_ntm_exact(problem: Problem, seed: int) -> Answer:
    """The paper's model with the category step that draws from its posterior."""
    return lbpl_ntm(problem, seed, "blocked", "exact")


def lbpl_ntm_as_printed(problem: Problem, seed: int) -> Answer:
    """The paper's Algorithm 1 with the category step that equation (6) prints."""
    return lbpl_ntm(problem, seed, "collapsed", "as_printed")


def tf_idf(corpus: Corpus) -> csr_array:
    """float64[D, V]: (1 + ln n) (1 + ln((1 + D) / (1 + df))), rows of length 1; a row is zero without a word."""
    counts = csr_array(
        (np.ones(corpus.n_tokens), corpus.words, corpus.offsets.astype(np.int32)),
        shape=(corpus.n_documents, corpus.n_words),
        copy=True,  # the next line writes into the arrays
    )
    counts.sum_duplicates()
    return csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(counts))


def best_partition(vectors: csr_array, labels: Array, n_known: int, n_new: int, rng: np.random.Generator) -> Array:
    """int64[D]: the partition of several starts whose documents are nearest to their centres."""
    if n_known + n_new == 0:
        return np.empty(0, np.int64)
    partitions = [partition(vectors, labels, n_known, n_new, rng) for _ in range(N_STARTS)]
    return max(partitions, key=lambda found: found[1])[0]


def partition(
    vectors: csr_array, labels: Array, n_known: int, n_new: int, rng: np.random.Generator
) -> tuple[Array, float]:
    """Spherical k-means of unit rows float64[D, V]: category int64[D], and the sum of cosines to their centres.

    Documents with a label stay in their category. O(rounds K nnz) time.
    """
    is_free = labels == UNLABELED
    centres = seed_centres(vectors, labels, n_known, n_new, rng)
    category = labels.astype(np.int64)
    for _ in range(MAX_ROUNDS):
        cosines = vectors @ centres.T
        nearest = np.where(is_free, cosines.argmax(axis=1), labels)
        fill_empty(nearest, cosines, is_free)
        if (nearest == category).all():
            break
        category = nearest
        centres = means(vectors, category, n_known + n_new)
    return category, float((vectors @ centres.T)[np.arange(category.size), category].sum())


def seed_centres(vectors: csr_array, labels: Array, n_known: int, n_new: int, rng: np.random.Generator) -> Array:
    """float64[K, V]: means of the labeled documents, then unlabeled documents that the centres so far explain badly.

    Each is drawn with probability proportional to 1 - its highest cosine to a centre, half the squared distance: the
    D^2 seeding of Arthur and Vassilvitskii (2007).
    """
    free = np.flatnonzero(labels == UNLABELED)
    told = np.flatnonzero(labels != UNLABELED)
    centres = means(vectors[told], labels[told], n_known)
    highest = (vectors[free] @ centres.T).max(axis=1, initial=0.0)
    for _ in range(n_new):
        distance = np.maximum(1.0 - highest, TINY)
        centre = vectors[[rng.choice(free, p=distance / distance.sum())]].toarray()
        centres = np.concatenate([centres, centre])
        highest = np.maximum(highest, (vectors[free] @ centre.T).ravel())
    return centres


def means(vectors: csr_array, category: Array, n_categories: int) -> Array:
    """float64[K, V]: the direction of each category's mean; zero without a document."""
    ones, documents = np.ones(category.size), np.arange(category.size)
    members = csr_array((ones, (category, documents)), shape=(n_categories, category.size))
    sums = (members @ vectors).toarray()
    return np.asarray(sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), TINY))


def fill_empty(category: Array, cosines: Array, is_free: Array) -> None:
    """Give each category without a document the free one that is farthest from its centre, in place."""
    sizes = np.bincount(category, minlength=cosines.shape[1])
    for empty in np.flatnonzero(sizes == 0):
        own = np.where(is_free & (sizes[category] > 1), cosines[np.arange(category.size), category], np.inf)
        farthest = int(own.argmin())
        sizes[category[farthest]] -= 1
        category[farthest], sizes[empty] = empty, 1


def fit(vectors: csr_array, labels: Array, others: csr_array) -> Array:
    """float64[n, k]: probabilities of the categories that occur among the labels, for other documents."""
    regression = LogisticRegression(C=INVERSE_PENALTY, max_iter=1000)
    return np.asarray(regression.fit(vectors, labels).predict_proba(others))


def held_out_certainty(vectors: csr_array, labels: Array, seed: int) -> Array:
    """float64[n]: each labeled document's highest probability, by a regression over the other folds.

    Folds are random: a category with one labeled document cannot be in all of them.
    """
    certainty = np.empty(labels.size)
    for rest, fold in KFold(N_FOLDS, shuffle=True, random_state=seed).split(labels):
        certainty[fold] = fit(vectors[rest], labels[rest], vectors[fold]).max(axis=1)
    return certainty


def name_components(component: Array, labels: Array, n_known: int, n_components: int) -> Array:
    """int64[C]: the category of each component, from components int[n] and labels int[n] of the same documents.

    It is the most frequent label if labels are not too rare in the component, else a new category of its own.
    """
    is_labeled = labels != UNLABELED
    sizes = np.bincount(component, minlength=n_components)
    held = np.zeros((n_components, n_known), np.int64)
    np.add.at(held, (component[is_labeled], labels[is_labeled]), 1)
    is_known = held.sum(axis=1) > NAMED * is_labeled.mean() * sizes
    new = n_known + np.cumsum(~is_known) - 1
    return np.where(is_known, held.argmax(axis=1), new)


def interval(numbers: list[int]) -> tuple[int, int]:
    """The central 90 % of some numbers, which are integers."""
    low, high = np.quantile(numbers, INTERVAL, method="inverted_cdf")
    return int(low), int(high)
