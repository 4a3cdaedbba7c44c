"""What the starts of the calibration say of the documents: they were grouped under every setting, as chains do it.

A chain draws a setting after the other and names its groups by those that it has seen. Here all kept settings are gone
through once, the heaviest first, and count by their weights: that is what a chain comes to that never moves a group.
So there are as many answers more as there are starts, for no more sampling.
"""

import numpy as np
from scipy.sparse import coo_array, csr_array

from sampler.answers.pooling import SHARES
from sampler.answers.tally import Tally
from sampler.calibrated.chain import numbers_of_groups
from sampler.calibrated.steps import Calibration
from sampler.corpus import UNLABELED, Array


def tallies_of_starts(calibration: Calibration) -> list[Tally]:
    """How often each unlabeled document of the new side is in each category, by each start.

    Nothing of a continued job, whose settings were weighed before its documents came.
    """
    if calibration.new_side.documents.size == 0:
        return []
    return [tally_of_start(calibration, groups) for groups in calibration.groups_of_starts]


def tally_of_start(calibration: Calibration, groups: Array) -> Tally:
    """SHARES draws by the groups int[kept settings, n] of the new side's documents."""
    corpus, learned, documents = calibration.prepared.corpus, calibration.learned, calibration.new_side.documents
    weight, known = calibration.scores.weight[calibration.kept], learned.known[documents].astype(np.float64)
    columns, shares, members = [learned.category[documents].astype(np.int64)], [known], list[Array]()
    for s in np.argsort(-weight, kind="stable"):
        group_of = groups[s].astype(np.int64)
        names = corpus.n_known + numbers_of_groups(group_of, int(group_of.max()) + 1, members)
        columns.append(names[group_of])
        shares.append((1.0 - known) * weight[s])
    entries = (np.concatenate(shares), (np.tile(documents, len(shares)), np.concatenate(columns)))
    table = csr_array(coo_array(entries, shape=(corpus.n_documents, corpus.n_known + len(members))))
    table.sort_indices()
    document = np.repeat(np.arange(corpus.n_documents, dtype=np.int32), np.diff(table.indptr))
    hits = np.rint(table.data * SHARES).astype(np.int32)
    kept = (hits > 0) & (corpus.labels[document] == UNLABELED)
    return Tally(SHARES, document[kept], table.indices[kept].astype(np.int64), hits[kept])
