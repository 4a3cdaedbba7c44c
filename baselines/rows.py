"""Documents as rows: the matrices that methods without a likelihood work on."""

import numpy as np
from scipy.sparse import csr_array

from sampler.answers.words import word_counts
from sampler.corpus import Array, Corpus


def unit_rows(corpus: Corpus, documents: Array | None = None) -> csr_array:
    """Sparse float64[D, V]: tf log(n / df), each row of unit length; rows without weight stay zero.

    Frequencies are those among `documents` int[n], of which alone there are rows; all by default. CLUTO's column model
    `idf`, which the paper's peers without a likelihood share here (the paper names none).
    """
    counts = word_counts(corpus).astype(np.float64)
    counts.sort_indices()
    counts = counts if documents is None else counts[documents]
    frequency = np.bincount(counts.indices, minlength=corpus.n_words)
    weight = np.log(max(counts.shape[0], 1) / np.maximum(frequency, 1))
    rows = csr_array((counts.data * weight[counts.indices], counts.indices, counts.indptr), shape=counts.shape)
    length = np.sqrt(np.asarray((rows * rows).sum(axis=1)).ravel())
    return csr_array((rows.data / np.repeat(np.where(length > 0.0, length, 1.0), np.diff(rows.indptr)),
                      rows.indices, rows.indptr), shape=rows.shape)  # fmt: skip
