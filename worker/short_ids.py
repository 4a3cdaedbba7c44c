"""Short ids of categories: the same for a known one in all jobs, and kept by new ones when a job is extended."""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.tables import Answer, Category, Job
from sampler.answers.pooling import SIMILAR, overlap
from sampler.corpus import NO_CATEGORY, Array

SYMBOLS = "0123456789abcdefghjkmnpqrstvwxyz"  # of Crockford's base 32, which has no i, l, o and u
PREFIX, SHORTEST, LONGEST = "c-", 6, 18


def of_categories(known: Sequence[str], keys: Sequence[Sequence[str]], inherited: Mapping[int, str]) -> list[str]:
    """The distinct ids of a job's categories: those with these names, then new ones.

    Of a known one it follows from its name alone. A new one has the id that it `inherited`, by index, or one that
    follows from the `keys` of the documents that stand for it.
    """
    digests = [digest("known", name) for name in known] + [digest("new", *of_one) for of_one in keys]
    taken = set(inherited.values())
    found = []
    for category, symbols in enumerate(digests):
        own = inherited.get(category) or shortest_free(symbols, taken)
        taken.add(own)
        found.append(own)
    return found


def shortest_free(symbols: str, taken: set[str]) -> str:
    """The id of the fewest symbols, SHORTEST or more, that is not taken: longer ones where two ids would be equal."""
    ids = (PREFIX + symbols[:length] for length in range(SHORTEST, LONGEST + 1))
    return next((each for each in ids if each not in taken), PREFIX + symbols[:LONGEST])


def digest(*parts: str) -> str:
    """LONGEST symbols of the SHA-256 of some texts."""
    number = int.from_bytes(hashlib.sha256("\0".join(parts).encode()).digest(), "big")
    return "".join(SYMBOLS[number >> (256 - 5 * (place + 1)) & 31] for place in range(LONGEST))


def inherited_ids(session: Session, job: Job, document_ids: Array, category: Array, n_known: int) -> dict[int, str]:
    """The ids that new categories have from the job's present results, if it has any: those that are SIMILAR.

    `category` int[n] is the new answer for unlabeled documents with these ids. The most similar ones are paired first,
    each once.
    """
    of_job = (Answer.job_id == job.id, Answer.edition == job.edition)
    wanted = (Category.job_id == job.id, Category.edition == job.edition, Category.known.is_(False))
    ids = dict(session.execute(select(Category.category, Category.short_id).where(*wanted)).all())
    if not any(ids.values()):
        return {}
    rows = session.execute(select(Answer.document_id, Answer.category).where(*of_job, Answer.category.in_(ids)))
    pairs = np.array([tuple(row) for row in rows], np.int64).reshape(-1, 2)
    order = np.argsort(document_ids)
    before = np.full(document_ids.size, NO_CATEGORY, np.int64)
    place = np.minimum(np.searchsorted(document_ids[order], pairs[:, 0]), max(order.size - 1, 0))
    there = document_ids[order][place] == pairs[:, 0]
    before[order[place[there]]] = pairs[there, 1]
    return paired(before, np.where(category >= n_known, category, NO_CATEGORY), ids)


def paired(before: Array, now: Array, ids: Mapping[int, str | None]) -> dict[int, str]:
    """The id of each category of the partition `now` that is SIMILAR to one `before`, both int[n], best pairs first.

    All documents of either count, those that are in no category of the other as well.
    """
    n_before, n_now = (np.bincount(partition[partition != NO_CATEGORY]) for partition in (before, now))
    table = overlap(now, before, np.ones(now.size))
    either = n_now[table.first] + n_before[table.second] - table.shared
    jaccard = table.shared / either
    found: dict[int, str] = {}
    for pair in np.lexsort((table.second, table.first, -jaccard)):
        category, own = int(table.first[pair]), ids[int(table.second[pair])]
        if jaccard[pair] >= SIMILAR and own and category not in found and own not in found.values():
            found[category] = own
    return found
