"""Where a chain of Algorithm 1 stands, and its log joint."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numba import njit

from sampler.archive import smallest
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters, Kernel
from sampler.lbpl_ntm.assignments import Assignments, Counts, recount
from sampler.lbpl_ntm.evidence import (
    log_dirichlet_multinomial,
    log_factorials,
    log_prior,
    log_rising,
    log_topics,
)
from sampler.lbpl_ntm.random_start import random_assignments
from sampler.lbpl_ntm.start import first_assignments
from sampler.lbpl_ntm.state import Course, State, Summary
from sampler.numerics.threads import Threads


@dataclass
class CollapsedState(State):
    """The state of Algorithm 1. `counts` follow from `assignments`."""

    kernel: ClassVar[Kernel] = "collapsed"

    assignments: Assignments
    counts: Counts

    @classmethod
    def start(cls, corpus: Corpus, hyperparameters: Hyperparameters, course: Course, threads: Threads) -> Self:
        """Whole documents placed in categories, or at random."""
        if hyperparameters.start == "random":
            assignments = random_assignments(corpus, hyperparameters, course)
        else:
            assignments = first_assignments(corpus, hyperparameters, course.seed, course.chain, threads)
        counts = recount(corpus, assignments, hyperparameters.n_topics)
        return cls(**vars(course), assignments=assignments, counts=counts)

    @classmethod
    def restore(
        cls, corpus: Corpus, hyperparameters: Hyperparameters, course: Course, arrays: dict[str, Array]
    ) -> Self:
        """Tables that were stored by their place in the document, and categories of occupied slots alone."""
        category = np.full(corpus.n_tokens, NO_CATEGORY, np.int32)
        category[arrays["occupied"]] = arrays["category"]
        assignments = Assignments(
            table=(first_slots(corpus) + arrays["table"]).astype(np.int32),
            category=category,
            topic=arrays["topic"].astype(np.int32),
            identity=arrays["identity"],
        )
        check_assignments(corpus, hyperparameters, assignments)
        counts = recount(corpus, assignments, hyperparameters.n_topics)
        return cls(**vars(course), assignments=assignments, counts=counts)

    def arrays(self, corpus: Corpus) -> dict[str, Array]:
        """The assignments."""
        occupied = np.flatnonzero(self.counts.table_tokens).astype(np.int32)
        return {
            "table": smallest(self.assignments.table - first_slots(corpus)),
            "occupied": occupied,
            "category": smallest(self.assignments.category[occupied]),
            "topic": smallest(self.assignments.topic),
            "identity": self.assignments.identity,
        }

    @property
    def identity(self) -> Array:
        return self.assignments.identity

    @property
    def category_tables(self) -> Array:
        return np.asarray(self.counts.category_tables)

    def summarize(self, corpus: Corpus, hyperparameters: Hyperparameters, threads: Threads | None = None) -> Summary:
        """The digest is of the assignments; identities follow from them."""
        digested = [self.assignments.table, self.assignments.category, self.assignments.topic]
        return Summary(self.document_categories(corpus), digested, log_joint(corpus, hyperparameters, self))

    def topic_counts(self) -> tuple[Array, Array]:
        """Those of the counts."""
        return self.counts.category_topic, self.counts.word_topic

    def document_categories(self, corpus: Corpus) -> Array:
        """Counted from the tables of each document's tokens."""
        return np.asarray(count_document_categories(corpus, self.assignments))


def log_joint(corpus: Corpus, hyperparameters: Hyperparameters, state: CollapsedState) -> float:
    """log p(words, topics, tables, categories, alpha, gamma), in nats; `as_printed` has the same one.

    Labeled documents sit at one table, so their seating contributes nothing.
    """
    counts, lengths = state.counts, corpus.lengths
    is_seated = (corpus.labels == UNLABELED) & (lengths > 0)
    labeled_slots = corpus.offsets[:-1][(corpus.labels != UNLABELED) & (lengths > 0)]
    n_tables = int(counts.category_tables.sum())
    return float(
        log_prior(state.alpha, state.gamma, hyperparameters)
        + (n_tables - labeled_slots.size) * math.log(state.alpha)
        + log_factorials(counts.table_tokens)
        - log_factorials(counts.table_tokens[labeled_slots])
        - log_rising(state.alpha, lengths[is_seated])
        + int(np.count_nonzero(counts.category_tables)) * math.log(state.gamma)
        + log_factorials(counts.category_tables)
        - log_rising(state.gamma, np.array([n_tables]))
        + log_dirichlet_multinomial(counts.category_topic, hyperparameters.zeta)
        + log_topics(counts.word_topic, counts.topic_tokens, hyperparameters.beta)
    )


@njit(cache=True, nogil=True)
def count_document_categories(corpus, assignments):  # type: ignore[no-untyped-def]
    """int32[D]: the category that serves most words of each document, or NO_CATEGORY for one without a word.

    Ties go to the smaller index.
    """
    held = np.zeros(assignments.identity.size, np.int64)
    answers = np.full(corpus.labels.size, NO_CATEGORY, np.int32)
    for d in range(corpus.labels.size):
        first, end = corpus.offsets[d], corpus.offsets[d + 1]
        for i in range(first, end):
            held[assignments.category[assignments.table[i]]] += 1
        most = 0
        for i in range(first, end):
            category = assignments.category[assignments.table[i]]
            if held[category] > most or (held[category] == most and category < answers[d]):
                most = held[category]
                answers[d] = category
        for i in range(first, end):
            held[assignments.category[assignments.table[i]]] = 0
    return answers


def first_slots(corpus: Corpus) -> Array:
    """int64[N]: the first slot of each token's document."""
    return np.repeat(corpus.offsets[:-1], corpus.lengths)


def check_assignments(corpus: Corpus, hyperparameters: Hyperparameters, assignments: Assignments) -> None:
    """Raise ValueError unless the assignments could be counted and hold every label."""
    document = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
    table = assignments.table
    if ((table < corpus.offsets[document]) | (table >= corpus.offsets[document + 1])).any():
        raise ValueError("a token sits at a table of another document")
    served = assignments.category[table]
    if (served < 0).any() or (served >= assignments.identity.size).any():
        raise ValueError("a table serves no category")
    if (assignments.topic < 0).any() or (assignments.topic >= hyperparameters.n_topics).any():
        raise ValueError("a token has no topic")
    labels = corpus.labels[document]
    if (served != labels)[labels != UNLABELED].any():
        raise ValueError("a labeled document does not serve its label")
