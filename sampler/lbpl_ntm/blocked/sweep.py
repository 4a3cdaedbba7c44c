"""One sweep of the blocked sampler: its steps, over a state and the scratch that goes with it."""

import numpy as np
from scipy.special import softmax

from sampler.corpus import NO_CATEGORY, Array, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm.assignments import UNBORN
from sampler.lbpl_ntm.blocked import birth_death, bulk_topics, category_scores, phi, split_merge, whole_documents
from sampler.lbpl_ntm.blocked.arrays import MAX_SLOTS, Categories, Documents
from sampler.lbpl_ntm.blocked.categories import unused_slot
from sampler.lbpl_ntm.blocked.category_scores import HIGHEST_SCORE, NO_STICK, QUANTUM
from sampler.lbpl_ntm.blocked.document_scratch import Tallies
from sampler.lbpl_ntm.blocked.phi import WordPrior
from sampler.lbpl_ntm.blocked.phi_gammas import cut_uniform, negligible
from sampler.lbpl_ntm.blocked.scratch import Scratch, Size, widen
from sampler.lbpl_ntm.blocked.split_merge import Outcome
from sampler.lbpl_ntm.blocked.state import BlockedState
from sampler.numerics import simd, streams
from sampler.numerics.streams import Step
from sampler.numerics.threads import Threads

LEAST_STICK = 1e-12  # a category with a smaller b_k is no candidate in a sweep
SPLIT_MERGE_EVERY = 8  # sweeps: an attempt costs up to a third of one
YOUNG = 3  # sweeps while topics are open to any category: then `birth_share` of the documents may open one
OLD_SHARE = 1.0 / 256.0  # later: a visit costs about ten times as much as in the documents' step
TOPIC_ROUNDS, YOUNG_ROUNDS, MANY_ROUNDS = 1, 25, 6  # of topics a sweep; the first sweeps after births, and theirs
GAMMAS_AT_ONCE = 2_000_000  # that are drawn without a look at the flag
ENOUGH_PSEUDOCOUNTS = 20.0  # V beta: a topic's norm is then not small, even without a token


def sweep_blocked(corpus: Corpus, hyperparameters: Hyperparameters, state: BlockedState, threads: Threads) -> None:
    """Draw parameters, categories and tables of all documents, and topics."""
    steps = Sweep(corpus, hyperparameters, state, threads)
    steps.draw_parameters()
    steps.score_categories()
    steps.sample_documents()
    steps.visit_births()
    if state.n_sweeps % SPLIT_MERGE_EVERY == 0:
        steps.split_or_merge()
    steps.sample_topics()
    is_young = hyperparameters.birth_share > 0.0 and state.n_sweeps <= YOUNG_ROUNDS
    for turn in range(1, MANY_ROUNDS if is_young else TOPIC_ROUNDS):
        steps.redraw_topics(turn)


