"""D-LDA, the double-latent-layered topic model with a fixed number of categories (Zhuang et al. 2010).

The nearest relative of LBPL-NTM: the same two layers, with a finite symmetric Dirichlet over categories in the place of
the hierarchical Dirichlet process. So it shares the counts and the step of topics with Algorithm 1, to which each of
its tokens is a table of its own. docs/baselines/dlda.md gives the model, and in what sense the two are equal.
"""

import numpy as np

from baselines.dlda_kernels import count_categories, sample_token_categories
from baselines.method import Given, MethodState, new_state
from baselines.settings import DldaSettings
from sampler.archive import smallest
from sampler.corpus import NO_CATEGORY, UNLABELED, Array
from sampler.lbpl_ntm.assignments import Assignments, Counts, recount
from sampler.lbpl_ntm.collapsed.kernels import sample_topics
from sampler.lbpl_ntm.concentrations import Concentrations
from sampler.lbpl_ntm.evidence import log_dirichlet_multinomial, log_topics
from sampler.numerics.streams import Step, branch, generator, stream

CATEGORIES, TOPICS = 0, 1  # the two streams of a sweep


class Dlda:
    """Collapsed Gibbs sampling of D-LDA. A sweep draws all categories of tokens, then all topics; it never settles."""

    def __init__(self, given: Given, settings: DldaSettings) -> None:
        """Raises ValueError for fewer categories than are known, or none."""
        least = max(given.corpus.n_known, 1)
        if given.n_categories < least:
            raise ValueError(f"n_categories = {given.n_categories} is not at least {least}")
        self.given, self.settings = given, settings
        self.is_free = np.repeat(given.corpus.labels == UNLABELED, given.corpus.lengths)  # bool[N]

    def start(self, chain: int) -> MethodState:
        """Categories of unlabeled documents' tokens, and topics of all tokens, are uniform."""
        corpus, n_free = self.given.corpus, int(self.is_free.sum())
        dice = generator(self.given.seed, chain, 0, Step.METHOD)
        category = dice.integers(self.given.n_categories, size=n_free, dtype=np.int32)
        topic = dice.integers(self.settings.n_topics, size=corpus.n_tokens, dtype=np.int32)
        assignments = self.assignments_of(category, topic)
        counts = recount(corpus, assignments, self.settings.n_topics)
        state = new_state(self.given, chain, np.full(corpus.n_documents, NO_CATEGORY), 0.0)
        self.write(state, assignments, counts)
        return state

    def sweep(self, state: MethodState) -> None:
        """Categories of tokens given topics, then topics given categories."""
        corpus, threads, settings = self.given.corpus, self.given.threads, self.settings
        assignments = self.assignments_of(state.own["category"], state.own["topic"])
        counts = recount(corpus, assignments, settings.n_topics)
        key = stream(state.seed, state.chain, state.n_sweeps, Step.METHOD)
        of_categories, of_topics = np.uint64(branch(key, CATEGORIES)), np.uint64(branch(key, TOPICS))
        alpha, zeta, beta = settings.alpha, settings.zeta, settings.beta
        sample_token_categories(corpus, assignments, counts, alpha, zeta, of_categories, threads.stop)
        threads.check()
        sample_topics(corpus, assignments, counts, Concentrations(alpha, 0.0, zeta, beta), of_topics, threads.stop)
        threads.check()
        self.write(state, assignments, counts)

    def write(self, state: MethodState, assignments: Assignments, counts: Counts) -> None:
        """Put the assignments into the state, in the smallest types, and what follows from them."""
        held = count_categories(self.given.corpus, assignments.category, self.given.n_categories)
        state.category = self.category_of(held)
        state.objective = self.log_joint(held, counts)
        state.own["category"] = smallest(assignments.category[self.is_free])
        state.own["topic"] = smallest(assignments.topic)

    def assignments_of(self, category: Array, topic: Array) -> Assignments:
        """The assignments of all tokens, from categories of the unlabeled documents' tokens and topics of all."""
        corpus = self.given.corpus
        of_tokens = np.repeat(corpus.labels, corpus.lengths)
        of_tokens[self.is_free] = category
        tables = np.arange(corpus.n_tokens, dtype=np.int32)
        return Assignments(tables, of_tokens, topic.astype(np.int32), np.arange(self.given.n_categories))

    def category_of(self, held: Array) -> Array:
        """int32[D]: labels, and the category with most tokens of each other document; ties go to the smaller index."""
        corpus = self.given.corpus
        most = np.where(corpus.lengths > 0, held.argmax(axis=1), NO_CATEGORY)
        return np.where(corpus.labels == UNLABELED, most, corpus.labels).astype(np.int32)

    def log_joint(self, held: Array, counts: Counts) -> float:
        """log p(words, topics, categories), all distributions integrated out, in nats.

        Categories of labeled documents are given, so they contribute nothing.
        """
        of_unlabeled = held[self.given.corpus.labels == UNLABELED]
        return float(
            log_dirichlet_multinomial(of_unlabeled, self.settings.alpha)
            + log_dirichlet_multinomial(counts.category_topic, self.settings.zeta)
            + log_topics(counts.word_topic, counts.topic_tokens, self.settings.beta)
        )
