"""Words of sources: their counts against tables by hand, and planted boilerplate told from categories."""

import numpy as np
import pytest

from sampler.calibrated.bags import WordBags, brevity, effective_counts, select, tf_idf, word_bags
from sampler.calibrated.sources import (
    ERRORS,
    LEAST_FACTOR,
    NO_SOURCE,
    Sources,
    Uses,
    entry_weights,
    mark_of,
    most_by_chance,
    source_factors,
    uses_by_group,
    with_sources,
)
from sampler.corpus import UNLABELED, Array
from sampler.numerics.threads import Threads
from tests.sampler.calibrated_harness import posed

N_CATEGORIES, N_OWN, N_FRAME = 4, 30, 8  # words of each category; words of each source
FRAMES = N_CATEGORIES * N_OWN  # the first word of the first source


def framed(in_first: list[float], *, has_frames: bool = True, n_documents: int = 150) -> tuple[WordBags, Sources]:
    """Documents of categories with words of their own, and half of the words of one of two sources.

    `in_first` are the shares of each category's documents that are of the first source.
    """
    rng, documents, source = np.random.default_rng(5), [], []
    for category, share in enumerate(in_first):
        for _ in range(n_documents):
            s = int(rng.random() >= share)
            own = category * N_OWN + rng.integers(0, N_OWN, 12)
            frame = FRAMES + s * N_FRAME + rng.permutation(N_FRAME)[: N_FRAME // 2]
            documents.append([*own.tolist(), *(frame.tolist() if has_frames else [])])
            source.append(s)
    bags = word_bags(posed(documents, [UNLABELED] * len(documents), 0))
    return bags, Sources(np.array(source, np.int16), 2)


def factors_of(bags: WordBags, sources: Sources, n_threads: int = 1) -> Array:
    with Threads(n_threads) as threads:
        return source_factors(bags, sources, 1, threads)


def test_uses_are_those_of_as_many_documents_of_the_same_groups() -> None:
    # Group 0: two documents of the source, four others; group 1: three and one; group 2: none of the source.
    documents = [[0, 1], [0], [0], [1], [2], [2], [1], [1, 2], [2], [1], [0]]
    group = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2])
    is_own = np.array([1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0], bool)
    found = uses_by_group(word_bags(posed(documents, [UNLABELED] * 11, 0)), group, is_own)
    # Two of each side are compared in group 0, and one in group 1: a third of the three that are compared, too many to
    # leave out.
    np.testing.assert_allclose(found.own, [2.0, 1.0 + 2 / 3, 2 / 3], rtol=1e-6)
    np.testing.assert_allclose(found.others, [2 / 4, 1 / 4 * 2 + 1.0, 2 * 2 / 4], rtol=1e-6)


def test_the_groups_in_which_a_word_exceeds_most_are_left_out() -> None:
    # Five groups of two documents of each side. The source has word 0 in all groups, and word 1 in the first alone.
    documents = [[0, 1], [0, 1], [2], [2]] + [[0], [0], [2], [2]] * 4
    group, is_own = np.repeat(np.arange(5), 4), np.tile(np.array([1, 1, 0, 0], bool), 5)
    found = uses_by_group(word_bags(posed(documents, [UNLABELED] * 20, 0)), group, is_own)
    assert found.own[0] == 8.0, "of all groups but one"
    assert found.own[1] == 0.0 and found.others[1] == 0.0, "it is a topic"


def test_a_source_that_shares_no_group_says_nothing() -> None:
    documents, group = [[0]] * 10 + [[1]] * 10, np.repeat([0, 1], 10)
    found = uses_by_group(word_bags(posed(documents, [UNLABELED] * 20, 0)), group, group == 0)
    assert not found.own.any() and not found.others.any()


@pytest.mark.parametrize(
    ("own", "others", "factor"),
    [
        (4.0, 0.0, 1.0),  # 4 - 2 sqrt 4 = 0 is what is sure of it
        (16.0, 0.0, 2.0 / 8.0),
        (100.0, 25.0, (25.0 + 10.0 + 2.0) / 80.0),
        (100.0, 100.0, 1.0),
        (0.0, 50.0, 1.0),
        (10_000.0, 0.0, LEAST_FACTOR),
    ],
)
def test_a_factor_is_the_largest_part_that_chance_allows(own: float, others: float, factor: float) -> None:
    assert ERRORS == 2.0
    assert most_by_chance(Uses(np.array([own]), np.array([others])))[0] == pytest.approx(factor)


