"""D-LDA against the enumerated posterior of its generative model, and against LBPL-NTM with its categories fixed."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy.special import logsumexp

from baselines import method
from baselines.dlda import Dlda
from baselines.dlda_kernels import count_categories, sample_token_categories
from baselines.method import Given
from baselines.settings import DldaSettings
from sampler.answers.metrics import nmi
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.assignments import Assignments, recount
from sampler.lbpl_ntm.collapsed.state import CollapsedState
from sampler.lbpl_ntm.collapsed.state import log_joint as lbpl_log_joint
from sampler.lbpl_ntm.evidence import log_factorials, log_gamma_density, log_rising
from sampler.numerics.threads import Interrupted, Threads
from tests.baselines.groups_harness import blobs, dumps_of_an_interrupted_run, given
from tests.sampler import exact, harness

SETTINGS = DldaSettings(n_topics=2, alpha=0.7, zeta=0.6, beta=0.3)
N_CATEGORIES = 2
N_SWEEPS = 20_000  # about 100 microseconds each

TINY = {
    "one known": harness.corpus_of([[0, 1, 1], [2], [0, 2]], [UNLABELED, 0, UNLABELED], 3, 1),
    "none known, one empty": harness.corpus_of([[0, 1], [], [1, 1]], [UNLABELED] * 3, 2, 0),
    "two known": harness.corpus_of([[0], [0, 1, 1], [1], [0]], [0, UNLABELED, 1, UNLABELED], 2, 2),
}


def states_of(corpus: Corpus) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Categories and topics of all tokens, in every way that leaves labels alone."""
    labels = np.repeat(corpus.labels, corpus.lengths)
    choices = [range(N_CATEGORIES) if label == UNLABELED else (int(label),) for label in labels]
    topics = itertools.product(range(SETTINGS.n_topics), repeat=corpus.n_tokens)
    return list(itertools.product(itertools.product(*choices), topics))


def urns(corpus: Corpus, category: tuple[int, ...], topic: tuple[int, ...], settings: DldaSettings) -> float:
    """log p(categories, topics, words), one urn draw after another; categories of labeled documents are given."""
    seen: Counter[object] = Counter()
    total = 0.0

    def draw(urn: object, thing: int, prior: float, n_things: int) -> float:
        chance = (prior + seen[urn, thing]) / (n_things * prior + seen[urn])
        seen.update([(urn, thing), urn])
        return math.log(chance)

    for i, d in enumerate(exact.document_of(corpus)):
        if corpus.labels[d] == UNLABELED:
            total += draw(("document", d), category[i], settings.alpha, N_CATEGORIES)
        total += draw(("category", category[i]), topic[i], settings.zeta, settings.n_topics)
        total += draw(("topic", topic[i]), int(corpus.words[i]), settings.beta, corpus.n_words)
    return total


def posterior(corpus: Corpus, settings: DldaSettings) -> dict[exact.Configuration, float]:
    """The probability of every state. D-LDA has no tables: tokens of one category count as one table here."""
    every = states_of(corpus)
    chances = exact.normalized([urns(corpus, category, topic, settings) for category, topic in every])
    names = [exact.Configuration(category, category, topic) for category, topic in every]
    return dict(zip(names, chances.tolist(), strict=True))


def assignments_in(tried: Dlda, category: Array, topic: Array) -> Assignments:
    """The assignments with these categories and topics of all tokens."""
    return tried.assignments_of(category[tried.is_free], topic)


def log_joint_in(tried: Dlda, category: Array, topic: Array) -> float:
    """D-LDA's own log joint of some categories and topics of all tokens."""
    corpus = tried.given.corpus
    assignments = assignments_in(tried, category, topic)
    counts = recount(corpus, assignments, tried.settings.n_topics)
    return tried.log_joint(count_categories(corpus, assignments.category, tried.given.n_categories), counts)


def codes_of_a_run(corpus: Corpus, seed: int) -> Array:
    """The state after each sweep, as exact.code has it."""
    tried = Dlda(given(corpus, N_CATEGORIES, seed), SETTINGS)
    state = tried.start(0)
    place = 512 ** np.arange(corpus.n_tokens - 1, -1, -1, dtype=np.int64)
    codes = np.empty(N_SWEEPS, np.int64)
    for s in range(N_SWEEPS):
        state.n_sweeps += 1
        tried.sweep(state)
        assignments = tried.assignments_of(state.own["category"], state.own["topic"])
        codes[s] = place @ ((64 + 4) * assignments.category.astype(np.int64) + assignments.topic)
    return codes


