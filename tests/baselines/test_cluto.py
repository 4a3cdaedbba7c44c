"""Direct k-way clustering by criterion i2, against the criterion over all pairs and all partitions of few documents."""

import numpy as np
import pytest

from baselines import method
from baselines.cluto import Cluto
from baselines.cluto_report import NO_WORD, report
from baselines.settings import ClutoSettings
from sampler.corpus import NO_CATEGORY, UNLABELED, Array
from sampler.numerics.threads import Interrupted
from tests.baselines.groups_harness import (
    blobs,
    dumps_of_an_interrupted_run,
    given,
    is_same_partition,
    partitions,
    random_corpus,
    settled,
    states,
)


def i2(cosines: Array, group: Array) -> float:
    """The criterion, from the similarities of all pairs."""
    return float(sum(np.sqrt(cosines[group == s][:, group == s].sum()) for s in np.unique(group)))


def test_the_objective_is_the_criterion_by_pairs_and_never_falls() -> None:
    tried = Cluto(given(random_corpus(60, [], 0, n_words=20), 6), ClutoSettings(n_refinements=100))
    cosines = (tried.matrix @ tried.matrix.T).toarray()
    last = -np.inf
    for state in states(tried):
        np.testing.assert_allclose(state.objective, i2(cosines, state.category[tried.documents]), rtol=1e-12)
        assert state.objective >= last
        last = state.objective
    assert 2 < state.n_sweeps < 100


def test_where_it_settles_no_move_of_one_document_would_gain() -> None:
    tried = Cluto(given(random_corpus(40, [], 0, n_words=20), 5), ClutoSettings(n_refinements=100))
    state = settled(tried)
    cosines = (tried.matrix @ tried.matrix.T).toarray()
    group = state.category[tried.documents]
    for d in range(group.size):
        for s in range(5):
            moved = group.copy()
            moved[d] = s
            assert np.unique(moved).size < 5 or i2(cosines, moved) <= state.objective + 1e-8


def test_the_best_of_ten_trials_is_the_best_of_all_partitions_of_nine_documents() -> None:
    tried = Cluto(given(random_corpus(9, [], 0, seed=5), 3), ClutoSettings())
    cosines = (tried.matrix @ tried.matrix.T).toarray()
    best = max(i2(cosines, np.array(group)) for group in partitions(9, 3))
    np.testing.assert_allclose(max(settled(tried, chain).objective for chain in range(10)), best, rtol=1e-12)


def test_separate_groups_are_found_and_labels_left_as_they_are() -> None:
    corpus, truth = blobs([20, 20, 20], [8, 0, 0])
    state = max(
        (settled(Cluto(given(corpus, 3), ClutoSettings()), chain) for chain in range(4)), key=lambda s: s.objective
    )
    unlabeled = np.flatnonzero((corpus.labels == UNLABELED) & (corpus.lengths > 0))
    assert is_same_partition(state.category[unlabeled], truth[unlabeled])
    assert set(state.category[unlabeled].tolist()) == {1, 2, 3}
    assert (state.category[corpus.labels == 0] == 0).all()
    assert state.category[-1] == NO_CATEGORY  # it has no word


@pytest.mark.parametrize("n_groups", [1, 12, 30])
def test_one_group_and_as_many_as_documents_have_the_values_that_they_must(n_groups: int) -> None:
    tried = Cluto(given(random_corpus(12, [], 0), n_groups), ClutoSettings())
    state = settled(tried)
    dense = tried.matrix.toarray()
    expected = np.linalg.norm(dense.sum(axis=0)) if n_groups == 1 else len(dense)  # unit rows, each alone
    np.testing.assert_allclose(state.objective, expected)
    assert np.unique(state.category[tried.documents]).size == min(n_groups, len(dense))


def test_a_run_goes_on_from_its_bytes_as_if_it_had_never_stopped() -> None:
    corpus = random_corpus(60, [], 0, n_words=20)
    whole, parts = dumps_of_an_interrupted_run(Cluto(given(corpus, 6), ClutoSettings()), corpus, 4)
    assert whole == parts