@pytest.mark.parametrize("in_first", [[0.5, 0.5, 0.5, 0.5], [0.5, 0.5, 0.5, 1.0], [0.2, 0.8, 0.3, 0.7]])
def test_words_of_sources_count_less_there_and_those_of_categories_whole(in_first: list[float]) -> None:
    factors = factors_of(*framed(in_first))
    assert (factors[0, FRAMES : FRAMES + N_FRAME] < 0.25).all()
    assert (factors[1, FRAMES + N_FRAME :] < 0.25).all()
    assert (factors[:, :FRAMES] > 0.9).all(), "also those of a category that one source alone has"


def test_sources_without_words_of_their_own_change_nothing() -> None:
    # 240 tests of ERRORS on both sides: a factor a little below 1 may come by chance
    assert (factors_of(*framed([0.5] * 4, has_frames=False)) > 0.8).all()


def test_sources_that_share_no_category_keep_their_words() -> None:
    assert (factors_of(*framed([1.0, 1.0, 0.0, 0.0])) == 1.0).all(), "nobody can say what is a frame there"


def test_factors_are_the_same_on_any_number_of_threads() -> None:
    bags, sources = framed([0.5] * 4)
    np.testing.assert_array_equal(factors_of(bags, sources, 1), factors_of(bags, sources, 3))


def test_entries_of_an_unknown_source_count_whole() -> None:
    bags = word_bags(posed([[0, 1], [0, 1], [1]], [UNLABELED] * 3, 0))
    factors = np.array([[0.5, 1.0], [0.25, 0.125]], np.float32)
    weights = entry_weights(bags, Sources(np.array([0, NO_SOURCE, 1], np.int16), 2), factors)
    assert weights.tolist() == [0.5, 1.0, 1.0, 1.0, 0.125]


@pytest.mark.parametrize("only", [0, NO_SOURCE])
def test_bags_of_a_single_source_are_the_same(only: int) -> None:
    bags, sources = framed([0.5] * 4)
    assert with_sources(bags, None, 1_000, 1) is bags
    assert with_sources(bags, sources._replace(of_text=np.full_like(sources.of_text, only)), 1_000, 1) is bags


def test_other_sources_have_another_mark() -> None:
    of_text = np.array([0, 1, NO_SOURCE], np.int16)
    marks = {mark_of(None), mark_of(Sources(of_text, 2)), mark_of(Sources(of_text, 3)), mark_of(Sources(-of_text, 2))}
    assert len(marks) == 4
    assert mark_of(Sources(of_text.astype(">i2"), 2)) == mark_of(Sources(of_text, 2)), "whatever the processor"


def test_a_sample_says_what_sources_are_like() -> None:
    bags, sources = framed([0.5] * 4)
    weights = with_sources(bags, sources, 400, 1).weights
    assert weights is not None and weights.size == bags.words.size
    assert (weights[bags.words >= FRAMES] < 0.5).all() and (weights[bags.words < FRAMES] > 0.9).all()


def test_weights_of_one_change_no_value() -> None:
    bags, _ = framed([0.5] * 4)
    same = bags._replace(weights=np.ones(bags.words.size, np.float32))
    np.testing.assert_array_equal(tf_idf(bags), tf_idf(same))
    is_labeled = np.arange(bags.n_documents) % 2 == 0
    np.testing.assert_array_equal(brevity(bags, is_labeled), brevity(same, is_labeled))
    for weighting in range(2):
        np.testing.assert_array_equal(effective_counts(bags, weighting, 50.0), effective_counts(same, weighting, 50.0))


def test_weighted_values_are_those_of_their_formulas() -> None:
    bags = word_bags(posed([[0, 0, 1], [1]], [UNLABELED] * 2, 0))._replace(
        weights=np.array([0.5, 1.0, 1.0], np.float32)
    )
    idf = np.log(3 / np.array([2, 3]))
    row = np.array([(1 + np.log(2)) * (1 + idf[0]) * 0.5, 1 + idf[1]])
    np.testing.assert_allclose(tf_idf(bags), [*(row / np.linalg.norm(row)), 1.0], rtol=1e-6)
    # Two tokens of word 0 that count half, and one of word 1: two tokens in all.
    length = 10.0 * np.log1p(2.0 / 10.0)
    np.testing.assert_allclose(
        effective_counts(bags, 0, 10.0), [length / 2, length / 2, 10.0 * np.log1p(0.1)], rtol=1e-6
    )


def test_selected_bags_keep_their_weights() -> None:
    bags, _ = framed([0.5] * 4, n_documents=5)
    bags = bags._replace(weights=np.arange(bags.words.size, dtype=np.float32))
    some, entries = select(bags, np.array([3, 7]))
    np.testing.assert_array_equal(some.weights, entries)