def test_a_long_run_has_the_frequencies_of_the_enumerated_posterior() -> None:
    corpus = TINY["one known"]
    codes = codes_of_a_run(corpus, seed=5)
    harness.assert_matches(codes, posterior(corpus, SETTINGS))
    wrong = DldaSettings(n_topics=2, alpha=0.4, zeta=0.6, beta=0.3)
    worst, n_comparisons = harness.worst_t(codes, posterior(corpus, wrong))
    assert worst > 2 * harness.t_limit(n_comparisons)  # the comparison would see a wrong alpha


@pytest.mark.parametrize("name", TINY)
def test_the_objective_is_the_log_joint_of_urn_draws(name: str) -> None:
    corpus = TINY[name]
    tried = Dlda(given(corpus, N_CATEGORIES), SETTINGS)
    for category, topic in states_of(corpus)[::3]:
        expected = urns(corpus, category, topic, SETTINGS)
        assert log_joint_in(tried, np.array(category), np.array(topic)) == pytest.approx(expected, abs=1e-10)


def given_equal_weights(corpus: Corpus, state: CollapsedState, constants: Hyperparameters) -> float:
    """LBPL-NTM's log joint of a state given alpha, and given that G_0 has K atoms of weight 1 / K.

    The franchise of categories, in which these weights are integrated out, gives way to the weights themselves.
    """
    tables = state.counts.category_tables
    n_labeled = int(((corpus.labels != UNLABELED) & (corpus.lengths > 0)).sum())
    priors = log_gamma_density(state.alpha, constants.alpha_shape, constants.alpha_scale)
    priors += log_gamma_density(state.gamma, constants.gamma_shape, constants.gamma_scale)
    franchise = np.count_nonzero(tables) * math.log(state.gamma) + log_factorials(tables)
    franchise -= log_rising(state.gamma, np.array([tables.sum()]))
    weights = (int(tables.sum()) - n_labeled) * -math.log(N_CATEGORIES)
    return lbpl_log_joint(corpus, constants, state) - priors - franchise + weights


def seated(corpus: Corpus, category: tuple[int, ...], topic: tuple[int, ...]) -> list[exact.Configuration]:
    """Every seating at tables that these categories of tokens leave open; a labeled document sits at one table."""
    of_documents = [
        [(0,) * n] if label != UNLABELED else list(exact.partitions(n))
        for n, label in zip(corpus.lengths.tolist(), corpus.labels, strict=True)
    ]
    found = []
    for seating in itertools.product(*of_documents):
        table = tuple(itertools.chain.from_iterable(seating))
        served = set(zip(exact.document_of(corpus), table, category, strict=True))
        if len(served) == len({(d, t) for d, t, _ in served}):  # no table serves two categories
            found.append(exact.Configuration(table, category, topic))
    return found