class Sweep:
    """The steps of one sweep. Each changes the state or the scratch in place, for the steps behind it."""

    scratch: Scratch  # for as many slots as the state has

    def __init__(self, corpus: Corpus, hyperparameters: Hyperparameters, state: BlockedState, threads: Threads) -> None:
        self.corpus, self.hyperparameters, self.state, self.threads = corpus, hyperparameters, state, threads
        self.cuts = state.workplace.cuts(threads)
        self.fit_scratch()

    def fit_scratch(self) -> None:
        """Take scratch for the slots that there are now, that of the last sweep if it had as many."""
        state, (n_words, n_topics) = self.state, self.state.counts.word_topics.topic.shape
        n_documents, longest = state.bags.document.size, state.sizes.harmonic.size
        size = Size(n_words, n_topics, state.numbers.size, n_documents, longest, self.threads.n_threads)
        self.scratch = state.workplace.scratch(size)

    @property
    def documents(self) -> Documents:
        """The unlabeled documents."""
        state = self.state
        return Documents(state.bags, state.placements, state.sizes, self.scratch.one_table)

    @property
    def categories(self) -> Categories:
        """The categories, for moves between them."""
        state, drawn, norm = self.state, self.scratch.drawn, self.scratch.norms.sum(axis=0)
        return Categories(state.counts, drawn, norm, state.labeled_tables, state.numbers, self.corpus.n_known)

    def key(self, step: Step, turn: int = 0) -> np.uint64:
        """The key of this sweep's numbers for a step, or for a later turn of it."""
        key = streams.stream(self.state.seed, self.state.chain, self.state.n_sweeps, step)
        return key if turn == 0 else np.uint64(streams.branch(key, turn))

    def generator(self, step: Step, turn: int = 0) -> np.random.Generator:
        """A generator of numpy for a step, or for a later turn of it."""
        return np.random.Generator(np.random.Philox(key=int(self.key(step, turn))))

    def draw_parameters(self, turn: int = 0) -> None:
        """Draw phi, the sticks and theta from their conditionals."""
        rng = self.generator(Step.PARAMETERS, turn)
        sticks = self.draw_sticks(rng)
        self.fit_scratch()
        self.scratch.drawn.stick[:] = sticks
        self.draw_distributions(rng, turn)

    def draw_sticks(self, rng: np.random.Generator) -> Array:
        """float64[S]: b given the tables, with the new categories whose stick is not negligible in free slots.

        There may be other slots afterwards.
        """
        state, n_known = self.state, self.corpus.n_known
        if -state.gamma * np.log(LEAST_STICK) > MAX_SLOTS:  # as many sticks, or fewer, are to be expected
            raise ValueError(f"gamma = {state.gamma} has more than {MAX_SLOTS} categories: its prior is too wide")
        served = np.flatnonzero(state.counts.category_tables)
        parts = rng.standard_gamma(state.counts.category_tables[served])
        rest = rng.standard_gamma(state.gamma)
        total = parts.sum() + rest
        fresh, rest = [], rest / total
        while rest > LEAST_STICK:
            part = rng.beta(1.0, state.gamma)
            if part * rest > LEAST_STICK:
                fresh.append(part * rest)
            rest *= 1.0 - part
        state.make_slots(n_known, len(fresh) + 1)  # a split needs one
        tables, sticks = state.counts.category_tables, np.zeros(state.numbers.size)
        sticks[np.flatnonzero(tables)] = parts / total
        free = n_known + np.flatnonzero(tables[n_known:] == 0)[: len(fresh)]
        sticks[free] = fresh
        state.numbers[free] = UNBORN
        return sticks

    def draw_distributions(self, rng: np.random.Generator, turn: int = 0) -> None:
        """Draw phi, and theta of all categories with a stick, from their conditionals."""
        drawn, norms, counts = self.scratch.drawn, self.scratch.norms, self.state.counts
        zeta, n_topics, threads = self.hyperparameters.zeta, self.hyperparameters.n_topics, self.threads
        prior = self.word_prior()
        key, pieces, live = self.key(Step.WEIGHTS, turn), threads.pieces(self.cuts.blocks), np.flatnonzero(drawn.stick)
        theta = np.empty((live.size, n_topics))

        def draw(thread: int) -> None:
            if thread == 0:  # the others begin with phi
                theta[:] = draw_dirichlets(zeta, counts.category_topic[live], rng, threads)
            phi.draw_weights(counts.word_topics, prior, key, pieces, drawn, norms)

        threads.run(draw)
        norm = norms.sum(axis=0)
        drawn.mixture[:] = 0.0
        drawn.mixture[:, live] = theta.T / np.where(norm > 0.0, norm, np.inf)[:, np.newaxis]

    def word_prior(self) -> WordPrior:
        """The prior of phi; nothing of phi is left out where a topic's norm could be small."""
        beta = self.hyperparameters.beta
        if self.corpus.n_words * beta < ENOUGH_PSEUDOCOUNTS:
            return WordPrior(beta, 0.0)
        return WordPrior(beta, cut_uniform(beta, negligible(self.hyperparameters.n_topics, beta)))

    def write_chances(self) -> None:
        """Write M."""
        drawn, pieces = self.scratch.drawn, self.threads.pieces(self.cuts.words)
        self.threads.run(lambda thread: category_scores.write_all_chances(drawn, pieces))

    def score_categories(self, has_chances: bool = False) -> None:
        """Write M, unless it is there, and what documents need to know of the categories."""
        drawn, scores, alpha = self.scratch.drawn, self.scratch.scores, self.state.alpha
        is_candidate = drawn.stick > LEAST_STICK
        scores.seating[:] = alpha * drawn.stick
        scores.weight[:] = np.where(is_candidate, scores.seating, 0.0)
        with np.errstate(divide="ignore"):
            scores.log_stick[0] = np.log(np.where(is_candidate, drawn.stick, 0.0))
        scores.stick_quanta[0] = np.maximum(np.rint(scores.log_stick[0] / QUANTUM), NO_STICK)
        # No score is above -log(alpha b), so none is beyond the quanta unless alpha is next to nothing.
        scores.slack[0] = QUANTUM if -np.log(alpha * LEAST_STICK) < HIGHEST_SCORE else np.inf
        live, pieces = np.flatnonzero(drawn.stick), self.threads.pieces(self.cuts.words)
        self.threads.run(lambda thread: category_scores.score_all_words(drawn, has_chances, scores, live, pieces))

    def sample_documents(self) -> None:
        """Resample categories and tables of all unlabeled documents."""
        state, counts = self.state, self.state.counts
        tables, log_seats = self.sample_those(self.documents, self.cuts.documents)
        counts.category_tables[:] = state.labeled_tables + tables
        counts.log_seats[:] = log_seats

    def sample_those(self, documents: Documents, cuts: Array) -> tuple[Array, Array]:
        """Resample categories and tables of documents; int64[S]: the tables that they have, and their log seats."""
        scratch, counts, n_slots = self.scratch, self.state.counts, self.state.numbers.size
        tallies = [
            Tallies(
                scratch.changes[thread - 1] if thread > 0 else counts.category_word,
                np.zeros(n_slots, np.int64),
                np.zeros(n_slots, np.int64),
            )
            for thread in range(self.threads.n_threads)
        ]
        key, pieces = self.key(Step.DOCUMENTS), self.threads.pieces(cuts)

        def sample(thread: int) -> None:
            tally, at = tallies[thread], scratch.of_documents[thread]
            whole_documents.sample_documents(documents, scratch.scores, key, pieces, at, tally)

        self.threads.run(sample)
        tables, log_seats = (
            np.sum([getattr(tally, of) for tally in tallies], axis=0) for of in ("category_tables", "log_seats")
        )
        return tables, log_seats

    def take_over(self) -> None:
        """Count what the documents' step has changed, before anyone but `sample_topics` needs `category_word`."""
        category_word, changes = self.state.counts.category_word, self.scratch.changes
        pieces = self.threads.pieces(self.cuts.words)
        self.threads.run(lambda thread: bulk_topics.take_over_words(category_word, changes, pieces))

    def visit_births(self) -> None:
        """Propose to some documents that they open a category of their own, or give it up.

        How many is settled by the sweep's number, which nothing that is drawn depends on.
        """
        state, n_known = self.state, self.corpus.n_known
        share = share_of_births(self.hyperparameters.birth_share, state.n_sweeps)
        if share == 0.0:
            return
        self.take_over()
        given, key, u = state.concentrations(self.hyperparameters), self.key(Step.BIRTHS), 0
        while True:
            u = birth_death.visit(
                self.documents, self.categories, self.scratch.scores, given, share, key, u, self.threads.stop
            )
            self.threads.check()
            unused = unused_slot(state.counts.category_tables, self.scratch.drawn.stick, n_known)
            if u == state.bags.document.size and unused != NO_CATEGORY:  # a split may need it
                return
            self.add_slots()

    def add_slots(self) -> None:
        """Have more slots, with what has been drawn for the others."""
        self.scratch = widen(self.scratch, self.state.add_slots())
        self.state.workplace.keep(self.scratch)

    def split_or_merge(self) -> None:
        """Try to split a category, or to merge two."""
        self.take_over()
        state = self.state
        is_unused = state.counts.category_tables == 0
        given, key = state.concentrations(self.hyperparameters), self.key(Step.SPLIT_MERGE)
        outcome = split_merge.attempt(self.documents, self.categories, given, key, self.threads.stop)
        self.threads.check()
        if outcome == Outcome.SPLIT:
            state.numbers[is_unused & (state.counts.category_tables > 0)] = UNBORN

    def redraw_topics(self, turn: int) -> None:
        """Draw phi and theta, then all topics, once more: while these are far from settled, documents can wait."""
        self.draw_distributions(self.generator(Step.PARAMETERS, turn), turn)
        self.write_chances()
        self.sample_topics(turn)

    def sample_topics(self, turn: int = 0) -> None:
        """Draw the topics of all tokens in bulk."""
        drawn, changes, counts = self.scratch.drawn, self.scratch.changes, self.state.counts
        n_slots, n_topics = counts.category_topic.shape
        category_topic = simd.aligned((self.threads.n_threads, n_topics, n_slots), np.int32)
        key, pieces = self.key(Step.BULK_TOPICS, turn), self.threads.pieces(self.cuts.words)

        def sample(thread: int) -> None:
            tally, rows = category_topic[thread], counts.word_topics
            bulk_topics.sample_bulk_topics(counts.category_word, changes, drawn, key, pieces, rows, tally)

        self.threads.run(sample)
        counts.category_topic[:] = category_topic.sum(axis=0, dtype=np.int64).T
        counts.topic_tokens[:] = counts.category_topic.sum(axis=0)


def share_of_births(birth_share: float, n_sweeps: int) -> float:
    """The share of the documents to which a birth or a death is proposed in a sweep."""
    return birth_share if n_sweeps <= YOUNG else min(birth_share, OLD_SHARE)


def draw_dirichlets(prior: float, counts: Array, rng: np.random.Generator, threads: Threads) -> Array:
    """float64[R, L]: rows of Dirichlet(prior + counts).

    With a tiny prior all gammas of a row without a count may be below the least float. There log G is that of
    u^(1 / prior), which has no memory, so it can be drawn again.
    """
    weights: Array = np.empty(counts.shape)
    for some in threads.slices(len(counts), GAMMAS_AT_ONCE // weights.shape[1]):
        weights[some] = rng.standard_gamma(prior + counts[some])
    lost = weights.sum(axis=1) == 0.0
    exponentials = rng.standard_exponential((np.count_nonzero(lost), weights.shape[1]))
    weights[lost] = softmax(-exponentials / prior, axis=1)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
