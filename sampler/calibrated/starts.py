"""What the starts of the calibration say of the documents: they were grouped under every setting, as chains do it.

A chain draws a setting after the other and names its groups by those that it has seen. Here all kept settings are gone
through once, the heaviest first, and count by their weights: that is what a chain comes to that never moves a group.
So there are as many answers more as there are starts, for no more sampling.
"""

import numpy as np
from scipy.sparse import coo_array, csr_array

from sampler.answers.pooling import SHARES
from sampler.answers.tally import Tally
from sampler.calibrated.granularity import SAME
from sampler.calibrated.steps import Calibration
from sampler.corpus import NO_CATEGORY, UNLABELED, Array


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


def numbers_of_groups(group_of: Array, n_groups: int, members: list[Array]) -> Array:
    """int64[G]: the number of each group, by the documents that it shares with groups seen before.

    `group_of` int64[n] are the groups of the new side's documents, `members` those that groups had when they were first
    seen, under their numbers. Groups that are alike to none of them get new ones, and are added.
    """
    number = np.full(n_groups, NO_CATEGORY, np.int64)
    if members:
        seen = np.repeat(np.arange(len(members)), [member.size for member in members])
        shared = np.zeros((n_groups, len(members)))
        np.add.at(shared, (group_of[np.concatenate(members)], seen), 1.0)
        sizes = np.bincount(group_of, minlength=n_groups)
        jaccard = shared / (sizes[:, None] + np.bincount(seen)[None, :] - shared)
        group, other = np.nonzero(jaccard >= SAME)
        for i in np.argsort(-jaccard[group, other], kind="stable"):
            if number[group[i]] == NO_CATEGORY and other[i] not in number:
                number[group[i]] = other[i]
    for g in np.flatnonzero(number == NO_CATEGORY):
        number[g] = len(members)
        members.append(np.flatnonzero(group_of == g))
    return number
