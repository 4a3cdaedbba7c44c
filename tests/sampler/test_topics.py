"""Topics of categories that are given."""

import numpy as np
import pytest

from sampler.corpus import UNLABELED, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm.topics_of_categories import Topics, learn_topics, top_words
from sampler.numerics.threads import Threads

N_WORDS = 30  # ten for each of three subjects
HYPERPARAMETERS = Hyperparameters(n_topics=6, zeta=0.1)


def corpus_of(subjects: list[list[int]], length: int = 40) -> Corpus:
    """A document for each list of subjects, which it takes its words from in turn."""
    rng = np.random.default_rng(0)
    words = [
        10 * subjects_of[i % len(subjects_of)] + rng.integers(10) for subjects_of in subjects for i in range(length)
    ]
    offsets = np.arange(len(subjects) + 1, dtype=np.int64) * length
    labels = np.full(len(subjects), UNLABELED, np.int32)
    return Corpus(np.array(words, np.int32), offsets, labels, n_words=N_WORDS, n_known=0)


def learned(n_threads: int = 1) -> Topics:
    """Three categories of twenty documents: of subject 0, of subject 1, and of both 1 and 2."""
    corpus = corpus_of([[0]] * 20 + [[1]] * 20 + [[1, 2]] * 20)
    with Threads(n_threads) as threads:
        return learn_topics(corpus, np.repeat([0, 1, 2], 20), 3, HYPERPARAMETERS, 0, threads)


def test_words_of_a_category_have_the_probability_that_they_have_in_it() -> None:
    topics = learned()
    mixed = topics.category_topic @ topics.topic_word.T  # float64[3, V]
    by_subject = mixed.reshape(3, 3, 10).sum(axis=2)
    # zeta L / (zeta L + 800) of the mass is the prior's, which lies anywhere: .001; tokens change topics within 3 %.
    np.testing.assert_allclose(by_subject, [[1, 0, 0], [0, 1, 0], [0, 0.5, 0.5]], atol=0.03)


def test_distributions_sum_to_one() -> None:
    topics = learned()
    np.testing.assert_allclose(topics.category_topic.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(topics.topic_word.sum(axis=0), 1.0, rtol=1e-12)
    assert topics.share.sum() == pytest.approx(1.0, rel=1e-12)


def test_topics_are_the_same_bytes_on_one_thread_and_on_two() -> None:
    for one, two in zip(learned(1), learned(2), strict=True):
        assert one.tobytes() == two.tobytes()


def test_top_words_of_a_topic_are_of_the_subject_that_its_tokens_are_of() -> None:
    topics = learned()
    words = top_words(topics, 5)
    for topic in np.flatnonzero(topics.share > 0.1):
        subject = topics.topic_word[:, topic].reshape(3, 10).sum(axis=1).argmax()
        assert {word // 10 for word in words[topic]} == {subject}


def test_a_document_without_a_word_takes_no_part() -> None:
    corpus = corpus_of([[0]] * 4 + [[1]] * 4)
    longer = corpus._replace(
        offsets=np.append(corpus.offsets, corpus.offsets[-1]), labels=np.full(9, UNLABELED, np.int32)
    )
    category = np.array([0] * 4 + [1] * 4 + [-1])
    topics = learn_topics(longer, category, 2, HYPERPARAMETERS, 0, Threads())
    assert topics.category_topic.shape == (2, HYPERPARAMETERS.n_topics)


def test_a_corpus_without_a_token_is_refused() -> None:
    empty = Corpus(np.empty(0, np.int32), np.zeros(3, np.int64), np.full(2, UNLABELED, np.int32), 1, 0)
    with pytest.raises(ValueError, match="0 tokens"):
        learn_topics(empty, np.full(2, -1), 1, HYPERPARAMETERS, 0, Threads())
