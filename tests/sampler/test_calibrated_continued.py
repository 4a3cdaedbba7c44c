"""Continued calibrated jobs: what is carried over, what appears among arrivals, and that no change is a dead end."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from sampler.answers.metrics import nmi
from sampler.archive import CheckpointError, pack, unpack
from sampler.calibrated import chain as calibrated_chain
from sampler.calibrated import steps
from sampler.calibrated.chain import CalibratedState
from sampler.calibrated.checkpoint import check_state, dump, load
from sampler.calibrated.conclusion import CalibratedConclusion, conclude_chains
from sampler.calibrated.continued import (
    N_CONTINUED_STEPS,
    Source,
    calibrates_anew,
    continue_chain,
    continued_atom_run,
    continued_step,
    read_steps,
    scores_now,
)
from sampler.calibrated.prepared import PreparedCorpus
from sampler.calibrated.steps import Arrays, Calibration
from sampler.carried import ABSENT, Carried
from sampler.corpus import UNLABELED, Array, Corpus
from sampler.numerics.ragged import entries_of
from sampler.numerics.threads import Threads
from tests.sampler import calibrated_harness
from tests.sampler.calibrated_harness import QUICK, SEED, easy, four_categories, hard, posed

N_CHAINS, N_SWEEPS = 2, 6


class Job(NamedTuple):
    """What a job leaves behind."""

    corpus: Corpus
    runs: list[Arrays]
    done: list[Arrays]
    calibration: Calibration
    checkpoints: list[bytes]


@cache
def job_of(make: Callable[[], Corpus]) -> Job:
    """A whole job over a corpus."""
    return whole_job(make())


def whole_job(corpus: Corpus, vectors: Array | None = None) -> Job:
    """A job over a corpus, by its words and vectors."""
    with Threads() as threads:
        runs, done, found = calibrated_harness.calibrate(corpus, threads, seed=SEED, vectors=vectors)
        states = [calibrated_chain.start(corpus, QUICK, found, SEED, c, threads) for c in range(N_CHAINS)]
        for state in states:
            calibrated_harness.swept(corpus, found, state, N_SWEEPS, threads)
    return Job(corpus, runs, done, found, [dump(state) for state in states])


class Continued(NamedTuple):
    """A job that goes on from another one, its chains before and after their sweeps."""

    job: Job
    first: list[bytes]
    states: list[CalibratedState]
    conclusion: CalibratedConclusion


def go_on(
    corpus: Corpus, before: Job, carried: Carried, threads: Threads, seed: int = SEED + 1, vectors: Array | None = None
) -> Continued:
    """Continue a job over a corpus, to its conclusion."""
    prepared, source = PreparedCorpus(corpus, QUICK, seed, vectors), Source(carried, SEED, before.runs, before.done)
    runs = [continued_atom_run(prepared, source, number, threads) for number in range(len(before.runs))]
    done: list[Arrays] = []
    for number in range(N_CONTINUED_STEPS):
        done.append(continued_step(prepared, runs, source, done, number, threads))
    found = read_steps(prepared, done)
    states = [
        continue_chain(corpus, QUICK, found, seed, chain, carried, data, threads)
        for chain, data in enumerate(before.checkpoints)
    ]
    first = [dump(state) for state in states]
    for state, data in zip(states, first, strict=True):
        check_state(corpus, found, state)
        assert state.n_sweeps == 0 and state.tally.n_draws == 0
        assert dump(load(corpus, found, data)) == data
    draws = [calibrated_harness.swept(corpus, found, state, N_SWEEPS, threads) for state in states]
    concluded = conclude_chains(corpus, QUICK, found, states, calibrated_chain.traces_of(draws), threads)
    job = Job(corpus, runs, done, found, [dump(state) for state in states])
    return Continued(job, first, states, concluded)


def all_of(corpus: Corpus) -> Carried:
    """What is carried if nothing has changed."""
    sizes = corpus.n_documents, corpus.n_words, corpus.n_known
    return Carried(corpus, *(np.arange(size, dtype=np.int32) for size in sizes))


def part_of(corpus: Corpus, documents: Array) -> Corpus:
    """Some of the documents, with all words and known categories."""
    offsets, tokens = entries_of(corpus.offsets, documents)
    return corpus._replace(words=corpus.words[tokens], offsets=offsets, labels=corpus.labels[documents])


def carried_from(corpus: Corpus, kept: Array) -> Carried:
    """What is carried if a corpus had these documents alone."""
    text_before = np.full(corpus.n_documents, ABSENT, np.int32)
    text_before[kept] = np.arange(kept.size)
    return all_of(part_of(corpus, kept))._replace(text_before=text_before)


def four() -> Corpus:
    """Two known and two new categories."""
    return four_categories().corpus


def test_where_nothing_has_changed_atoms_groups_and_settings_are_the_sources() -> None:
    before = job_of(hard)
    corpus = before.corpus
    with Threads() as threads:
        now = go_on(corpus, before, all_of(corpus), threads, seed=SEED)
        for run, old in zip(now.job.runs, before.runs, strict=True):
            for atoms, atoms_before in zip(run["atoms"], old["atoms"], strict=True):
                assert same_parts(atoms, atoms_before)
        found, source = now.job.calibration, before.calibration
        np.testing.assert_array_equal(found.new_powers, source.new_powers)
        for one, other in zip(found.scores, source.scores, strict=True):
            np.testing.assert_array_equal(one, other)
        for first, data in zip(now.first, before.checkpoints, strict=True):
            begun, stood = load(corpus, found, first), load(corpus, source, data)
            assert begun.groups.keys() == stood.groups.keys()
            side = np.intersect1d(found.new_side.documents, source.new_side.documents)
            assert side.size > 0.8 * source.new_side.documents.size
            for s in begun.groups:
                setting = found.settings[s].atoms
                assert same_parts(begun.atoms[setting].atom[side], stood.atoms[setting].atom[side])
                of_documents = [each.groups[s][each.atoms[setting].atom[side]] for each in (begun, stood)]
                assert same_parts(*of_documents)


def same_parts(one: Array, other: Array) -> bool:
    """Whether two partitions are the same."""
    pairs = np.unique(np.stack([one, other]).astype(np.int64), axis=1)
    return bool(pairs.shape[1] == np.unique(one).size == np.unique(other).size)


def test_documents_that_arrive_are_answered_and_a_new_category_appears_among_them() -> None:
    given = four_categories()
    is_late = given.truth == 3
    kept = np.flatnonzero(~is_late & (np.arange(is_late.size) % 5 > 0))
    with Threads() as threads:
        before = job_of_part(tuple(kept.tolist()))
        now = go_on(given.corpus, before, carried_from(given.corpus, kept), threads)
    is_free, category = given.corpus.labels == UNLABELED, now.conclusion.consensus.category
    assert now.conclusion.consensus.n_categories == 4
    assert nmi(given.truth[is_free], category[is_free]) > 0.9


@cache
def job_of_part(kept: tuple[int, ...]) -> Job:
    """A whole job over some documents of `four`."""
    return job_of(lambda: part_of(four(), np.array(kept)))


def test_a_new_category_that_has_got_a_name_leaves_the_new_side_with_all_its_documents() -> None:
    given, before = four_categories(), job_of(four)
    labels = given.corpus.labels.copy()
    labels[labels != UNLABELED] += 1  # the new name comes first in the order of names
    third = np.flatnonzero(given.truth == 2)
    labels[third[:16]] = 0
    corpus = given.corpus._replace(labels=labels, n_known=3)
    carried = all_of(given.corpus)._replace(known_now=np.array([1, 2], np.int32))
    with Threads() as threads:
        now = go_on(corpus, before, carried, threads)
    consensus = now.conclusion.consensus
    assert consensus.n_categories == 4
    assert (consensus.category[third] == 0).mean() > 0.9
    assert (consensus.category[given.truth == 3] == 3).mean() > 0.9
    assert not np.isin(third[:16], now.job.calibration.new_side.documents).any()


def test_a_continued_job_is_continued() -> None:
    given, kept = four_categories(), np.arange(0, 160, 2)
    with Threads() as threads:
        first = go_on(given.corpus, job_of_part(tuple(kept.tolist())), carried_from(given.corpus, kept), threads)
        second = go_on(given.corpus, first.job, all_of(given.corpus), threads, seed=SEED + 2)
    np.testing.assert_array_equal(
        second.job.calibration.scores.weight, job_of_part(tuple(kept.tolist())).calibration.scores.weight
    )
    source = Source(all_of(given.corpus), SEED, second.job.runs, second.job.done)
    assert not calibrates_anew(source, given.corpus), "160 texts are twice those by which settings were weighed"
    assert calibrates_anew(source, one_more()[1]), "161 are more"
    is_free = given.corpus.labels == UNLABELED
    assert nmi(given.truth[is_free], second.conclusion.consensus.category[is_free]) > 0.9


def all_bytes(found: Continued) -> tuple[bytes, ...]:
    """All results of a continued job as bytes."""
    arrays = [array for step in [*found.job.runs, *found.job.done] for array in step.values()]
    arrays += [*found.conclusion.consensus[1:], found.conclusion.stability]
    return (*(np.asarray(array).tobytes() for array in arrays), *found.first, *found.job.checkpoints)


def test_any_number_of_threads_gives_the_same_bytes_and_another_seed_others() -> None:
    corpus, kept = hard(), np.arange(0, 120, 2)
    before = job_of(hard_half)
    with Threads() as one, Threads(3) as three:
        expected = go_on(corpus, before, carried_from(corpus, kept), one)
        again = go_on(corpus, before, carried_from(corpus, kept), three)
        other = go_on(corpus, before, carried_from(corpus, kept), one, seed=SEED + 9)
    assert all_bytes(again) == all_bytes(expected)
    assert other.first[0] != expected.first[0]


def hard_half() -> Corpus:
    """Every second document of `hard`."""
    return part_of(hard(), np.arange(0, 120, 2))


def known_alone() -> Corpus:
    """Two known categories and no new one."""
    return easy([30, 30], [15, 15]).corpus


def relabeled(corpus: Corpus, labels: Array, n_known: int) -> Corpus:
    """The same words under other labels."""
    return corpus._replace(labels=labels.astype(np.int32), n_known=n_known)


def emptied() -> tuple[Job, Corpus, Carried]:
    """A third of the documents have lost their words, and empty ones stand between the others."""
    corpus = four()
    lengths = np.where(np.arange(160) % 3 == 0, 0, corpus.lengths)
    words = corpus.words[np.repeat(lengths > 0, corpus.lengths)]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return job_of(four), corpus._replace(words=words, offsets=offsets), all_of(corpus)


def filled() -> tuple[Job, Corpus, Carried]:
    """Documents that had no word have some."""
    return job_of(half_empty), four(), all_of(half_empty())


def half_empty() -> Corpus:
    """Documents of which a third has no word."""
    return emptied()[1]


def indices(*numbers: int) -> Array:
    """int32[n]."""
    return np.array(numbers, np.int32)


def without_words() -> Array:
    """The index of words in a corpus that has none of those of `four`."""
    return np.full(four().n_words, ABSENT, np.int32)


def one_more() -> tuple[Job, Corpus, Carried]:
    """A document without a word arrives."""
    corpus = four()
    offsets, labels = np.append(corpus.offsets, corpus.n_tokens), np.append(corpus.labels, indices(UNLABELED))
    text_before = np.append(indices(*range(160)), indices(ABSENT))
    return (
        job_of(four),
        corpus._replace(offsets=offsets, labels=labels),
        all_of(corpus)._replace(text_before=text_before),
    )


def nothing_left() -> tuple[Job, Corpus, Carried]:
    """No text has a word any more."""
    carried = Carried(four(), indices(0, 1), without_words(), indices(0, ABSENT))
    return job_of(four), posed([[], []], [UNLABELED, 0], 1), carried


CHANGES: dict[str, Callable[[], tuple[Job, Corpus, Carried]]] = {
    "all documents are gone": lambda: (
        job_of(four), four(), all_of(four())._replace(text_before=np.full(160, ABSENT, np.int32))
    ),
    "all words are gone": lambda: (job_of(four), four(), all_of(four())._replace(word_now=without_words())),
    "no label is left": lambda: (
        job_of(four), relabeled(four(), np.full(160, UNLABELED), 0),
        all_of(four())._replace(known_now=indices(ABSENT, ABSENT)),
    ),
    "everything is labeled": lambda: (job_of(four), relabeled(four(), four_categories().truth, 4), all_of(four())),
    "one known category is left": lambda: (
        job_of(four), relabeled(four(), np.where(four().labels == 1, 0, UNLABELED), 1),
        all_of(four())._replace(known_now=indices(ABSENT, 0)),
    ),
    "there was no new side": lambda: (job_of(known_alone), four(), carried_by_hand(known_alone(), four())),
    "there is no new side any more": lambda: (job_of(four), known_alone(), carried_by_hand(four(), known_alone())),
    "documents have lost their words": emptied,
    "empty documents have got words": filled,
    "nothing but an empty document arrives": one_more,
    "no text has a word": nothing_left,
}  # fmt: skip


def carried_by_hand(source: Corpus, corpus: Corpus) -> Carried:
    """The first documents are those of the source, as if they had been corrected since."""
    text_before = np.full(corpus.n_documents, ABSENT, np.int32)
    n_both = min(20, source.n_documents)
    text_before[:n_both] = np.arange(n_both)
    word_now = np.where(np.arange(source.n_words) < corpus.n_words, np.arange(source.n_words), ABSENT)
    return Carried(source, text_before, word_now.astype(np.int32), np.arange(2, dtype=np.int32))


@pytest.mark.parametrize("change", CHANGES)
def test_no_change_is_a_dead_end(change: str) -> None:
    before, corpus, carried = CHANGES[change]()
    with Threads() as threads:
        now = go_on(corpus, before, carried, threads)
    consensus = now.conclusion.consensus
    assert ((consensus.category >= 0) == ((corpus.lengths > 0) | (corpus.labels != UNLABELED))).all()
    labeled = corpus.labels != UNLABELED
    np.testing.assert_array_equal(consensus.category[labeled], corpus.labels[labeled])


def test_the_numbers_of_categories_that_came_back_are_in_proportion_to_those_known_now() -> None:
    scores = job_of(four).calibration.scores
    scores = scores._replace(found=np.full_like(scores.found, 2), parts=np.full_like(scores.parts, 1))
    more = scores_now(scores, 2, 6)
    assert (more.found == 6).all() and (more.parts == 3).all()
    assert (scores_now(scores, 2, 1).found == 1).all() and (scores_now(scores, 0, 5).found == 5).all()


def test_settings_that_nothing_could_weigh_are_weighed_once_there_are_two_known_categories() -> None:
    given = four_categories()
    unlabeled = relabeled(given.corpus, np.full(160, UNLABELED), 0)
    before = job_of(no_label)
    with Threads() as threads:
        prepared = PreparedCorpus(given.corpus, QUICK, SEED)
        carried = all_of(unlabeled)
        source = Source(carried, SEED, before.runs, before.done)
        assert calibrates_anew(source, given.corpus) and not calibrates_anew(source, unlabeled)
        runs = [continued_atom_run(prepared, source, number, threads) for number in range(len(before.runs))]
        done = steps.all_steps(prepared, runs, threads)
        found = read_steps(prepared, done)
        assert found.scores.given_back.max() > 0.5 > before.calibration.scores.given_back.max()
        state = continue_chain(given.corpus, QUICK, found, SEED, 0, carried, before.checkpoints[0], threads)
        check_state(given.corpus, found, state)
        calibrated_harness.swept(given.corpus, found, state, 2, threads)


def no_label() -> Corpus:
    """The same documents with no label at all."""
    return relabeled(four(), np.full(160, UNLABELED), 0)


def test_a_checkpoint_of_another_corpus_or_without_its_atoms_is_refused() -> None:
    before, corpus = job_of(four), four()
    facts, arrays = unpack(before.checkpoints[0])
    del arrays["atom_0"]
    other = all_of(relabeled(corpus, np.full(160, UNLABELED), 2))
    with Threads() as threads:
        for carried, data in ((other, before.checkpoints[0]), (all_of(corpus), pack(facts, arrays))):
            with pytest.raises(CheckpointError):
                continue_chain(corpus, QUICK, before.calibration, SEED, 0, carried, data, threads)
