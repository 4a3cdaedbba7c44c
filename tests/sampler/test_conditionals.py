"""Every conditional of Algorithm 1 against ratios of the enumerated joint."""

import math

import numpy as np
import pytest

from sampler.answers.tally import no_tally
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm.assignments import Assignments
from sampler.lbpl_ntm.collapsed import kernels
from sampler.lbpl_ntm.collapsed.document_tables import occupied_tables
from sampler.lbpl_ntm.collapsed.state import CollapsedState
from sampler.lbpl_ntm.concentrations import Concentrations
from tests.sampler import exact, harness

CONSTANTS = [exact.Constants(2, 0.6, 0.3), exact.Constants(3, 1.0, 0.01)]
ALPHA, GAMMA = 0.7, 0.35
N_STATES = 15


def states(tiny: str, constants: exact.Constants, seed: int) -> list[tuple[exact.Configuration, Assignments]]:
    """Configurations at random with a state for each, category slots to spare."""
    corpus, every = harness.TINY[tiny], harness.every_configuration(tiny, constants.n_topics)
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(every), N_STATES, replace=False)
    n_slots = corpus.n_known + corpus.n_tokens + 2
    drawn = [harness.assignments_of(corpus, every[j], n_slots, rng) for j in chosen]
    return [(harness.configuration_of(assignments), assignments) for assignments in drawn]


def replaced(values: tuple, places: list[int], value: object) -> tuple:
    """A tuple with one value at all of these places."""
    return tuple(value if i in places else old for i, old in enumerate(values))


def unlabeled_tokens(corpus: Corpus) -> list[int]:
    return [i for i, d in enumerate(exact.document_of(corpus)) if corpus.labels[d] == UNLABELED]


def unlabeled_tables(corpus: Corpus, assignments: Assignments) -> list[tuple[int, int]]:
    """Pairs of a document and a slot."""
    documents = exact.document_of(corpus)
    return sorted({(documents[i], int(assignments.table[i])) for i in unlabeled_tokens(corpus)})


def given_of(constants: exact.Constants) -> Concentrations:
    """All concentrations as kernels take them."""
    return Concentrations(ALPHA, GAMMA, constants.zeta, constants.beta)


def table_weights(corpus: Corpus, assignments: Assignments, i: int, constants: exact.Constants) -> Array:
    """What the kernel weighs for token i, which is taken away by recounting without it."""
    counts = harness.recount(corpus, assignments, constants.n_topics, without=[i])
    category = np.where(counts.table_tokens > 0, assignments.category, NO_CATEGORY).astype(np.int32)
    left = assignments._replace(category=category)
    tables = np.empty(corpus.n_tokens + 1, np.int64)
    n_tables = occupied_tables(corpus, counts, exact.document_of(corpus)[i], tables)
    weights = np.full(tables.size + assignments.identity.size + 1, np.nan)
    scale = 1.0 / (constants.n_topics * constants.zeta + counts.category_tokens)
    at = kernels.TableScratch(tables, weights, scale)
    new_table = ALPHA / (counts.category_tables.sum() + GAMMA)
    topic = assignments.topic[i]
    size = kernels.table_weights(left, counts, n_tables, topic, new_table, given_of(constants), at)
    assert size == n_tables + assignments.identity.size + 1
    return weights[:size]


def category_log_weights(
    corpus: Corpus, assignments: Assignments, d: int, slot: int, constants: exact.Constants, is_exact: bool
) -> Array:
    """What the kernel weighs for the table in a slot of document d, which is taken away by recounting."""
    tokens = np.flatnonzero(assignments.table == slot).tolist()
    counts = harness.recount(corpus, assignments, constants.n_topics, without=tokens)
    topics, ranks = np.empty(corpus.n_tokens, np.int64), np.empty(corpus.n_tokens, np.int64)
    seen = np.zeros(constants.n_topics, np.int64)
    n = kernels.gather_table(corpus, assignments, d, slot, topics, ranks, seen)
    assert not seen.any() and topics[:n].tolist() == assignments.topic[tokens].tolist()
    if not is_exact:
        ranks[:n] = 0
    log_weights = np.full(assignments.identity.size + 1, np.nan)
    kernels.category_log_weights(counts, given_of(constants), is_exact, topics, ranks, n, log_weights)
    return log_weights


