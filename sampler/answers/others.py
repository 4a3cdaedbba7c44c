"""The categories of a document that are told beside its answer and its runner-up. Loads no numba."""

import numpy as np

from sampler.corpus import NO_CATEGORY, Array

N_OTHERS = 3
MATTERS = 0.01  # probability from which on they are told


def no_others(n_documents: int) -> tuple[Array, Array]:
    """The fields `others` and `other_probability` of a consensus of D documents that have none."""
    shape = (n_documents, N_OTHERS)
    return np.full(shape, NO_CATEGORY, np.int32), np.full(shape, np.nan)
