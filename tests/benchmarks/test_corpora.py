"""Simulated corpora of any size, and corpora in folders."""

import numpy as np
import pytest

from benchmarks import corpora
from benchmarks.corpora import Size
from sampler.corpus import UNLABELED, Corpus, validate
from sampler.lbpl_ntm.simulate import least_distance

SIZE = Size(n_tokens=200_000, n_words=2_000)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """A small simulated corpus."""
    return corpora.load(corpora.simulated(SIZE, tmp_path_factory.mktemp("corpora")))


def test_a_stored_corpus_is_loaded_with_the_words_of_each_document_in_order(tmp_path):
    corpus = Corpus(np.array([0, 2, 1], np.int32), np.array([0, 1, 1, 3]), np.array([0, -1, -1], np.int32), 3, 1)
    loaded = corpora.load(corpora.store(corpus, tmp_path / "corpus"))
    validate(loaded)
    for stored, read in zip(corpus._replace(words=np.array([0, 1, 2])), loaded, strict=True):
        np.testing.assert_array_equal(stored, read)


def test_a_mapped_corpus_compiles_as_one_in_memory(simulated):
    assert type(simulated.words) is np.ndarray and simulated.words.flags.writeable


def test_a_simulated_corpus_has_the_size_and_the_labels_that_it_should(simulated):
    validate(simulated)
    assert simulated.n_words == SIZE.n_words and simulated.n_known == corpora.N_KNOWN
    # Lengths have mean 200 and variance 199 + 199^2 / 4: 1,000 of them total 200,000 with deviation 3,200.
    assert abs(simulated.n_tokens - SIZE.n_tokens) < 4 * 3_200
    # A share of 0.1 in 1,000 documents has deviation 0.0095.
    assert abs((simulated.labels != UNLABELED).mean() - corpora.LABELED) < 4 * 0.0095


def test_a_kept_simulated_corpus_is_not_made_again(tmp_path):
    folder = corpora.simulated(SIZE, tmp_path)
    before = (folder / "words.npy").stat().st_mtime_ns
    assert corpora.simulated(SIZE, tmp_path) == folder
    assert (folder / "words.npy").stat().st_mtime_ns == before


def test_alias_tables_hold_the_chances_that_they_were_made_of():
    chances = np.random.default_rng(0).dirichlet(np.full(50, 0.1), 4)
    own, other = corpora.alias_tables(chances)
    for row in range(4):
        held = own[row] + np.bincount(other[row], 1.0 - own[row], minlength=50)
        np.testing.assert_allclose(held / 50, chances[row], atol=1e-6)  # float32 entries, 50 of them


def test_categories_of_simulated_documents_lie_apart():
    chances = corpora.draw_categories(corpora.N_CATEGORIES, 2_000, np.random.default_rng(0))
    assert least_distance(chances) > 0.3  # in total variation: a document of 200 words cannot be mistaken


def test_words_of_a_labeled_document_come_from_its_category():
    chances = np.random.default_rng(0).dirichlet(np.ones(10), 3)
    words = np.empty(30_000, np.int32)
    offsets, labels = np.array([0, 10_000, 20_000, 30_000]), np.array([2, 0, 1], np.int32)
    own, other = corpora.alias_tables(chances)
    corpora.write_words(words, offsets, labels, np.array([0.3, 0.6, 1.0]), own, other, np.uint64(1))
    for d, label in enumerate(labels):
        shares = np.bincount(words[offsets[d] : offsets[d + 1]], minlength=10) / 10_000
        # A share of 10,000 words has deviation at most 0.005; thirty shares are within 4 of them.
        np.testing.assert_allclose(shares, chances[label], atol=4 * 0.005)


def test_about_four_in_five_unlabeled_documents_serve_one_category():
    # Each token is the category itself: 30 words, one for each category.
    words, offsets = np.empty(400_000, np.int32), np.arange(0, 400_001, 200)
    labels = np.full(2_000, UNLABELED, np.int32)
    own, other = corpora.alias_tables(np.eye(30))
    corpora.write_words(words, offsets, labels, np.arange(1, 31) / 30, own, other, np.uint64(1))
    by_document = words.reshape(2_000, 200)
    # No second category opens: the product over j < 200 of (j + a / 30) / (j + a), j > 0, is 0.797 with a = 0.04;
    # a share of 2,000 documents has deviation 0.009.
    expected = np.prod((np.arange(1, 200) + corpora.ALPHA / 30) / (np.arange(1, 200) + corpora.ALPHA))
    assert abs((by_document == by_document[:, :1]).all(axis=1).mean() - expected) < 4 * 0.009
