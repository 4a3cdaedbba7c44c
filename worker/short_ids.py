"""Short ids of categories: the same for a known one in all jobs, and kept by new ones from job to job."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from app.core.short_ids import LONGEST, PREFIX, digest
from sampler.answers.pooling import SIMILAR, overlap
from sampler.corpus import NO_CATEGORY, Array

SHORTEST = 6  # symbols


def of_categories(
    known: Sequence[str], keys: Sequence[Sequence[str]], inherited: Mapping[int, str], spent: Collection[str] = (),
    decided: Mapping[str, str] = {},
) -> list[str]:  # fmt: skip
    """The distinct ids of a job's categories: those with these names, then new ones.

    Of a known one it follows from its name alone, unless it is one that somebody `decided` about in the job that is
    continued, where it had this id under its present name. A new one has the id that it `inherited`, by index, unless a
    known one has that, or one that follows from the `keys` of the documents that stand for it. An id that is `spent`
    stands for another category in other results, and for none here but the known one whose own it is.
    """
    found: list[str] = []
    for name in known:
        found.append(decided.get(name) or shortest_free(digest("known", name), {*found, *decided.values()}))
    kept = {category: own for category, own in inherited.items() if own not in found}
    taken = {*found, *kept.values(), *spent}
    for category, of_one in enumerate(keys, start=len(known)):
        own = kept.get(category) or shortest_free(digest("new", *of_one), taken)
        taken.add(own)
        found.append(own)
    return found


def shortest_free(symbols: str, taken: set[str]) -> str:
    """The id of the fewest symbols, SHORTEST or more, that is not taken: longer ones where two ids would be equal."""
    ids = (PREFIX + symbols[:length] for length in range(SHORTEST, LONGEST + 1))
    return next((each for each in ids if each not in taken), PREFIX + symbols[:LONGEST])


def paired(before: Array, now: Array, ids: Mapping[int, str | None], n_known: int = 0) -> dict[int, str]:
    """The id of each category of the partition `now` that is SIMILAR to one `before`, both int[n], best pairs first.

    All documents of either count, those that are in no category of the other as well. What is SIMILAR to one of the
    first `n_known` categories now is that known one, and its id goes to nobody.
    """
    n_before, n_now = (np.bincount(partition[partition != NO_CATEGORY]) for partition in (before, now))
    table = overlap(now, before, np.ones(now.size))
    either = n_now[table.first] + n_before[table.second] - table.shared
    jaccard = table.shared / either
    found: dict[int, str | None] = {}
    is_paired: set[int] = set()
    for pair in np.lexsort((table.second, table.first, -jaccard)):
        category, other = int(table.first[pair]), int(table.second[pair])
        if jaccard[pair] >= SIMILAR and category not in found and other not in is_paired:
            is_paired.add(other)
            found[category] = ids[other]
    return {category: own for category, own in found.items() if own and category >= n_known}
