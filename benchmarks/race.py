"""A race on one corpus: how long until a chain stays above where Algorithm 1 stands after so many sweeps?

Above by its log joint, and by the log probability of the words. Both kernels start from the same categories of
documents and the same topics of tokens, and sweep in turn on one thread. The clock of each runs only while it sweeps.
"""

import math
import time
from typing import Any, NamedTuple

import numpy as np

from benchmarks import machine, ours
from sampler.answers.tally import no_tally
from sampler.corpus import UNLABELED, Array, Corpus, fingerprint
from sampler.digest import first_digest
from sampler.hyperparameters import Hyperparameters, Kernel
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.assignments import UNBORN, recount
from sampler.lbpl_ntm.blocked import arrays
from sampler.lbpl_ntm.blocked.state import BlockedState
from sampler.lbpl_ntm.collapsed.state import CollapsedState
from sampler.lbpl_ntm.start import seated
from sampler.lbpl_ntm.state import Course
from sampler.numerics.threads import Threads

CHUNK = 50_000  # tokens whose topics are drawn at once
ROUNDS = 30  # turns of each; long enough for warm caches, short enough that a busy neighbour hits both


class Moment(NamedTuple):
    """Where a chain stands after a sweep."""

    seconds: float  # of wall time, spent in its sweeps so far
    processor_seconds: float
    log_joint: float
    log_words: float  # see `log_words`
    n_categories: int


class Runner:
    """One chain of the race and its trace."""

    def __init__(self, corpus: Corpus, hyperparameters: Hyperparameters, state: CollapsedState | BlockedState) -> None:
        self.corpus, self.hyperparameters, self.state = corpus, hyperparameters, state
        self.trace: list[Moment] = []

    def sweep(self, n: int) -> None:
        """Go on for n sweeps."""
        for _ in range(n):
            seconds, processor_seconds = self.trace[-1][:2] if self.trace else (0.0, 0.0)
            began, processor_began = time.perf_counter(), time.thread_time()
            draw = chain.sweep(self.corpus, self.hyperparameters, self.state)
            seconds += time.perf_counter() - began
            processor_seconds += time.thread_time() - processor_began
            of_words = log_words(self.corpus, self.hyperparameters, self.state)
            self.trace.append(Moment(seconds, processor_seconds, draw.log_joint, of_words, draw.n_categories))

    def told(self) -> list[list[float]]:
        """The trace, rounded: seconds, log joint, log probability of the words, categories."""
        return [
            [round(moment.seconds, 3), round(moment.log_joint, 1), round(moment.log_words, 5), moment.n_categories]
            for moment in self.trace
        ]


def log_words(corpus: Corpus, hyperparameters: Hyperparameters, state: CollapsedState | BlockedState) -> float:
    """Mean over all tokens of log p(w | k) in nats, topics summed out, under the posterior means of theta and phi.

    It rises as a chain settles, and unlike the log joint it does not fall when documents mix.
    """
    category_word, word_topic = counts_of_words(corpus, state)
    of_categories = state.counts.category_topic + hyperparameters.zeta
    of_topics = word_topic + hyperparameters.beta
    theta = of_categories / of_categories.sum(axis=1, keepdims=True)
    phi = of_topics / of_topics.sum(axis=0)
    held = category_word > 0
    return float((category_word[held] * np.log((phi @ theta.T)[held])).sum() / corpus.n_tokens)


def counts_of_words(corpus: Corpus, state: CollapsedState | BlockedState) -> tuple[Array, Array]:
    """int[V, C] and int[V, L]: tokens of each word in each category and in each topic."""
    if isinstance(state, CollapsedState):
        category, n_slots = state.assignments.category[state.assignments.table], state.identity.size
        cells = np.bincount(corpus.words * np.int64(n_slots) + category, minlength=corpus.n_words * n_slots)
        return cells.reshape(corpus.n_words, n_slots), state.counts.word_topic
    return state.counts.category_word, arrays.count_topics(state.counts.word_topics)


