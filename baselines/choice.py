"""Which number of categories: how well those of an answer are told apart, whatever the method."""

import numpy as np
from sklearn.metrics import silhouette_score

from baselines.rows import unit_rows
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.numerics.streams import Step, chosen

MOST_DOCUMENTS = 2_000  # that are looked at: every two of them are compared


def silhouette(corpus: Corpus, category: Array, seed: int) -> float | None:
    """The mean silhouette (Rousseeuw 1987) of unlabeled documents, by the cosine of their tf-idf rows; from -1 to 1.

    `category` int[D]. None if the documents are not of two categories at least, or each is of one of its own.
    """
    documents = np.flatnonzero((corpus.labels == UNLABELED) & (category != NO_CATEGORY) & (corpus.lengths > 0))
    documents = chosen(documents, MOST_DOCUMENTS, seed, Step.SAMPLE)
    n_found = np.unique(category[documents]).size
    if not 2 <= n_found < documents.size:
        return None
    rows = unit_rows(corpus)[documents]
    distance = np.clip(1.0 - (rows @ rows.T).toarray(), 0.0, 2.0)
    np.fill_diagonal(distance, 0.0)
    return float(silhouette_score(distance, category[documents], metric="precomputed"))