def test_a_corpus_without_unlabeled_documents_has_nothing_to_be_done() -> None:
    corpus = random_corpus(3, [0, 0, 1], 2)
    state = settled(Cluto(given(corpus, 4), ClutoSettings()))
    assert (state.category.tolist(), state.objective) == ([0, 0, 1], 0.0)


def test_a_raised_flag_ends_a_sweep() -> None:
    at_hand = given(random_corpus(60, [], 0), 6)
    tried = Cluto(at_hand, ClutoSettings())
    state = tried.start(0)
    at_hand.threads.stop[0] = 1
    with pytest.raises(Interrupted):
        method.advance(tried, state)


def test_constants_without_sense_are_refused_with_their_values() -> None:
    with pytest.raises(ValueError, match="n_refinements = 0 is not within 1 and 1000"):
        ClutoSettings(n_refinements=0)
    with pytest.raises(ValueError, match="n_categories = 0 is not at least 1"):
        Cluto(given(random_corpus(3, [], 0), 0), ClutoSettings())


def test_the_report_says_of_each_category_what_all_pairs_say() -> None:
    tried = Cluto(given(random_corpus(30, [], 0, n_words=12), 3), ClutoSettings())
    rows, category = tried.matrix, settled(tried).category[tried.documents].copy()
    category[4] = NO_CATEGORY  # as if it had none: it takes part in nothing
    told = report(rows, category, n_words=12)
    cosines = (rows @ rows.T).toarray()
    assert told.category.tolist() == [0, 1, 2]
    for c in told.category:
        own, others = np.flatnonzero(category == c), np.flatnonzero((category != c) & (category != NO_CATEGORY))
        inner, outer = cosines[own][:, own], cosines[own][:, others]
        assert told.size[c] == own.size
        np.testing.assert_allclose(told.internal[c], inner.mean())
        np.testing.assert_allclose(told.internal_deviation[c], inner.mean(axis=1).std())
        np.testing.assert_allclose(told.external[c], outer.mean())
        np.testing.assert_allclose(told.external_deviation[c], outer.mean(axis=1).std())
        check_words(told.descriptive[c], told.descriptive_share[c], within_share(rows[own].toarray()))
        apart = rows[own].toarray().mean(axis=0) - rows[others].toarray().mean(axis=0)
        check_words(
            told.discriminating[c], told.discriminating_share[c], np.where(apart > 0, apart**2, 0) / (apart @ apart)
        )


def within_share(rows: Array) -> Array:
    """Of the similarity of all pairs of documents, the part that comes from each word."""
    by_word = np.einsum("iw,jw->w", rows, rows)
    return np.asarray(by_word / by_word.sum())


def check_words(words: Array, shares: Array, expected: Array) -> None:
    """Words are listed with their shares, in descending order, and those that are not listed have none."""
    listed = words != NO_WORD
    np.testing.assert_allclose(shares[listed], expected[words[listed]])
    assert (np.diff(shares) <= 0).all()
    np.testing.assert_allclose(shares.sum(), expected.sum())


def test_words_of_a_group_alone_describe_it_and_set_it_apart() -> None:
    corpus, truth = blobs([20, 20, 20], [0, 0, 0])
    told = report(Cluto(given(corpus, 3), ClutoSettings()).matrix, truth[:-1], n_words=5)
    for c in range(3):
        assert set(told.descriptive[c] // 8) == {c}  # words 8 c .. 8 c + 7 are those of category c
        assert set(told.discriminating[c] // 8) == {c}
    assert (told.internal > 3 * told.external).all()


def test_a_category_of_all_documents_has_no_others_to_be_compared_with() -> None:
    rows = Cluto(given(random_corpus(5, [], 0), 1), ClutoSettings()).matrix
    told = report(rows, np.zeros(5, np.int64))
    assert np.isnan(told.external).all()
    assert (told.discriminating == NO_WORD).all()
    assert (told.discriminating_share == 0.0).all()
