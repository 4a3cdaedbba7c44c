"""How often each document was answered with each category: what is kept of the draws of a chain."""

from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.corpus import NO_CATEGORY, UNLABELED, Array


class Tally(NamedTuple):
    """How often each unlabeled document was answered with each category, over the kept draws."""

    n_draws: int
    document: Array  # int32[A], ascending; with identity, the address of a count
    identity: Array  # int64[A], ascending within a document
    hits: Array  # int32[A], kept draws with this answer


def no_tally() -> Tally:
    """The tally before the first kept draw."""
    return Tally(0, np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int32))


@njit(cache=True, nogil=True)
def with_answers(tally, labels, answers, identity):  # type: ignore[no-untyped-def]
    """The tally with one more draw: slots int32[D], or NO_CATEGORY, of which each has an identity, int64[C].

    Both are ordered by documents, so they are merged. O(A + D) time.
    """
    n_entries, n_room = tally.document.size, tally.document.size + answers.size
    documents, identities = np.empty(n_room, np.int32), np.empty(n_room, np.int64)
    hits = np.empty(n_room, np.int32)
    a, b = 0, 0  # the next entry to be read, and to be written
    for d in range(answers.size):
        is_answered = labels[d] == UNLABELED and answers[d] != NO_CATEGORY
        answer = identity[answers[d]] if is_answered else np.int64(0)
        is_due = is_answered
        while is_due or (a < n_entries and tally.document[a] == d):
            is_of_document = a < n_entries and tally.document[a] == d
            if is_due and not (is_of_document and tally.identity[a] < answer):
                documents[b], identities[b], hits[b] = d, answer, 1
                if is_of_document and tally.identity[a] == answer:
                    hits[b] += tally.hits[a]
                    a += 1
                is_due = False
            else:
                documents[b], identities[b], hits[b] = d, tally.identity[a], tally.hits[a]
                a += 1
            b += 1
    return Tally(tally.n_draws + 1, documents[:b].copy(), identities[:b].copy(), hits[:b].copy())
