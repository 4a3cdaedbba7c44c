"""The calibrated model with vectors beside words: what they add, and that they cost nothing where they say nothing."""

from functools import cache

import numpy as np
import pytest

from sampler.answers.metrics import nmi
from sampler.calibrated import atoms, steps
from sampler.calibrated import chain as calibrated_chain
from sampler.calibrated.checkpoint import dump, load
from sampler.calibrated.continued import Source, calibrates_anew
from sampler.calibrated.known_or_new import MARGIN, is_surely_less
from sampler.corpus import UNLABELED, Array, Corpus
from sampler.numerics.threads import Threads
from tests.sampler.calibrated_harness import QUICK, SEED, Posed, answer, calibrate, easy
from tests.sampler.test_calibrated_continued import carried_from, go_on, part_of, whole_job

N_AXES = 8


@cache
def vague() -> Posed:
    """Two known categories and two new ones, whose documents share most of their words."""
    return easy([60, 60, 60, 60], [25, 25, 0, 0], length=10, overlap=0.8)


def telling(truth: Array, spread: float = 0.25) -> Array:
    """float32[D, p]: vectors, 1 long, around a direction of their category's own."""
    rng = np.random.default_rng(4)
    vectors = np.eye(N_AXES)[truth] + spread * rng.standard_normal((truth.size, N_AXES))
    unit: Array = vectors / np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    return unit.astype(np.float32)


def silent(n_documents: int) -> Array:
    """float32[D, p]: vectors at random."""
    return telling(np.random.default_rng(5).integers(0, N_AXES, n_documents))


def quality(given: Posed, vectors: Array | None, threads: Threads) -> float:
    """NMI of the answer on the unlabeled documents."""
    category = answer(given.corpus, threads, vectors=vectors).conclusion.consensus.category
    is_free = given.corpus.labels == UNLABELED
    return nmi(given.truth[is_free], category[is_free])


def test_vectors_tell_apart_what_words_do_not() -> None:
    given = vague()
    with Threads() as threads:
        found = answer(given.corpus, threads, vectors=telling(given.truth))
        by_words = quality(given, None, threads)
    consensus, is_free = found.conclusion.consensus, given.corpus.labels == UNLABELED
    assert consensus.n_categories == 4
    assert nmi(given.truth[is_free], consensus.category[is_free]) > 0.9 > by_words + 0.2
    assert (found.calibration.learned.scales > 0).all()
    assert any(found.calibration.settings[s].has_vectors for s in found.calibration.kept)


def test_vectors_at_random_are_left_out_of_regressions_and_harm_nothing() -> None:
    given = easy([60, 60, 60, 60], [25, 25, 0, 0], overlap=0.3)
    with Threads() as threads:
        learned = calibrate(given.corpus, threads, vectors=silent(240))[2].learned
        assert learned.scales.tolist() == [0.0, 0.0]
        assert quality(given, silent(240), threads) > quality(given, None, threads) - 0.02


def test_a_longer_scale_has_to_be_better_by_more_than_chance() -> None:
    """Of 400 documents whose losses differ by noise of 1, the mean has an error of 1 / 20."""
    noise = np.random.default_rng(6).standard_normal(400)
    noise = (noise - noise.mean()) / noise.std()
    losses = np.full(400, 2.0)
    assert is_surely_less(losses, losses + noise + 1.05 * MARGIN / 20)
    assert not is_surely_less(losses, losses + noise + 0.95 * MARGIN / 20)
    assert not is_surely_less(losses, losses)


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_documents_without_a_vector_are_answered_by_their_words(share: float) -> None:
    given = easy([60, 60, 60, 60], [25, 25, 0, 0], overlap=0.2)
    vectors = telling(given.truth)
    vectors[np.random.default_rng(7).random(240) < share] = 0.0
    with Threads() as threads:
        assert quality(given, vectors, threads) > 0.9


def all_bytes(corpus: Corpus, vectors: Array, threads: Threads) -> tuple[bytes, ...]:
    """All results of a corpus with vectors."""
    runs, done, _ = calibrate(corpus, threads, seed=SEED, vectors=vectors)
    found = answer(corpus, threads, seed=SEED, vectors=vectors)
    arrays = [array for step in [*runs, *done] for array in step.values()]
    arrays += [*found.conclusion.consensus, found.conclusion.stability]
    return (*(np.asarray(array).tobytes() for array in arrays), *(dump(state) for state in found.states))


def test_any_number_of_threads_and_any_pieces_give_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    given = vague()
    vectors = telling(given.truth, 0.6)
    vectors[::7] = 0.0
    with Threads() as alone:
        expected = all_bytes(given.corpus, vectors, alone)
    monkeypatch.setattr(atoms, "PIECE", 7)
    for n_threads in (1, 2, 5):
        with Threads(n_threads) as threads:
            assert all_bytes(given.corpus, vectors, threads) == expected


def test_a_chain_goes_on_from_its_checkpoint_and_its_digest_knows_the_vectors() -> None:
    given = vague()
    corpus, vectors = given.corpus, telling(given.truth, 0.6)
    with Threads() as threads:
        found = calibrate(corpus, threads, seed=SEED, vectors=vectors)[2]
        state = calibrated_chain.start(corpus, QUICK, found, SEED, 0, threads)
        assert any(setting.has_vectors for setting in state.atoms)
        digests = {state.digest}
        for _ in range(3):
            calibrated_chain.sweep(corpus, found, state, threads)
        again = load(corpus, found, dump(state), threads)
        assert dump(again) == dump(state)
        for _ in range(3):
            assert calibrated_chain.sweep(corpus, found, state) == calibrated_chain.sweep(corpus, found, again)
        assert dump(again) == dump(state)
        for other in (None, silent(240)):
            calibrated = calibrate(corpus, threads, seed=SEED, vectors=other)[2]
            digests.add(calibrated_chain.start(corpus, QUICK, calibrated, SEED, 0, threads).digest)
    assert len(digests) == 3


def test_a_job_with_vectors_is_continued() -> None:
    given = vague()
    corpus, vectors = given.corpus, telling(given.truth)
    kept = np.sort(np.random.default_rng(8).permutation(240)[:180])
    before = whole_job(part_of(corpus, kept), vectors[kept])
    with Threads() as threads:
        found = go_on(corpus, before, carried_from(corpus, kept), threads, vectors=vectors)
    arrived = np.setdiff1d(np.arange(240), kept)
    category = found.conclusion.consensus.category
    assert nmi(given.truth[arrived], category[arrived]) > 0.9
    assert steps.used_vectors(found.job.done)


def test_settings_are_weighed_anew_if_only_one_of_two_jobs_has_vectors() -> None:
    given = vague()
    everyone = np.arange(240)
    vectors = telling(given.truth)
    with_vectors, without = whole_job(given.corpus, vectors), whole_job(given.corpus)
    for before, has in ((with_vectors, True), (without, False)):
        source = Source(carried_from(given.corpus, everyone), SEED, before.runs, before.done)
        assert calibrates_anew(source, given.corpus, not has) and not calibrates_anew(source, given.corpus, has)
