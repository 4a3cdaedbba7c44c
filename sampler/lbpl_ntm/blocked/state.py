"""The blocked sampler: the posterior of Algorithm 1 in other coordinates (docs/model.md).

The sticks b, theta and phi are drawn explicitly; topics are summed out where categories are chosen, and drawn in bulk
afterwards. Between sweeps only that is kept from which they are drawn again: it is the state.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters, Kernel
from sampler.lbpl_ntm.assignments import UNBORN
from sampler.lbpl_ntm.blocked import arrays, storage
from sampler.lbpl_ntm.blocked.arrays import MAX_SLOTS, Bags, BlockedCounts, Placements, Sizes, sizes_of
from sampler.lbpl_ntm.blocked.scratch import Workplace, widened
from sampler.lbpl_ntm.blocked.summary import Lengths, log_rest, summarize_documents, summarize_words
from sampler.lbpl_ntm.state import Course, State, Summary
from sampler.numerics import simd
from sampler.numerics.simd import LANES
from sampler.numerics.threads import Threads, pieces_of


@dataclass
class BlockedState(State):
    """Where a chain of the blocked sampler stands."""

    kernel: ClassVar[Kernel] = "blocked"

    bags: Bags
    placements: Placements
    counts: BlockedCounts
    numbers: Array  # int64[S], identity
    labeled_tables: Array  # int64[S], labeled documents with a word
    sizes: Sizes
    lengths: Lengths
    workplace: Workplace  # of its sweeps

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        course: Course,
        bags: Bags,
        placements: Placements,
        counts: BlockedCounts,
        numbers: Array,
    ) -> Self:
        """The state that these make."""
        return cls(
            **vars(course),
            bags=bags,
            placements=placements,
            counts=counts,
            numbers=numbers,
            labeled_tables=labeled_tables(corpus, numbers.size),
            sizes=sizes_of(bags),
            lengths=Lengths(*np.unique(np.diff(bags.first_token), return_counts=True)),
            workplace=Workplace(bags, counts.category_word.sum(axis=1, dtype=np.int64)),
        )

    @classmethod
    def restore(
        cls, corpus: Corpus, hyperparameters: Hyperparameters, course: Course, stored: dict[str, Array]
    ) -> Self:
        """The state whose arrays these are. Raises ValueError if it could not be one of this corpus."""
        numbers = stored["identity"]
        if numbers.ndim != 1 or numbers.size % LANES or numbers.size > MAX_SLOTS:
            raise ValueError(f"{numbers.shape} is no number of slots")
        labeled = labeled_tables(corpus, numbers.size)
        bags = arrays.bags_of(corpus)
        placements, counts = storage.restored_documents(corpus, bags, hyperparameters.n_topics, labeled, stored)
        return cls.of(corpus, course, bags, placements, counts, numbers.copy())

    def arrays(self, corpus: Corpus) -> dict[str, Array]:
        """See `sampler.lbpl_ntm.blocked.storage`."""
        return {"identity": self.numbers, **storage.arrays_of(self.bags, self.placements, self.counts)}

    @property
    def identity(self) -> Array:
        """int64[S], number of each category in order of birth, or UNBORN."""
        return self.numbers

    @property
    def category_tables(self) -> Array:
        """int64[S], m_k."""
        return self.counts.category_tables

    def document_categories(self, corpus: Corpus) -> Array:
        """int32[D]: the slot that holds most words of each document, or NO_CATEGORY."""
        answers, pieces = labels_of_words(corpus), pieces_of(np.array([0, self.bags.document.size]))
        summarize_documents(self.bags, self.placements, self.numbers.size, pieces, answers)
        return answers

    def topic_counts(self) -> tuple[Array, Array]:
        """Those of the counts, all words with all topics."""
        return self.counts.category_topic, arrays.count_topics(self.counts.word_topics)

    def summarize(self, corpus: Corpus, hyperparameters: Hyperparameters, threads: Threads | None = None) -> Summary:
        """The digest is of hashes of what is large, and of all that is small."""
        threads, counts = threads or Threads(), self.counts
        answers, log_topics, rest = labels_of_words(corpus), np.empty(corpus.n_words), np.empty(1)
        hashes = np.zeros((threads.n_threads, 2), np.uint64)  # of documents, of topics
        cuts = self.workplace.cuts(threads)
        of_documents, of_words = threads.pieces(cuts.documents), threads.pieces(cuts.words)

        def summarize_pieces(thread: int) -> None:
            if thread == 0:
                n_labeled = int(self.labeled_tables.sum())
                rest[0] = log_rest(counts, n_labeled, self.lengths, self.alpha, self.gamma, hyperparameters)
            n_slots = self.numbers.size
            hashes[thread] = (
                summarize_documents(self.bags, self.placements, n_slots, of_documents, answers),
                summarize_words(counts.word_topics, hyperparameters.beta, of_words, log_topics),
            )

        threads.run(summarize_pieces)
        hashed = hashes.sum(axis=0, dtype=np.uint64)
        digested = [hashed, counts.category_tables, counts.log_seats, counts.category_topic]
        return Summary(answers, digested, float(rest[0] + log_topics.sum()))

    def make_slots(self, n_known: int, n_free: int) -> None:
        """Have slots for all categories and `n_free` more, and not too many. The order of categories stays."""
        counts = self.counts
        is_new = counts.category_tables > 0
        is_new[:n_known] = False
        wanted = simd.padded(n_known + int(np.count_nonzero(is_new)) + n_free)
        if self.numbers.size - LANES <= wanted <= self.numbers.size:
            return
        if wanted > MAX_SLOTS:
            raise ValueError(f"{wanted} categories are more than {MAX_SLOTS}: the prior of gamma is too wide")
        old = np.concatenate([np.arange(n_known), np.flatnonzero(is_new)])
        slot = np.zeros(self.numbers.size, np.uint16)
        slot[old] = np.arange(old.size)

        def moved_to_slots(array: Array, fill: int = 0) -> Array:
            moved = np.full((wanted, *array.shape[1:]), fill, array.dtype)
            moved[: old.size] = array[old]
            return moved

        arrays.relabel(self.placements, slot)
        category_word = simd.aligned((counts.category_word.shape[0], wanted), np.int32)
        category_word[:, : old.size] = counts.category_word[:, old]
        self.counts = counts._replace(
            category_word=category_word,
            category_tables=moved_to_slots(counts.category_tables),
            log_seats=moved_to_slots(counts.log_seats),
            category_topic=moved_to_slots(counts.category_topic),
        )
        self.numbers = moved_to_slots(self.numbers, UNBORN)
        self.labeled_tables = moved_to_slots(self.labeled_tables)

    def add_slots(self) -> int:
        """Have more slots in the middle of a sweep: all stay where they are. Returns how many more."""
        n_more = simd.padded(max(self.numbers.size // 2, 1))
        if self.numbers.size + n_more > MAX_SLOTS:
            raise ValueError(f"{self.numbers.size} categories are in use, and more than {MAX_SLOTS} cannot be")
        counts = self.counts
        self.counts = counts._replace(
            category_word=widened(counts.category_word, n_more, axis=1),
            category_tables=widened(counts.category_tables, n_more),
            log_seats=widened(counts.log_seats, n_more),
            category_topic=widened(counts.category_topic, n_more),
        )
        self.numbers = widened(self.numbers, n_more, fill=UNBORN)
        self.labeled_tables = widened(self.labeled_tables, n_more)
        return n_more


def labels_of_words(corpus: Corpus) -> Array:
    """int32[D]: the label of each document that has a word, NO_CATEGORY where there is no label or no word."""
    return np.where((corpus.labels != UNLABELED) & (corpus.lengths > 0), corpus.labels, NO_CATEGORY).astype(np.int32)


def labeled_tables(corpus: Corpus, n_slots: int) -> Array:
    """int64[S]: labeled documents with a word."""
    return np.bincount(corpus.labels[(corpus.labels != UNLABELED) & (corpus.lengths > 0)], minlength=n_slots)
