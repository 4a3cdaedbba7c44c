"""The topics of a job's categories: learned on top of its answers, and as rows."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from app.core.tables import Job
from sampler.answers.consensus import Consensus
from sampler.corpus import Array, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm.topics_of_categories import Topics, learn_topics, top_words
from sampler.numerics.threads import Threads
from worker.store import BATCH, Rows

LEAST_SHARE = 0.001  # of all tokens: with smaller topics one reads noise
LEAST_WEIGHT = 0.02  # of a topic that a category is told to be made of
MAX_OF_CATEGORY = 10
TOP_WORDS = 10


def learn(corpus: Corpus, consensus: Consensus, n_topics: int, seed: int, threads: Threads) -> Topics:
    """The topics of the categories that the documents have been given.

    None of a single category: words make a topic by going together in some categories and not in others.
    """
    if consensus.n_categories < 2 or corpus.n_tokens == 0:
        return Topics(np.empty((consensus.n_categories, 0)), np.empty((corpus.n_words, 0)), np.empty(0))
    hyperparameters = Hyperparameters(n_topics=n_topics)
    return learn_topics(corpus, consensus.category, consensus.n_categories, hyperparameters, seed, threads)


def kept(topics: Topics) -> Array:
    """int64[...]: the topics with LEAST_SHARE or more, largest first; rows number them in this order from 0."""
    order = np.argsort(-topics.share, kind="stable")
    return order[topics.share[order] >= LEAST_SHARE]


def topic_rows(
    job: Job, vocabulary: Sequence[str], topics: Topics | None, threads: Threads | None = None
) -> Iterator[Rows]:
    """Batches of rows of `topics`; none of a model that learns no topics."""
    if topics is None:
        return
    words = top_words(topics, TOP_WORDS, threads)
    rows = (
        {
            "job_id": job.id,
            "topic": number,
            "share": float(topics.share[topic]),
            "top_words": [
                {"word": vocabulary[word], "probability": float(topics.topic_word[word, topic])}
                for word in words[topic]
            ],
        }
        for number, topic in enumerate(kept(topics))
    )
    while batch := list(islice(rows, BATCH)):
        yield batch


def of_categories(topics: Topics) -> list[list[dict[str, Any]]]:
    """For each category the weights, theta, of the topics that it is mostly made of, heaviest first."""
    told = []
    for weights in topics.category_topic[:, kept(topics)]:
        heaviest = np.argsort(-weights, kind="stable")[:MAX_OF_CATEGORY]
        told.append([{"topic": int(t), "weight": float(weights[t])} for t in heaviest if weights[t] > LEAST_WEIGHT])
    return told