@pytest.mark.parametrize("name", TINY)
def test_it_is_lbpl_ntm_with_k_equal_weights_of_categories_once_tables_are_summed_out(name: str) -> None:
    """Its alpha is LBPL-NTM's divided by K: G_d ~ DP(K a, uniform over K atoms) has weights ~ Dirichlet(a)."""
    corpus, dice = TINY[name], np.random.default_rng(0)
    constants = Hyperparameters(n_topics=2, zeta=SETTINGS.zeta, beta=SETTINGS.beta, n_start=1)
    state = chain.start(corpus, constants, seed=0, chain=0, kernel="collapsed")
    assert isinstance(state, CollapsedState)
    state.alpha, state.gamma = N_CATEGORIES * SETTINGS.alpha, 0.8
    tried = Dlda(given(corpus, N_CATEGORIES), SETTINGS)
    for category, topic in states_of(corpus)[:: 1 + len(states_of(corpus)) // 100]:
        logs = []
        for configuration in seated(corpus, category, topic):
            state.assignments = harness.assignments_of(corpus, configuration, N_CATEGORIES, dice)
            # The harness puts new categories into any slots, and the weights are equal: their names do not matter.
            state.counts = harness.recount(corpus, state.assignments, SETTINGS.n_topics)
            logs.append(given_equal_weights(corpus, state, constants))
        ours = log_joint_in(tried, np.array(category), np.array(topic))
        assert float(logsumexp(logs)) == pytest.approx(ours, abs=1e-9)


def test_with_all_documents_labeled_its_posterior_of_topics_is_that_of_lbpl_ntm() -> None:
    corpus = harness.corpus_of([[0, 1, 1], [2, 2], [0]], [0, 1, 0], 3, 2)
    constants = Hyperparameters(n_topics=2, zeta=SETTINGS.zeta, beta=SETTINGS.beta)
    state = chain.start(corpus, constants, seed=0, chain=0, kernel="collapsed")
    assert isinstance(state, CollapsedState)
    tried = Dlda(given(corpus, N_CATEGORIES), SETTINGS)
    of_tokens, away = np.repeat(corpus.labels, corpus.lengths), []
    for topic in itertools.product(range(2), repeat=corpus.n_tokens):
        state.assignments = state.assignments._replace(topic=np.array(topic, np.int32))
        state.counts = harness.recount(corpus, state.assignments, 2)
        away.append(lbpl_log_joint(corpus, constants, state) - log_joint_in(tried, of_tokens, np.array(topic)))
    assert np.ptp(away) < 1e-10


def test_with_all_documents_labeled_no_category_is_touched() -> None:
    corpus = harness.corpus_of([[0, 1, 1], [2, 2], [0]], [0, 1, 0], 3, 2)
    tried = Dlda(given(corpus, 2), SETTINGS)
    state = tried.start(0)
    topics = state.own["topic"].copy()
    for _ in range(20):
        method.advance(tried, state)
    assert state.category.tolist() == [0, 1, 0]
    assert state.own["category"].size == 0
    assert (state.own["topic"] != topics).any()


def test_new_categories_may_change_their_numbers() -> None:
    corpus, _ = blobs([6, 6, 6, 6], [2, 0, 0, 0])
    tried = Dlda(given(corpus, 4), SETTINGS)
    category, topic = np.random.default_rng(2).integers([[4], [2]], size=(2, corpus.n_tokens))
    category = np.where(tried.is_free, category, 0)
    expected = log_joint_in(tried, category, topic)
    for order in itertools.permutations([1, 2, 3]):
        renamed = np.array([0, *order])[category]
        assert log_joint_in(tried, renamed, topic) == pytest.approx(expected, abs=1e-9)
    assert log_joint_in(tried, np.array([1, 0, 2, 3])[category], topic) != pytest.approx(expected, abs=1e-3)


def test_counts_equal_a_recount_after_the_step_of_categories() -> None:
    corpus, _ = blobs([6, 6, 6], [2, 0, 0])
    tried = Dlda(given(corpus, 3), DldaSettings(n_topics=5))
    state = tried.start(0)
    assignments = tried.assignments_of(state.own["category"], state.own["topic"])
    counts, key = recount(corpus, assignments, 5), np.uint64(7)
    before = assignments.category.copy()
    sample_token_categories(corpus, assignments, counts, 1.0, 1.0, key, np.zeros(1, np.int64))
    assert (assignments.category != before).any()
    harness.assert_equal_arrays(counts._asdict(), harness.recount(corpus, assignments, 5)._asdict())


def test_a_document_is_in_the_category_of_most_of_its_tokens() -> None:
    corpus = harness.corpus_of([[0, 1], [0, 1, 1], [], [0]], [UNLABELED, UNLABELED, UNLABELED, 0], 2, 1)
    tried = Dlda(given(corpus, 3), SETTINGS)
    held = count_categories(corpus, np.array([2, 1, 2, 0, 2, 0], np.int32), 3)
    assert tried.category_of(held).tolist() == [1, 2, NO_CATEGORY, 0]  # a tie goes to the smaller index


def test_well_separated_categories_are_found() -> None:
    corpus, truth = blobs([30, 30, 30], [12, 0, 0], n_common=0)
    tried = Dlda(given(corpus, 3), DldaSettings(n_topics=6, alpha=0.1))
    state = tried.start(0)
    for _ in range(200):
        method.advance(tried, state)
    scored = (corpus.labels == UNLABELED) & (corpus.lengths > 0)
    assert nmi(truth[scored], state.category[scored]) > 0.9


def test_a_run_goes_on_from_its_bytes_as_if_it_had_never_stopped() -> None:
    corpus, _ = blobs([6, 6, 6], [2, 0, 0])
    whole, parts = dumps_of_an_interrupted_run(Dlda(given(corpus, 3), DldaSettings(n_topics=5)), corpus, 6)
    assert whole == parts


def test_it_gives_up_when_the_flag_is_raised_and_the_state_is_what_it_was() -> None:
    corpus, _ = blobs([6, 6, 6], [2, 0, 0])
    threads = Threads()
    tried = Dlda(Given(corpus, 3, 1, threads), DldaSettings(n_topics=5))
    state = tried.start(0)
    before = method.dump(state)
    threads.stop[0] = 1
    with pytest.raises(Interrupted):
        tried.sweep(state)
    assert method.dump(state) == before


@pytest.mark.parametrize("n_categories", [0, 1])
def test_fewer_categories_than_are_known_are_refused(n_categories: int) -> None:
    with pytest.raises(ValueError, match="is not at least 2"):
        Dlda(given(TINY["two known"], n_categories), SETTINGS)
