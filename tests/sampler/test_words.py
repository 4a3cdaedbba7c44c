"""The words of groups of documents, against counts made one by one."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy.sparse import csr_array

from sampler.answers import words as of_words
from sampler.answers.words import GroupWords, group_words, joined, relevant_words, word_counts
from tests.sampler import harness

DOCUMENTS = [[0, 0, 1, 3], [0, 1, 1], [2, 3, 3], [2, 2, 3], [], [0, 4]]
GROUP = np.array([0, 0, 1, 1, 1, -1])  # the last one is in none
N_WORDS = 5


@pytest.fixture
def words() -> GroupWords:
    corpus = harness.corpus_of(DOCUMENTS, [-1] * 6, N_WORDS, 0)
    return group_words(word_counts(corpus), GROUP, 2)


def counted(group: int) -> tuple[Counter[int], Counter[int]]:
    """Tokens and holders of each word of a group."""
    members = [DOCUMENTS[d] for d in np.flatnonzero(group == GROUP)]
    return Counter(w for words in members for w in words), Counter(w for words in members for w in set(words))


def test_tokens_and_holders_are_those_counted_one_by_one(words: GroupWords) -> None:
    for group in (0, 1):
        tokens, holders = counted(group)
        word, n_tokens, n_holders = words.row(group)
        assert dict(zip(word.tolist(), n_tokens.tolist(), strict=True)) == tokens
        assert dict(zip(word.tolist(), n_holders.tolist(), strict=True)) == holders
    assert words.sizes.tolist() == [2, 3]
    assert words.corpus.tolist() == [4, 3, 3, 4, 1], "documents in no group are of the corpus"


def test_groups_that_consist_of_others_have_their_words(words: GroupWords) -> None:
    both = joined(words, csr_array(np.array([[1, 1]])))
    word, tokens, holders = both.row(0)
    assert word.tolist() == [0, 1, 2, 3]
    assert (tokens.tolist(), holders.tolist(), both.sizes.tolist()) == ([3, 3, 3, 4], [2, 2, 2, 3], [5])


def test_words_are_ranked_by_a_mix_of_probability_and_lift(words: GroupWords) -> None:
    tokens, holders = counted(0)
    total, everywhere = sum(tokens.values()), words.corpus / words.corpus.sum()

    def relevance(word: int) -> float:
        share = tokens[word] / total
        return 0.6 * math.log(share) + 0.4 * math.log(share / everywhere[word])

    expected = sorted((word for word in tokens if holders[word] >= 2), key=lambda word: -relevance(word))
    assert list(relevant_words(words, 10)) == [[(word, holders[word]) for word in expected], [(2, 2), (3, 2)]]


def test_shares_and_lifts_are_those_of_the_tokens(words: GroupWords) -> None:
    probable = of_words.most_probable(words, 0, 10)
    assert [found.word for found in probable] == [0, 1, 3]
    assert probable[1].share == pytest.approx(3 / 7)
    assert probable[1].lift == pytest.approx((3 / 7) / (3 / 15))
    lifted = of_words.most_lifted(words, 0, 10)
    assert [found.word for found in lifted] == [1, 0], "one document alone holds the third"


def test_distances_are_those_of_hellinger_between_smoothed_distributions(
    words: GroupWords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_words, "ENTRIES_AT_ONCE", 4)  # so that the vocabulary is taken in parts
    first, second = (words.smoothed(group) for group in (0, 1))
    assert first.sum() == pytest.approx(1.0)
    assert first[1] == pytest.approx(0.9 * 3 / 7 + 0.1 * 3 / 15)
    found = of_words.distances(words)
    expected = math.sqrt(0.5 * sum((math.sqrt(p) - math.sqrt(q)) ** 2 for p, q in zip(first, second, strict=True)))
    np.testing.assert_allclose(found, [[0.0, expected], [expected, 0.0]], atol=1e-6)


def test_words_that_tell_two_groups_apart_are_frequent_in_the_one_and_rare_in_the_other(words: GroupWords) -> None:
    own, theirs = of_words.telling_words(words, 0, 1, 5), of_words.telling_words(words, 1, 0, 5)
    assert [word for word, _, _ in own] == [1, 0], "of as many tokens in the group the one that is rarer elsewhere"
    assert own[0] == (1, pytest.approx(3 / 7), 0.0)
    assert [word for word, _, _ in theirs] == [2, 3]
    assert theirs[1] == (3, pytest.approx(3 / 6), pytest.approx(1 / 7))
