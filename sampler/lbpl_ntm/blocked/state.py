"""The blocked sampler: the posterior of Algorithm 1 in other coordinates (docs/model.md).

The sticks b, theta and phi are drawn explicitly; topics are summed out where categories are chosen, and drawn in bulk
afterwards. Between sweeps only that is kept from which they are drawn again.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import softmax

from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters, Kernel
from sampler.lbpl_ntm.assignments import UNBORN, recount
from sampler.lbpl_ntm.blocked import (
    arrays,
    birth_death,
    bulk_topics,
    scratch,
    split_merge,
    storage,
    summary,
    whole_documents,
)
from sampler.lbpl_ntm.blocked.arrays import MAX_SLOTS, Bags, BlockedCounts, Placements
from sampler.lbpl_ntm.blocked.category_scores import HIGHEST_SCORE, NO_STICK, QUANTUM
from sampler.lbpl_ntm.blocked.mixed_documents import Tallies
from sampler.lbpl_ntm.blocked.phi import negligible
from sampler.lbpl_ntm.blocked.phi_gammas import cut_uniform
from sampler.lbpl_ntm.blocked.scratch import Room
from sampler.lbpl_ntm.blocked.split_merge import Outcome
from sampler.lbpl_ntm.blocked.summary import Lengths
from sampler.lbpl_ntm.blocked.whole_documents import Sizes, sizes_of
from sampler.lbpl_ntm.start import first_assignments
from sampler.lbpl_ntm.state import Course, State, Survey
from sampler.numerics import simd, streams
from sampler.numerics.simd import LANES
from sampler.numerics.streams import Step
from sampler.numerics.threads import Threads, pieces_of

LEAST_STICK = 1e-12  # a category with a smaller b_k is no candidate in a sweep
START_TOKENS = 200_000  # of the documents that a start learns from
WHOLE_DOCUMENTS = 1e-9  # an alpha at which no token parts from its document
SPLIT_MERGE_EVERY = 8  # sweeps: an attempt costs up to a third of one
YOUNG = 3  # sweeps while topics are open to any category: then `birth_share` of the documents may open one
OLD_SHARE = 1.0 / 256.0  # later: a visit costs about ten times as much as in the documents' step
ROUNDS, YOUNG_ROUNDS, MANY_ROUNDS = 1, 25, 6  # of topics a sweep; the first sweeps after births, and theirs
AT_ONCE = 2_000_000  # gamma numbers that are drawn without a look at the flag
ENOUGH_PSEUDOCOUNTS = 20.0  # V beta: a topic's norm is then not small, even without a token


class Cuts(NamedTuple):
    """How work is cut into pieces, by their bounds."""

    n_pieces: int
    documents: Array  # of about as many tokens
    words: Array  # of about the same cost
    blocks: Array  # of words, for phi


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
    room: Room | None = None
    cut: Cuts | None = None

    @classmethod
    def start(cls, corpus: Corpus, hyperparameters: Hyperparameters, course: Course, threads: Threads) -> Self:
        """Categories and topics of some documents as Algorithm 1 starts with them, and all others placed by these.

        So a start takes seconds for a corpus of any size.
        """
        few = some_documents(corpus, course.seed, course.chain)
        assignments = first_assignments(few, hyperparameters, course.seed, course.chain, threads)
        found = recount(few, assignments, hyperparameters.n_topics)
        bags, n_slots = arrays.bag(corpus), simd.padded(assignments.identity.size + 1)
        # Any category will do for documents to come from; a slot that is served by nobody would not be left.
        anywhere = np.full(bags.document.size, found.category_tables.argmax(), np.uint16)
        placements = Placements(anywhere, np.zeros(bags.first_token[-1], np.uint16))
        counts = BlockedCounts(
            category_word=arrays.count_words(corpus, bags, placements, n_slots),
            category_tables=with_rows(found.category_tables, n_slots),
            log_seats=np.zeros(n_slots, np.int64),
            category_topic=with_rows(found.category_topic, n_slots).astype(np.int64),
            word_topics=arrays.word_topics(found.word_topic),
            topic_tokens=found.topic_tokens,
        )
        state = cls.of(corpus, course, bags, placements, counts, np.full(n_slots, UNBORN, np.int64))
        state.alpha = WHOLE_DOCUMENTS
        state.draw_parameters(corpus, hyperparameters, threads)
        state.make_offers(threads)
        state.sample_documents(threads)
        state.sample_topics(corpus, threads)
        state.alpha = course.alpha
        return state

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
        )

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
        summary.survey_documents(self.bags, self.placements, self.numbers.size, pieces, answers)
        return answers

    def survey(self, corpus: Corpus, hyperparameters: Hyperparameters, threads: Threads | None = None) -> Survey:
        """The digest is of hashes of what is large, and of all that is small."""
        threads, counts = threads or Threads(), self.counts
        answers, log_topics, log_rest = labels_of_words(corpus), np.empty(corpus.n_words), np.empty(1)
        hashes = np.zeros((threads.n_threads, 2), np.uint64)  # of documents, of topics
        cuts = self.cuts(threads)
        of_documents, of_words = threads.pieces(cuts.documents), threads.pieces(cuts.words)

        def look_over(thread: int) -> None:
            if thread == 0:
                n_labeled = int(self.labeled_tables.sum())
                log_rest[0] = summary.log_rest(counts, n_labeled, self.lengths, self.alpha, self.gamma, hyperparameters)
            n_slots = self.numbers.size
            hashes[thread] = (
                summary.survey_documents(self.bags, self.placements, n_slots, of_documents, answers),
                summary.survey_words(counts.word_topics, hyperparameters.beta, of_words, log_topics),
            )

        threads.run(look_over)
        hashed = hashes.sum(axis=0, dtype=np.uint64)
        digested = [hashed, counts.category_tables, counts.log_seats, counts.category_topic]
        return Survey(answers, digested, float(log_rest[0] + log_topics.sum()))

    def sweep(self, corpus: Corpus, hyperparameters: Hyperparameters, threads: Threads | None) -> None:
        """Draw parameters, categories and tables of all documents, and topics."""
        threads = threads or Threads()
        self.draw_parameters(corpus, hyperparameters, threads)
        self.make_offers(threads)
        self.sample_documents(threads)
        self.births(corpus, hyperparameters, threads)
        if self.n_sweeps % SPLIT_MERGE_EVERY == 0:
            self.split_merge(corpus, hyperparameters, threads)
        self.sample_topics(corpus, threads)
        is_young = hyperparameters.birth_share > 0.0 and self.n_sweeps <= YOUNG_ROUNDS
        for turn in range(1, MANY_ROUNDS if is_young else ROUNDS):
            self.redraw_topics(corpus, hyperparameters, threads, turn)

    def key(self, step: Step, turn: int = 0) -> np.uint64:
        """The key of this sweep's numbers for a step, or for a later turn of it."""
        key = streams.stream(self.seed, self.chain, self.n_sweeps, step)
        return key if turn == 0 else np.uint64(streams.branch(key, turn))

    def draw_parameters(self, corpus: Corpus, hyperparameters: Hyperparameters, threads: Threads) -> None:
        """Draw phi, the sticks and theta from their conditionals."""
        rng = streams.generator(self.seed, self.chain, self.n_sweeps, Step.PARAMETERS)
        sticks = self.draw_sticks(corpus, rng)
        self.make_room(threads).drawn.stick[:] = sticks
        self.draw_distributions(corpus, hyperparameters, threads, 0, rng)

    def draw_distributions(
        self, corpus: Corpus, hyperparameters: Hyperparameters, threads: Threads, turn: int, rng: np.random.Generator
    ) -> None:
        """Draw phi, and theta of all categories with a stick, from their conditionals."""
        room = self.make_room(threads)
        drawn, counts = room.drawn, self.counts
        is_sparse = corpus.n_words * hyperparameters.beta >= ENOUGH_PSEUDOCOUNTS
        least = negligible(hyperparameters.n_topics, hyperparameters.beta)
        cut = cut_uniform(hyperparameters.beta, least) if is_sparse else 0.0
        key = self.key(Step.WEIGHTS, turn)
        pieces, live = threads.pieces(self.cuts(threads).blocks), np.flatnonzero(drawn.stick)
        theta = np.empty((live.size, hyperparameters.n_topics))

        def draw(thread: int) -> None:
            if thread == 0:  # the others begin with phi
                theta[:] = draw_rows(hyperparameters.zeta, counts.category_topic[live], rng, threads)
            bulk_topics.draw_weights(counts.word_topics, hyperparameters.beta, cut, key, pieces, drawn, room.norms)

        threads.run(draw)
        norm = room.norms.sum(axis=0)
        drawn.mixture[:] = 0.0
        drawn.mixture[:, live] = theta.T / np.where(norm > 0.0, norm, np.inf)[:, np.newaxis]

    def draw_sticks(self, corpus: Corpus, rng: np.random.Generator) -> Array:
        """float64[S]: b given the tables, with the new categories whose stick is not negligible in free slots."""
        if -self.gamma * np.log(LEAST_STICK) > MAX_SLOTS:  # as many sticks, or fewer, are to be expected
            raise ValueError(f"gamma = {self.gamma} has more than {MAX_SLOTS} categories: its prior is too wide")
        served = np.flatnonzero(self.counts.category_tables)
        parts = rng.standard_gamma(self.counts.category_tables[served])
        rest = rng.standard_gamma(self.gamma)
        total = parts.sum() + rest
        fresh, rest = [], rest / total
        while rest > LEAST_STICK:
            part = rng.beta(1.0, self.gamma)
            if part * rest > LEAST_STICK:
                fresh.append(part * rest)
            rest *= 1.0 - part
        self.house(corpus, len(fresh) + 1)  # a split needs one
        sticks = np.zeros(self.numbers.size)
        sticks[np.flatnonzero(self.counts.category_tables)] = parts / total
        free = corpus.n_known + np.flatnonzero(self.counts.category_tables[corpus.n_known :] == 0)[: len(fresh)]
        sticks[free] = fresh
        self.numbers[free] = UNBORN
        return sticks

    def house(self, corpus: Corpus, n_free: int) -> None:
        """Have slots for all categories and `n_free` more, and not too many. The order of categories stays."""
        is_new = self.counts.category_tables > 0
        is_new[: corpus.n_known] = False
        wanted = simd.padded(corpus.n_known + int(np.count_nonzero(is_new)) + n_free)
        if self.numbers.size - LANES <= wanted <= self.numbers.size:
            return
        if wanted > MAX_SLOTS:
            raise ValueError(f"{wanted} categories are more than {MAX_SLOTS}: the prior of gamma is too wide")
        old = np.concatenate([np.arange(corpus.n_known), np.flatnonzero(is_new)])
        slot = np.zeros(self.numbers.size, np.uint16)
        slot[old] = np.arange(old.size)

        def rehoused(array: Array, fill: int = 0) -> Array:
            moved = np.full((wanted, *array.shape[1:]), fill, array.dtype)
            moved[: old.size] = array[old]
            return moved

        arrays.relabel(self.placements, slot)
        category_word = simd.aligned((corpus.n_words, wanted), np.int32)
        category_word[:, : old.size] = self.counts.category_word[:, old]
        self.counts = self.counts._replace(
            category_word=category_word,
            category_tables=rehoused(self.counts.category_tables),
            log_seats=rehoused(self.counts.log_seats),
            category_topic=rehoused(self.counts.category_topic),
        )
        self.numbers = rehoused(self.numbers, UNBORN)
        self.labeled_tables = rehoused(self.labeled_tables)

    def make_room(self, threads: Threads) -> Room:
        """Room for the parameters of as many words, topics and slots as there are."""
        n_words, n_topics = self.counts.word_topics.topic.shape
        n_documents, longest = self.bags.document.size, self.sizes.harmonic.size
        size = scratch.Size(n_words, n_topics, self.numbers.size, n_documents, longest, threads.n_threads)
        if self.room is None or self.room.size != size:
            self.room = scratch.make(size)
        return self.room

    def cuts(self, threads: Threads) -> Cuts:
        """How the work is cut for these threads; reckoned anew only if other threads come."""
        if self.cut is None or self.cut.n_pieces != threads.n_pieces:
            n_tokens = self.counts.category_word.sum(axis=1, dtype=np.int64)
            word_costs = np.concatenate([[0], np.cumsum(40 + 4 * np.minimum(n_tokens, 400))])
            self.cut = Cuts(
                threads.n_pieces,
                threads.cut(self.bags.first_token),
                threads.cut(word_costs),
                threads.cut(np.arange(bulk_topics.N_BLOCKS + 1)),
            )
        return self.cut

    def mix(self, threads: Threads) -> None:
        """Write M."""
        assert self.room is not None
        drawn, pieces = self.room.drawn, threads.pieces(self.cuts(threads).words)
        threads.run(lambda thread: bulk_topics.mix_words(drawn, pieces))

    def make_offers(self, threads: Threads, is_mixed: bool = False) -> None:
        """Write M, unless it is there, and what documents need to know of the categories."""
        assert self.room is not None
        drawn, offered = self.room.drawn, self.room.offers
        is_candidate = drawn.stick > LEAST_STICK
        offered.seating[:] = self.alpha * drawn.stick
        offered.weight[:] = np.where(is_candidate, offered.seating, 0.0)
        with np.errstate(divide="ignore"):
            offered.log_stick[0] = np.log(np.where(is_candidate, drawn.stick, 0.0))
        offered.stick_quanta[0] = np.maximum(np.rint(offered.log_stick[0] / QUANTUM), NO_STICK)
        # No score is above -log(alpha b), so none is beyond the quanta unless alpha is next to nothing.
        offered.slack[0] = QUANTUM if -np.log(self.alpha * LEAST_STICK) < HIGHEST_SCORE else np.inf
        live = np.flatnonzero(drawn.stick)

        pieces = threads.pieces(self.cuts(threads).words)
        threads.run(lambda thread: bulk_topics.make_offers(drawn, is_mixed, offered, live, pieces))

    def sample_documents(self, threads: Threads) -> None:
        """Resample categories and tables of all unlabeled documents."""
        assert self.room is not None
        has, changes, counts, n_slots = self.room, self.room.changes, self.counts, self.numbers.size
        tallies = [
            Tallies(
                changes[thread - 1] if thread > 0 else counts.category_word,
                np.zeros(n_slots, np.int64),
                np.zeros(n_slots, np.int64),
                has.one_table,
            )
            for thread in range(threads.n_threads)
        ]
        key, pieces = self.key(Step.DOCUMENTS), threads.pieces(self.cuts(threads).documents)

        def sample(thread: int) -> None:
            tally, at = tallies[thread], has.desks[thread]
            whole_documents.sample_documents(self.bags, self.placements, has.offers, self.sizes, key, pieces, at, tally)

        threads.run(sample)
        counts.category_tables[:] = self.labeled_tables + sum(tally.category_tables for tally in tallies)
        counts.log_seats[:] = sum(tally.log_seats for tally in tallies)

    def take_over(self, threads: Threads) -> None:
        """Count what the documents' step has changed, before anyone but `sample_topics` needs `category_word`."""
        assert self.room is not None
        category_word, changes, pieces = (
            self.counts.category_word,
            self.room.changes,
            threads.pieces(self.cuts(threads).words),
        )
        threads.run(lambda thread: bulk_topics.take_over_words(category_word, changes, pieces))

    def births(self, corpus: Corpus, hyperparameters: Hyperparameters, threads: Threads) -> None:
        """Propose to some documents that they open a category of their own, or give it up.

        How many is settled by the sweep's number, which nothing that is drawn depends on.
        """
        assert self.room is not None
        share = share_of_births(hyperparameters.birth_share, self.n_sweeps)
        if share == 0.0:
            return
        self.take_over(threads)
        norm, key, u = self.room.norms.sum(axis=0), self.key(Step.BIRTHS), 0
        while True:
            u = birth_death.visit(
                self.bags,
                self.placements,
                self.counts,
                self.room.drawn,
                self.room.offers,
                self.sizes,
                norm,
                self.numbers,
                self.room.one_table,
                self.gamma,
                hyperparameters.zeta,
                corpus.n_known,
                share,
                key,
                u,
                threads.stop,
            )
            threads.check()
            unused = split_merge.unused_slot(self.counts.category_tables, self.room.drawn.stick, corpus.n_known)
            if u == self.bags.document.size and unused != split_merge.NOBODY:  # a split may need it
                return
            self.enlarge()

    def enlarge(self) -> None:
        """Have more slots in the middle of a sweep: all stay where they are."""
        assert self.room is not None
        n_more = simd.padded(max(self.numbers.size // 2, 1))
        if self.numbers.size + n_more > MAX_SLOTS:
            raise ValueError(f"{self.numbers.size} categories are in use, and more than {MAX_SLOTS} cannot be")
        counts = self.counts
        self.counts = counts._replace(
            category_word=scratch.widened(counts.category_word, n_more, axis=1),
            category_tables=scratch.widened(counts.category_tables, n_more),
            log_seats=scratch.widened(counts.log_seats, n_more),
            category_topic=scratch.widened(counts.category_topic, n_more),
        )
        self.numbers = scratch.widened(self.numbers, n_more, fill=UNBORN)
        self.labeled_tables = scratch.widened(self.labeled_tables, n_more)
        self.room = scratch.widen(self.room, n_more)

    def split_merge(self, corpus: Corpus, hyperparameters: Hyperparameters, threads: Threads) -> None:
        """Try to split a category, or to merge two."""
        assert self.room is not None
        self.take_over(threads)
        is_unused = self.counts.category_tables == 0
        outcome = split_merge.attempt(
            self.bags,
            self.placements,
            self.counts,
            self.room.drawn,
            self.room.norms.sum(axis=0),
            self.labeled_tables,
            self.alpha,
            self.gamma,
            hyperparameters.zeta,
            corpus.n_known,
            self.key(Step.SPLIT_MERGE),
            threads.stop,
        )
        threads.check()
        if outcome == Outcome.SPLIT:
            self.numbers[is_unused & (self.counts.category_tables > 0)] = UNBORN

    def redraw_topics(self, corpus: Corpus, hyperparameters: Hyperparameters, threads: Threads, turn: int) -> None:
        """Draw phi and theta, then all topics, once more: while these are far from settled, documents can wait."""
        rng = np.random.Generator(np.random.Philox(key=int(self.key(Step.PARAMETERS, turn))))
        self.draw_distributions(corpus, hyperparameters, threads, turn, rng)
        self.mix(threads)
        self.sample_topics(corpus, threads, turn)

    def sample_topics(self, corpus: Corpus, threads: Threads, turn: int = 0) -> None:
        """Draw the topics of all tokens in bulk."""
        assert self.room is not None
        drawn, changes, counts = self.room.drawn, self.room.changes, self.counts
        n_slots, n_topics = counts.category_topic.shape
        category_topic = simd.aligned((threads.n_threads, n_topics, n_slots), np.int32)
        key, pieces = self.key(Step.BULK_TOPICS, turn), threads.pieces(self.cuts(threads).words)

        def sample(thread: int) -> None:
            tally = category_topic[thread]
            bulk_topics.sample_topics(counts.category_word, changes, drawn, key, pieces, counts.word_topics, tally)

        threads.run(sample)
        counts.category_topic[:] = category_topic.sum(axis=0, dtype=np.int64).T
        counts.topic_tokens[:] = counts.category_topic.sum(axis=0)

    def arrays(self, corpus: Corpus) -> dict[str, Array]:
        """See `sampler.lbpl_ntm.blocked.storage`."""
        return {"identity": self.numbers, **storage.arrays_of(self.bags, self.placements, self.counts)}

    @classmethod
    def restore(
        cls, corpus: Corpus, hyperparameters: Hyperparameters, course: Course, stored: dict[str, Array]
    ) -> Self:
        """The state whose arrays these are. Raises ValueError if it could not be one of this corpus."""
        numbers = stored["identity"]
        if numbers.ndim != 1 or numbers.size % LANES or numbers.size > MAX_SLOTS:
            raise ValueError(f"{numbers.shape} is no number of slots")
        labeled = labeled_tables(corpus, numbers.size)
        bags = arrays.bag(corpus)
        placements, counts = storage.restored(corpus, bags, hyperparameters.n_topics, labeled, stored)
        return cls.of(corpus, course, bags, placements, counts, numbers.copy())


def share_of_births(birth_share: float, n_sweeps: int) -> float:
    """The share of the documents to which a birth or a death is proposed in a sweep."""
    return birth_share if n_sweeps <= YOUNG else min(birth_share, OLD_SHARE)


def some_documents(corpus: Corpus, seed: int, chain: int) -> Corpus:
    """The corpus if it is small, else documents at random that have START_TOKENS tokens together."""
    key = streams.stream(seed, chain, 0, Step.START_DOCUMENTS)
    order = np.argsort(streams.uniforms(key, corpus.n_documents), kind="stable")
    n_documents = np.searchsorted(np.cumsum(corpus.lengths[order]), START_TOKENS) + 1
    chosen = np.sort(order[:n_documents])
    lengths = corpus.lengths[chosen]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens = np.repeat(corpus.offsets[chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
    return Corpus(corpus.words[tokens], offsets, corpus.labels[chosen], corpus.n_words, corpus.n_known)


def with_rows(array: Array, n_rows: int) -> Array:
    """The array with rows of zeros behind it."""
    return np.concatenate([array, np.zeros((n_rows - array.shape[0], *array.shape[1:]), array.dtype)])


def labels_of_words(corpus: Corpus) -> Array:
    """int32[D]: the label of each document that has a word, NO_CATEGORY where there is no label or no word."""
    return np.where((corpus.labels != UNLABELED) & (corpus.lengths > 0), corpus.labels, NO_CATEGORY).astype(np.int32)


def labeled_tables(corpus: Corpus, n_slots: int) -> Array:
    """int64[S]: labeled documents with a word."""
    return np.bincount(corpus.labels[(corpus.labels != UNLABELED) & (corpus.lengths > 0)], minlength=n_slots)


def draw_rows(prior: float, counts: Array, rng: np.random.Generator, threads: Threads) -> Array:
    """float64[R, L]: rows of Dirichlet(prior + counts).

    With a tiny prior all gammas of a row without a count may be below the least float. There log G is that of
    u^(1 / prior), which has no memory, so it can be drawn anew.
    """
    weights: Array = np.empty(counts.shape)
    for some in threads.slices(len(counts), AT_ONCE // weights.shape[1]):
        weights[some] = rng.standard_gamma(prior + counts[some])
    lost = weights.sum(axis=1) == 0.0
    exponentials = rng.standard_exponential((np.count_nonzero(lost), weights.shape[1]))
    weights[lost] = softmax(-exponentials / prior, axis=1)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