def topic_weights(corpus: Corpus, assignments: Assignments, i: int, constants: exact.Constants) -> Array:
    """What the kernel weighs for token i, which is taken away by recounting without it."""
    counts = harness.recount(corpus, assignments, constants.n_topics, without=[i])
    category = assignments.category[assignments.table[i]]
    scale = 1.0 / (corpus.n_words * constants.beta + counts.topic_tokens)
    weights = np.full(constants.n_topics, np.nan)
    kernels.topic_weights(
        counts.category_topic[category],
        counts.word_topic[corpus.words[i]],
        constants.zeta,
        constants.beta,
        scale,
        weights,
    )
    return weights


@pytest.mark.parametrize("name", harness.TINY)
@pytest.mark.parametrize("constants", CONSTANTS)
def test_a_tokens_table_has_the_conditional_of_the_enumerated_joint(name: str, constants: exact.Constants) -> None:
    corpus = harness.TINY[name]
    documents = exact.document_of(corpus)
    for c, assignments in states(name, constants, seed=1):
        n_slots = assignments.identity.size
        for i in unlabeled_tokens(corpus):
            others = [j for j in range(corpus.n_tokens) if j != i]
            tables = sorted({c.table[j] for j in others if documents[j] == documents[i]})
            served = {c.table[j]: c.category[j] for j in others}
            in_use = {c.category[j] for j in others}
            fresh = next(k for k in range(corpus.n_known, n_slots) if k not in in_use)
            choices = [(table, served[table]) for table in tables]
            choices += [("new", k if k in in_use else None) for k in range(n_slots)] + [("new", fresh)]
            log_weights = [
                -math.inf
                if k is None
                else exact.log_joint(
                    corpus,
                    exact.Configuration(replaced(c.table, [i], table), replaced(c.category, [i], k), c.topic),
                    ALPHA,
                    GAMMA,
                    constants,
                )
                for table, k in choices
            ]
            weights = table_weights(corpus, assignments, i, constants)
            np.testing.assert_allclose(weights / weights.sum(), exact.normalized(log_weights), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", harness.TINY)
@pytest.mark.parametrize("constants", CONSTANTS)
def test_a_tables_category_has_the_conditional_of_the_enumerated_joint(name: str, constants: exact.Constants) -> None:
    corpus = harness.TINY[name]
    for c, assignments in states(name, constants, seed=2):
        n_slots = assignments.identity.size
        for d, slot in unlabeled_tables(corpus, assignments):
            tokens = [i for i in range(corpus.n_tokens) if c.table[i] == slot]
            in_use = {c.category[j] for j in range(corpus.n_tokens) if j not in tokens}
            fresh = next(k for k in range(corpus.n_known, n_slots) if k not in in_use)
            log_weights = [
                -math.inf
                if k is None
                else exact.log_joint(
                    corpus, c._replace(category=replaced(c.category, tokens, k)), ALPHA, GAMMA, constants
                )
                for k in [k if k in in_use else None for k in range(n_slots)] + [fresh]
            ]
            weights = category_log_weights(corpus, assignments, d, slot, constants, is_exact=True)
            np.testing.assert_allclose(
                exact.normalized(weights.tolist()), exact.normalized(log_weights), rtol=0, atol=1e-10
            )


@pytest.mark.parametrize("name", harness.TINY)
@pytest.mark.parametrize("constants", CONSTANTS)
def test_as_printed_a_tables_category_has_the_weights_of_equation_6(name: str, constants: exact.Constants) -> None:
    """Equation (6) word by word with (4) and (5): m_k, or gamma, times the product of single predictives."""
    corpus = harness.TINY[name]
    n_topics, zeta, _ = constants
    documents = exact.document_of(corpus)
    for c, assignments in states(name, constants, seed=3):
        for d, slot in unlabeled_tables(corpus, assignments):
            topics = [c.topic[i] for i in range(corpus.n_tokens) if c.table[i] == slot]
            rest = [i for i in range(corpus.n_tokens) if c.table[i] != slot]
            expected = []
            for k in range(assignments.identity.size):
                m = len({(documents[i], c.table[i]) for i in rest if c.category[i] == k})
                weight = float(m)
                for topic in topics:
                    hits = sum(c.category[i] == k and c.topic[i] == topic for i in rest)
                    weight *= (zeta + hits) / sum(
                        zeta + sum(c.category[i] == k and c.topic[i] == other for i in rest)
                        for other in range(n_topics)
                    )
                expected.append(weight)
            expected.append(GAMMA * math.prod(zeta / (n_topics * zeta) for _ in topics))
            weights = np.exp(category_log_weights(corpus, assignments, d, slot, constants, is_exact=False))
            np.testing.assert_allclose(weights, expected, rtol=1e-10)


@pytest.mark.parametrize("name", harness.TINY)
@pytest.mark.parametrize("constants", CONSTANTS)
def test_a_tokens_topic_has_the_conditional_of_the_enumerated_joint(name: str, constants: exact.Constants) -> None:
    corpus = harness.TINY[name]
    for c, assignments in states(name, constants, seed=4):
        for i in range(corpus.n_tokens):
            log_weights = [
                exact.log_joint(corpus, c._replace(topic=replaced(c.topic, [i], topic)), ALPHA, GAMMA, constants)
                for topic in range(constants.n_topics)
            ]
            weights = topic_weights(corpus, assignments, i, constants)
            np.testing.assert_allclose(weights / weights.sum(), exact.normalized(log_weights), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", harness.TINY)
@pytest.mark.parametrize("constants", CONSTANTS)
def test_the_log_joint_is_that_of_the_enumeration_up_to_one_constant(name: str, constants: exact.Constants) -> None:
    corpus = harness.TINY[name]
    hyperparameters = Hyperparameters(
        n_topics=constants.n_topics,
        zeta=constants.zeta,
        beta=constants.beta,
        alpha_shape=2,
        alpha_scale=0.5,
        gamma_shape=1.5,
        gamma_scale=0.3,
    )
    rng = np.random.default_rng(6)
    differences = []
    for c, assignments in states(name, constants, seed=5):
        alpha, gamma = rng.gamma(2, 0.5), rng.gamma(1.5, 0.3)
        state = CollapsedState(
            fingerprint="",
            n_topics=constants.n_topics,
            seed=1,
            chain=0,
            n_sweeps=0,
            n_born=9,
            alpha=alpha,
            gamma=gamma,
            assignments=assignments,
            counts=harness.recount(corpus, assignments, constants.n_topics),
            tally=no_tally(),
            digest="",
        )
        density = exact.scipy.stats.gamma.logpdf([alpha, gamma], [2, 1.5], scale=[0.5, 0.3]).sum()
        expected = exact.log_joint(corpus, c, alpha, gamma, constants) + density
        differences.append(state.log_joint(corpus, hyperparameters) - expected)
    assert np.ptp(differences) < 1e-10


@pytest.mark.parametrize("name", harness.TINY)
@pytest.mark.parametrize("constants", CONSTANTS)
def test_permuting_documents_permutes_every_conditional(name: str, constants: exact.Constants) -> None:
    corpus = harness.TINY[name]
    order = np.random.default_rng(7).permutation(corpus.n_documents).tolist()
    if order == sorted(order):
        order.reverse()
    shuffled, origin = harness.permuted(corpus, order)
    new_place = {old: new for new, old in enumerate(origin)}  # of a token, and of a slot, which lies beside its token
    for _, assignments in states(name, constants, seed=8):
        moved = Assignments(
            table=np.array([new_place[int(assignments.table[i])] for i in origin], np.int32),
            category=assignments.category[origin],
            topic=assignments.topic[origin],
            identity=assignments.identity,
        )
        for i in unlabeled_tokens(corpus):
            np.testing.assert_array_equal(
                table_weights(corpus, assignments, i, constants),
                table_weights(shuffled, moved, new_place[i], constants),
            )
        for i in range(corpus.n_tokens):
            np.testing.assert_array_equal(
                topic_weights(corpus, assignments, i, constants),
                topic_weights(shuffled, moved, new_place[i], constants),
            )
        for d, slot in unlabeled_tables(corpus, assignments):
            for is_exact in (True, False):
                np.testing.assert_array_equal(
                    category_log_weights(corpus, assignments, d, slot, constants, is_exact),
                    category_log_weights(shuffled, moved, order.index(d), new_place[slot], constants, is_exact),
                )
