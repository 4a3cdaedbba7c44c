"""The tally of kept draws against one that is sorted anew for each of them."""

import numpy as np

from sampler.answers.tally import Tally, no_tally, with_answers
from sampler.corpus import NO_CATEGORY, UNLABELED, Array


def test_a_kept_draw_changes_the_tally_as_sorting_all_its_entries_would() -> None:
    """Documents with and without an answer; identities that are older and younger than those in the tally."""
    rng = np.random.default_rng(11)
    labels = rng.choice([UNLABELED, UNLABELED, 0], 200).astype(np.int32)
    identity = rng.permutation(30)[:12].astype(np.int64)
    merged = expected = no_tally()
    for _ in range(40):
        answers = rng.integers(NO_CATEGORY, identity.size, labels.size).astype(np.int32)
        answers[150:] = NO_CATEGORY if merged.n_draws < 20 else answers[150:]
        merged = with_answers(merged, labels, answers, identity)
        expected = sorted_tally(expected, labels, answers, identity)
        assert merged.n_draws == expected.n_draws
        for found, wanted in zip(merged[1:], expected[1:], strict=True):
            np.testing.assert_array_equal(found, wanted)
            assert found.dtype == wanted.dtype


def sorted_tally(tally: Tally, labels: Array, answers: Array, identity: Array) -> Tally:
    """The tally with one more draw, by a sort."""
    document = np.flatnonzero((answers != NO_CATEGORY) & (labels == UNLABELED)).astype(np.int32)
    documents = np.concatenate([tally.document, document])
    identities = np.concatenate([tally.identity, identity[answers[document]]])
    hits = np.concatenate([tally.hits, np.ones(document.size, np.int32)])
    order = np.lexsort((identities, documents))
    documents, identities, hits = documents[order], identities[order], hits[order]
    is_first = np.ones(documents.size, bool)
    is_first[1:] = (np.diff(documents) != 0) | (np.diff(identities) != 0)
    totals = np.add.reduceat(hits, np.flatnonzero(is_first))
    return Tally(tally.n_draws + 1, documents[is_first], identities[is_first], totals.astype(np.int32))
