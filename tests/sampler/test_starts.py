"""What starts of a calibration say, recounted from their groups one document and one setting at a time."""

from collections import defaultdict

import numpy as np

from sampler.answers.pooling import SHARES, answers_of, pool_answers, read_answers
from sampler.answers.tally import Tally
from sampler.calibrated.chain import numbers_of_groups, traces_of
from sampler.calibrated.conclusion import conclude_chains
from sampler.calibrated.granularity import SAME
from sampler.calibrated.starts import tallies_of_starts
from sampler.calibrated.steps import Calibration
from sampler.corpus import UNLABELED, Array
from sampler.numerics.threads import Threads
from tests.sampler.calibrated_harness import QUICK, answer, found_in, hard
from tests.sampler.test_pooling import corpus_of, tally_of

ROUNDED = 40.0 / SHARES  # each setting's share is rounded


def shares_by_documents(found: Calibration, groups: Array) -> dict[tuple[int, frozenset[int]], float]:
    """Of each document, the weight of the settings under which it is in a group of exactly these documents."""
    shares: dict[tuple[int, frozenset[int]], float] = defaultdict(float)
    documents = found.new_side.documents
    for weight, group_of in zip(found.scores.weight[found.kept], groups, strict=True):
        for place, document in enumerate(documents):
            members = frozenset(documents[group_of == group_of[place]].tolist())
            shares[int(document), members] += weight * (1.0 - float(found.learned.known[document]))
    return shares


def test_a_start_says_known_as_likely_as_learned_and_new_as_settings_weigh() -> None:
    found = found_in(hard())
    assert found.kept.size > 1 and len(found.groups_of_starts) == 2
    for groups, tally in zip(found.groups_of_starts, tallies_of_starts(found), strict=True):
        shares = shares_by_documents(found, groups)
        for document in found.new_side.documents.tolist():
            told = {int(i): h / SHARES for i, h in zip(*entries(tally, document), strict=True)}
            known, category = float(found.learned.known[document]), int(found.learned.category[document])
            assert abs(told.pop(category, 0.0) - known) < ROUNDED
            assert abs(sum(told.values()) - (1.0 - known)) < ROUNDED
            largest = max(share for (d, _), share in shares.items() if d == document)
            assert max(told.values()) > largest - ROUNDED  # equal groups have one name, alike ones may share it
        assert set(tally.document.tolist()) <= set(found.new_side.documents.tolist())


def entries(tally: Tally, document: int) -> tuple[Array, Array]:
    """Identities and hits of a document."""
    own = tally.document == document
    return tally.identity[own], tally.hits[own]


def test_groups_alike_to_one_seen_before_have_its_number_and_no_two_the_same() -> None:
    rng, members = np.random.default_rng(7), list[Array]()
    truth = np.repeat(np.arange(5), 12)
    for _ in range(20):
        group_of = np.where(rng.random(60) < 0.15, rng.integers(0, 5, 60), rng.permutation(5)[truth])
        before = [set(each.tolist()) for each in members]
        number = numbers_of_groups(group_of, 5, members)
        assert np.unique(number).size == 5
        for group, own in enumerate(number):
            held = set(np.flatnonzero(group_of == group).tolist())
            if own < len(before):
                assert len(held & before[own]) / len(held | before[own]) >= SAME
            else:
                assert set(members[own].tolist()) == held
    assert len(members) < 20


def test_two_starts_settle_what_chains_leave_open_and_change_neither_agreement_nor_stability() -> None:
    """Two chains have eight documents in one category, two in two; both starts have them in two."""
    corpus = corpus_of([UNLABELED] * 12, n_known=1)
    whole, halves = [[5] * 8 + [0] * 4], [[7] * 4 + [3] * 4 + [0] * 4]
    with Threads() as threads:
        chains = read_answers(corpus, [tally_of(corpus, draws) for draws in (whole, halves, whole, halves)], threads)
        starts = [answers_of(corpus, tally_of(corpus, halves))] * 2
        alone, both = pool_answers(corpus, chains, threads), pool_answers(corpus, chains, threads, starts)
    assert alone.consensus.n_categories == 2 and both.consensus.n_categories == 3
    np.testing.assert_array_equal(both.agreement, alone.agreement)
    np.testing.assert_allclose(both.stability[:8], (1 + 1 + 0.5 + 0.5) / 4)


def test_of_a_document_that_starts_say_nothing_of_the_chains_have_the_whole_say() -> None:
    corpus = corpus_of([UNLABELED] * 8, n_known=1)
    draws = [[1] * 4 + [2] * 3 + [0], [1] * 4 + [2] * 4]
    tally = tally_of(corpus, draws)
    said = tally.document != 7
    silent = tally._replace(**{name: getattr(tally, name)[said] for name in ("document", "identity", "hits")})
    with Threads() as threads:
        chains = read_answers(corpus, [tally], threads)
        pooled = pool_answers(corpus, chains, threads, [answers_of(corpus, silent)] * 2)
    np.testing.assert_allclose(pooled.consensus.probability, [1.0] * 7 + [0.5], atol=ROUNDED)


def test_the_starts_of_a_job_have_a_say_in_its_answer() -> None:
    corpus = hard()
    with Threads() as threads:
        given = answer(corpus, threads)
        traces = traces_of(given.draws)
        without = given.calibration._replace(groups_of_starts=())
        alone = conclude_chains(corpus, QUICK, without, given.states, traces, threads)
    assert given.conclusion.agreement.tobytes() == alone.agreement.tobytes()
    assert given.conclusion.consensus.probability.tobytes() != alone.consensus.probability.tobytes()
