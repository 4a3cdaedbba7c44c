"""The calibrated sampler from end to end: what it finds, and that it is the same by any road."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sampler.answers.metrics import nmi
from sampler.calibrated import atoms, steps
from sampler.calibrated.checkpoint import dump
from sampler.calibrated.prepared import PreparedCorpus
from sampler.corpus import UNLABELED, Corpus
from sampler.numerics.threads import Threads
from tests.sampler.calibrated_harness import QUICK, SEED, answer, calibrate, easy, four_categories


@pytest.mark.parametrize("seed", range(3))
def test_two_known_and_two_new_categories_of_an_easy_corpus_are_found(seed: int) -> None:
    given = four_categories()
    with Threads() as threads:
        found = answer(given.corpus, threads, seed=seed)
    consensus, is_free = found.conclusion.consensus, given.corpus.labels == UNLABELED
    assert consensus.n_categories == 4
    assert nmi(given.truth[is_free], consensus.category[is_free]) > 0.95
    is_known = is_free & (given.truth < 2)
    assert (consensus.category[is_known] == given.truth[is_known]).mean() > 0.95
    assert np.isin(consensus.category[given.truth >= 2], [2, 3]).mean() > 0.95
    np.testing.assert_array_equal(consensus.category[~is_free], given.corpus.labels[~is_free])
    assert np.median(found.conclusion.stability[is_free]) > 0.8
    assert all(draw.n_categories >= 4 for draws in found.draws for draw in draws)


def test_two_new_categories_are_found_without_a_label() -> None:
    given = easy([40, 40], [0, 0])
    with Threads() as threads:
        found = answer(given.corpus, threads)
    assert nmi(given.truth, found.conclusion.consensus.category) > 0.9
    assert np.isnan(found.calibration.learned.rate)


def everything(corpus: Corpus, threads: Threads) -> tuple[bytes, ...]:
    """All results of a corpus as bytes."""
    runs, done, _ = calibrate(corpus, threads, seed=SEED)
    found = answer(corpus, threads, seed=SEED)
    arrays: list[Any] = [array for step in [*runs, *done] for array in step.values()]
    arrays += [*found.conclusion.consensus, found.conclusion.stability, found.conclusion.category_stability]
    arrays += [*found.conclusion.audit, found.conclusion.agreement, found.conclusion.temperature]
    arrays += [found.calibration.scores.score, found.calibration.scores.weight]
    facts = [found.conclusion.verdict, found.calibration.learned.rate, found.draws]
    return (
        *(np.asarray(array).tobytes() for array in arrays),
        *(dump(state) for state in found.states),
        repr(facts).encode(),
    )


def test_any_number_of_threads_and_any_pieces_give_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = easy([40, 40, 40, 40], [16, 16, 0, 0], overlap=0.4).corpus
    with Threads() as alone:
        expected = everything(corpus, alone)
    monkeypatch.setattr(atoms, "PIECE", 7)
    for n_threads in (1, 2, 5):
        with Threads(n_threads) as threads:
            assert everything(corpus, threads) == expected


def test_atoms_do_not_change_when_labels_do() -> None:
    given = four_categories()
    relabeled = given.corpus._replace(labels=np.roll(given.corpus.labels, 50), n_known=2)
    fewer = given.corpus._replace(labels=np.full_like(given.corpus.labels, UNLABELED), n_known=0)
    other = easy([40, 40, 40, 40], [16, 16, 0, 0], overlap=0.15, seed=2).corpus
    with Threads() as threads:
        for number in range(steps.n_atom_runs(QUICK)):
            found = [
                steps.atom_run(PreparedCorpus(corpus, QUICK, SEED), number, threads)["atoms"].tobytes()
                for corpus in (given.corpus, relabeled, fewer, other)
            ]
            assert found[0] == found[1] == found[2] != found[3]
    digests = [steps.words_digest(corpus) for corpus in (given.corpus, relabeled, fewer, other)]
    assert digests[0] == digests[1] == digests[2] != digests[3]


def test_without_new_documents_all_are_of_the_known_categories() -> None:
    given = easy([30, 30], [12, 12])
    with Threads() as threads:
        found = answer(given.corpus, threads)
    np.testing.assert_array_equal(found.conclusion.consensus.category, given.truth)


def test_thirty_known_categories_with_one_labeled_document_each_are_told_apart() -> None:
    """A word of 20 is in a document of 15 with probability .54: any two of a category have some in common."""
    given = easy([4] * 30, [1] * 30)
    with Threads() as threads:
        found = answer(given.corpus, threads)
    is_free = given.corpus.labels == UNLABELED
    assert nmi(given.truth[is_free], found.conclusion.consensus.category[is_free]) > 0.8


def test_the_audit_lists_wrong_labels_first_and_changes_none() -> None:
    given = four_categories()
    labels = given.corpus.labels.copy()
    labels[[3, 50]] = [1, 0]
    corpus = given.corpus._replace(labels=labels)
    with Threads() as threads:
        conclusion = answer(corpus, threads).conclusion
    audit = conclusion.audit
    assert set(audit.document[:2].tolist()) == {3, 50} and audit.document.size <= 4
    for d, suggested in zip(audit.document[:2], audit.suggested[:2], strict=True):
        assert suggested == given.truth[d]
    assert (np.diff(audit.probability) >= 0).all() and (audit.probability < 0.5).all()
    assert (audit.suggested_probability >= audit.probability).all()
    assert (labels[audit.document] != UNLABELED).all()
    np.testing.assert_array_equal(conclusion.consensus.category[labels != UNLABELED], labels[labels != UNLABELED])
    np.testing.assert_array_equal(conclusion.consensus.probability[labels != UNLABELED], 1.0)


def test_hardly_a_right_label_of_an_easy_corpus_is_listed() -> None:
    """None of 32 in most corpora: in one of many a known category is parted, and a label of it may be doubted."""
    sizes = []
    for seed in range(8):
        with Threads() as threads:
            audit = answer(easy([40, 40, 40], [16, 16, 0], seed=seed).corpus, threads).conclusion.audit
        sizes.append(audit.document.size)
    assert np.median(sizes) == 0 and max(sizes) <= 3


def test_a_sample_stands_for_the_corpus() -> None:
    """Atoms are sought in 1,000 of 1,200 documents, and the others have the atoms that are likeliest for them."""
    given = easy([300, 300, 300, 300], [100, 100, 0, 0], length=8)
    with Threads() as threads:
        found = answer(given.corpus, threads, replace(QUICK, sample_size=1_000), n_sweeps=3)
    is_free = given.corpus.labels == UNLABELED
    assert found.conclusion.consensus.n_categories == 4
    assert nmi(given.truth[is_free], found.conclusion.consensus.category[is_free]) > 0.95
    assert found.calibration.new_side.documents.size <= 1_000


def test_the_verdict_speaks_of_categories_that_the_answer_has() -> None:
    with Threads() as threads:
        found = answer(four_categories().corpus, threads)
    listed = [category for reason in found.conclusion.verdict.reasons for category in reason.categories]
    assert max(listed, default=0) < found.conclusion.consensus.n_categories
    np.testing.assert_array_equal(np.diag(found.conclusion.agreement), 1.0)