def run(
    corpus: Corpus, hyperparameters: Hyperparameters, seed: int, sweeps: int, blocked_sweeps: int, how: str
) -> dict[str, Any]:
    """The race under one seed: `sweeps` of Algorithm 1, `blocked_sweeps` of the blocked sampler."""
    slow_state = first_state(corpus, hyperparameters, seed, how)
    fast_state = twin(corpus, hyperparameters, slow_state)
    at_start = [state.log_joint(corpus, hyperparameters) for state in (slow_state, fast_state)]
    if not math.isclose(*at_start, rel_tol=1e-9):
        raise ValueError(f"the two starts have log joints {at_start}: they are not the same state")
    slow, fast = Runner(corpus, hyperparameters, slow_state), Runner(corpus, hyperparameters, fast_state)
    second_core = machine.second_core()
    for turn in range(ROUNDS):
        for runner, total in ((slow, sweeps), (fast, blocked_sweeps)):
            runner.sweep(total * (turn + 1) // ROUNDS - total * turn // ROUNDS)
    return {"seed": seed, "start": how, "log_joint_at_start": round(at_start[0], 1), "second_core": second_core} | (
        compare(slow, fast)
    )


def compare(slow: Runner, fast: Runner) -> dict[str, Any]:
    """Who crossed when, by the log joint and by the log probability of the words."""
    return {
        "sweeps": len(slow.trace),
        "seconds": round(slow.trace[-1].seconds, 2),
        "K": slow.trace[-1].n_categories,
        "blocked_sweeps": len(fast.trace),
        "blocked_seconds": round(fast.trace[-1].seconds, 2),
        "blocked_K": fast.trace[-1].n_categories,
        "log_joint": crossings(slow.trace, fast.trace, "log_joint"),
        "log_words": crossings(slow.trace, fast.trace, "log_words"),
        "trace": slow.told(),
        "blocked_trace": fast.told(),
    }


def crossings(slow: list[Moment], fast: list[Moment], measure: str) -> dict[str, Any]:
    """Who crossed when, for good and for the first time; what has not happened is None.

    By the log joint no kernel stays for ever: documents mix slowly, alpha grows, and it falls as alpha does. So it is
    told too until which sweep the blocked sampler was above the target since it first was.
    """
    of_slow, of_fast = ([float(getattr(moment, measure)) for moment in trace] for trace in (slow, fast))
    target = of_slow[-1]
    own, other = crossing(of_slow, target), crossing(of_fast, target)
    first, stay = first_stay(of_slow, target), first_stay(of_fast, target)
    assert own is not None and first is not None  # it ends at its target
    facts: dict[str, Any] = {
        "target": round(target, 5),
        "crossing_seconds": round(slow[own].seconds, 2),
        "first_seconds": round(slow[first[0]].seconds, 2),
        "blocked_end": round(of_fast[-1], 5),
        "blocked_crossing_sweep": None,
        "blocked_crossing_seconds": None,
        "ratio": None,
        "processor_ratio": None,
        "blocked_first_sweep": None,
        "blocked_first_seconds": None,
        "blocked_until_sweep": None,
        "first_ratio": None,
    }
    if other is not None:
        facts["blocked_crossing_sweep"] = other + 1
        facts["blocked_crossing_seconds"] = round(fast[other].seconds, 3)
        facts["ratio"] = round(slow[own].seconds / fast[other].seconds, 1)
        facts["processor_ratio"] = round(slow[own].processor_seconds / fast[other].processor_seconds, 1)
    if stay is not None:
        facts["blocked_first_sweep"], facts["blocked_until_sweep"] = stay[0] + 1, stay[1] + 1
        facts["blocked_first_seconds"] = round(fast[stay[0]].seconds, 3)
        facts["first_ratio"] = round(slow[first[0]].seconds / fast[stay[0]].seconds, 1)
    return facts


def crossing(values: list[float], target: float) -> int | None:
    """Index of the sweep from which on the values are never below the target; None if they end below."""
    below = [index for index, value in enumerate(values) if value < target]
    first = below[-1] + 1 if below else 0
    return first if first < len(values) else None


def first_stay(values: list[float], target: float) -> tuple[int, int] | None:
    """Indices of the first sweep that reaches the target and of the last before it is lost again; None if none does."""
    above = [value >= target for value in values]
    if True not in above:
        return None
    first = above.index(True)
    return first, above.index(False, first) - 1 if False in above[first:] else len(above) - 1


def first_state(corpus: Corpus, hyperparameters: Hyperparameters, seed: int, how: str) -> CollapsedState:
    """Algorithm 1 before its first sweep, each document at one table.

    "placed" is its own start, which places whole documents in many passes. "prior" throws every unlabeled document
    into one of `n_start` new categories, and draws theta and phi from their priors and the topics of tokens from these.
    """
    mark = fingerprint(corpus)
    course = Course(
        fingerprint=mark,
        n_topics=hyperparameters.n_topics,
        seed=seed,
        chain=0,
        n_sweeps=0,
        n_born=corpus.n_known,
        alpha=hyperparameters.alpha_mean,
        gamma=hyperparameters.gamma_mean,
        tally=no_tally(),
        digest=first_digest({"race": how, "seed": seed}),
    )
    if how == "placed":
        state = CollapsedState.start(corpus, hyperparameters, course, Threads())
    else:
        rng = np.random.default_rng(seed)
        categories = corpus.n_known + rng.integers(max(hyperparameters.n_start, 1), size=corpus.n_documents)
        topics = topics_of_prior(corpus, hyperparameters, categories, rng)
        assignments = seated(corpus, topics, categories, corpus.n_known + hyperparameters.n_start + 2)
        counts = recount(corpus, assignments, hyperparameters.n_topics)
        state = CollapsedState(**vars(course), assignments=assignments, counts=counts)
    state.identity[: corpus.n_known] = np.arange(corpus.n_known)
    chain.name_new_categories(state)
    return state


def topics_of_prior(
    corpus: Corpus, hyperparameters: Hyperparameters, categories: Array, rng: np.random.Generator
) -> Array:
    """int32[N]: topics of tokens whose documents are in these categories, or have a label, under a theta and a phi."""
    n_topics, n_categories = hyperparameters.n_topics, int(categories.max()) + 1
    theta = rng.dirichlet(np.full(n_topics, hyperparameters.zeta), n_categories)
    phi = rng.standard_gamma(hyperparameters.beta, (n_topics, corpus.n_words))
    phi /= phi.sum(axis=1, keepdims=True)
    category = np.repeat(np.where(corpus.labels == UNLABELED, categories, corpus.labels), corpus.lengths)
    topics = np.empty(corpus.n_tokens, np.int32)
    for first in range(0, corpus.n_tokens, CHUNK):
        chunk = slice(first, first + CHUNK)
        sums = np.cumsum(theta[category[chunk]].T * phi[:, corpus.words[chunk]], axis=0)
        topics[chunk] = (sums < rng.random(sums.shape[1]) * sums[-1]).sum(axis=0)
    return np.minimum(topics, n_topics - 1)


def twin(corpus: Corpus, hyperparameters: Hyperparameters, first: CollapsedState) -> BlockedState:
    """The blocked sampler in the state of an Algorithm 1 that has not swept yet."""
    state = chain.start(corpus, hyperparameters, first.seed, first.chain, "blocked")
    assert isinstance(state, BlockedState)
    n_slots = first.identity.size
    bags, counts = state.bags, state.counts
    state.placements.whole[:] = first.document_categories(corpus)[bags.document]
    counts.category_word[:] = arrays.count_words(corpus, bags, state.placements, state.identity.size)
    lengths = np.diff(bags.first_token)
    counts.log_seats[:] = 0
    np.add.at(counts.log_seats, state.placements.whole, state.sizes.log_seats[lengths])
    for name in ("category_tables", "category_topic"):
        getattr(counts, name)[:] = 0
        getattr(counts, name)[:n_slots] = getattr(first.counts, name)
    topics = np.argsort(-first.counts.word_topic, axis=1, kind="stable")
    counts.word_topics.topic[:] = topics
    counts.word_topics.tokens[:] = np.take_along_axis(first.counts.word_topic, topics, axis=1)
    counts.word_topics.size[:] = np.count_nonzero(first.counts.word_topic, axis=1)
    counts.topic_tokens[:] = first.counts.topic_tokens
    state.identity[:] = UNBORN
    state.identity[:n_slots] = first.identity
    state.n_born = first.n_born
    return state


def compile_kernels() -> None:
    """Compile both kernels, or load them from the cache."""
    kernels: tuple[Kernel, ...] = ("collapsed", "blocked")
    for kernel in kernels:
        ours.compile_kernels(kernel)
    machine.compile_kernels()
