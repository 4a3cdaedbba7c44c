"""Copies are found, and each text is taken once."""

from itertools import combinations

import numpy as np
import pytest

from sampler.copies import NEAR, Texts, contradictions, find_copies, texts_from
from sampler.corpus import UNLABELED, Array, Corpus
from sampler.numerics.threads import Interrupted, Threads

N_WORDS = 500


def corpus_of(bags: list[list[int]], labels: list[int] | None = None, n_known: int = 0) -> Corpus:
    """A corpus of these documents."""
    offsets = np.concatenate([[0], np.cumsum([len(bag) for bag in bags])]).astype(np.int64)
    words = np.array([word for bag in bags for word in bag], np.int32)
    given = np.array(labels or [UNLABELED] * len(bags), np.int32)
    return Corpus(words, offsets, given, N_WORDS, n_known)


def copy_of(corpus: Corpus, n_threads: int = 1) -> list[int]:
    """The document that each is a copy of."""
    with Threads(n_threads) as threads:
        found: list[int] = find_copies(corpus, threads).tolist()
        return found


def texts_from_copies(corpus: Corpus) -> Texts:
    """The distinct texts of a corpus."""
    return texts_from(corpus, find_copies(corpus))


def messy_corpus(seed: int) -> Corpus:
    """Documents of 1 to 60 words, many of them copies of others with up to a third of their words changed."""
    rng = np.random.default_rng(seed)
    bags: list[list[int]] = []
    for _ in range(600):
        if bags and rng.random() < 0.5:
            bag = list(bags[rng.integers(len(bags))])
            for _ in range(rng.integers(0, max(len(bag) // 3, 2))):
                bag[rng.integers(len(bag))] = int(rng.integers(N_WORDS))
        else:
            bag = rng.integers(N_WORDS, size=rng.integers(1, 60)).tolist()
        rng.shuffle(bag)
        bags.append(bag)
    return corpus_of(bags)


def bags_of(corpus: Corpus) -> Array:
    """int64[D, V]: how often each document has each word."""
    counts = np.zeros((corpus.n_documents, corpus.n_words), np.int64)
    np.add.at(counts, (np.repeat(np.arange(corpus.n_documents), corpus.lengths), corpus.words), 1)
    return counts


def likeness(first: Array, second: Array) -> float:
    """The Jaccard index of two bags."""
    return float(np.minimum(first, second).sum() / np.maximum(first, second).sum())


def test_a_document_with_the_same_words_is_a_copy_of_the_first_one_in_whatever_order_they_come() -> None:
    corpus = corpus_of([[1, 2, 2], [3, 4], [2, 1, 2], [1, 2], [2, 2, 1], [4, 3]])
    assert copy_of(corpus) == [0, 1, 0, 3, 0, 1]


def test_a_document_that_differs_by_a_word_of_ten_is_a_copy_and_one_of_four_is_not() -> None:
    long, short = list(range(10)), [20, 21, 22, 23]
    corpus = corpus_of([long, [*long[:9], 99], [*long, 98], short, [*short[:3], 97], [*short, 96]])
    assert copy_of(corpus) == [0, 0, 0, 3, 4, 3]


def test_documents_without_a_word_are_copies_of_none() -> None:
    assert copy_of(corpus_of([[], [1], [], [1], []])) == [0, 1, 2, 1, 4]


@pytest.mark.parametrize("seed", range(2))
def test_copies_are_those_that_a_comparison_of_all_pairs_finds(seed: int) -> None:
    """Equal bags are always found; a near pair is missed with a chance of .0004 at most, so none of these hundreds."""
    corpus = messy_corpus(seed)
    bags, expected = bags_of(corpus), np.arange(corpus.n_documents)
    equal = {bag.tobytes(): d for d, bag in reversed(list(enumerate(bags)))}
    for d, bag in enumerate(bags):
        if equal[bag.tobytes()] < d:
            expected[d] = expected[equal[bag.tobytes()]]
            continue
        earlier = [(likeness(bags[e], bag), e) for e in range(d) if expected[e] == e]
        best, original = max(earlier, default=(0.0, d))
        expected[d] = original if best >= NEAR else d
    assert (expected != np.arange(expected.size)).sum() > 100
    assert copy_of(corpus) == expected.tolist()


def test_copies_are_the_same_on_any_number_of_threads() -> None:
    corpus = messy_corpus(7)
    assert copy_of(corpus) == copy_of(corpus, n_threads=3)


def test_a_raised_flag_ends_the_search() -> None:
    with pytest.raises(Interrupted):
        find_copies(messy_corpus(0), Threads(stop=np.ones(1, np.int64)))


def test_a_thousand_texts_of_one_boilerplate_are_told_apart() -> None:
    """They share so many words that all meet in many bands, and none is near another."""
    rng = np.random.default_rng(0)
    bags = [[*range(30), *rng.choice(np.arange(100, N_WORDS), 15, replace=False).tolist()] for _ in range(1_000)]
    counts = bags_of(corpus_of(bags))
    assert max(likeness(a, b) for a, b in combinations(counts[:50], 2)) > 0.5
    assert copy_of(corpus_of(bags)) == list(range(1_000))


def test_a_text_has_the_label_that_most_of_its_labeled_documents_have() -> None:
    labels = [UNLABELED, 1, 2, 2, UNLABELED, 0, UNLABELED]
    texts = texts_from_copies(corpus_of([[1], [1], [1], [1], [2], [2], [3]], labels, n_known=3))
    assert texts.text_of.tolist() == [0, 0, 0, 0, 1, 1, 2]
    assert texts.first.tolist() == [0, 4, 6]
    assert texts.corpus.labels.tolist() == [2, 0, UNLABELED]
    assert np.allclose(texts.label_share, [2 / 3, 1.0, 1.0])
    assert texts.corpus.words.tolist() == [1, 2, 3]
    assert list(contradictions(texts)) == [(1, 1 / 3, 2, 2 / 3), (2, 2 / 3, 1, 1 / 3), (3, 2 / 3, 1, 1 / 3)]


def test_a_corpus_without_copies_is_not_copied() -> None:
    corpus = corpus_of([[1, 2], [3], [4, 5, 6]])
    assert texts_from_copies(corpus).corpus.words is corpus.words
