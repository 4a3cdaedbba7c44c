"""The calibrated sampler from end to end: what it finds, that it is the same by any road, and corpora at the limits."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.stats

from sampler.answers.metrics import nmi
from sampler.calibrated import atoms, steps
from sampler.calibrated import chain as calibrated_chain
from sampler.calibrated.atom_groups import AtomRows, log_target, regroup
from sampler.calibrated.bags import word_prior
from sampler.calibrated.chain import start
from sampler.calibrated.checkpoint import dump, load
from sampler.calibrated.granularity import Scores
from sampler.calibrated.prepared import PreparedCorpus
from sampler.calibrated.settings import Setting
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.hyperparameters import CALIBRATED_LIMITS
from sampler.numerics.streams import Step, chosen, stream
from sampler.numerics.threads import Threads
from tests.sampler.calibrated_harness import (
    QUICK,
    SEED,
    answer,
    calibrate,
    easy,
    found_in,
    four_categories,
    hard,
    posed,
    swept,
)

FALSE_ALARM = 1e-4  # of one comparison, were the seed not fixed


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


def test_chains_and_seeds_differ_and_the_same_ones_do_not() -> None:
    corpus = hard()
    found = found_in(corpus)
    digests = []
    with Threads() as threads:
        for seed, number in ((1, 0), (1, 0), (1, 1), (2, 0)):
            state = start(corpus, QUICK, found, seed, number, threads)
            before = state.digest
            swept(corpus, found, state, 2, threads)
            assert state.digest != before
            digests.append(state.digest)
    assert digests[0] == digests[1] and len(set(digests)) == 3


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


def test_known_documents_and_settings_are_drawn_by_their_chances() -> None:
    """Binomial and multinomial counts over the draws of a chain: one chi-square each."""
    corpus, n_sweeps = hard(), 600
    found = found_in(corpus)
    known_hits, settings = np.zeros(corpus.n_documents), []
    with Threads() as threads:
        state = start(corpus, QUICK, found, SEED, 0, threads)
        for _ in range(n_sweeps):
            settings.append(calibrated_chain.sweep(corpus, found, state).setting)
            known_hits += calibrated_chain.document_slots(corpus, found, state) == found.learned.category
    chance = found.learned.known.astype(float)
    mixed = (corpus.labels == UNLABELED) & (chance > 0.05) & (chance < 0.95)
    hoped, chance = (n_sweeps * chance)[mixed], chance[mixed]
    statistic = ((known_hits[mixed] - hoped) ** 2 / (hoped * (1 - chance))).sum()
    assert mixed.sum() > 10 and scipy.stats.chi2.sf(statistic, mixed.sum()) > FALSE_ALARM
    sure = (corpus.labels == UNLABELED) & (found.learned.known == 0.0)
    np.testing.assert_array_equal(known_hits[sure], 0)
    weight = found.scores.weight
    visits = np.bincount(settings, minlength=weight.size)
    kept = weight * n_sweeps > 5
    assert kept.sum() > 1 and visits[weight == 0].sum() == 0
    expected = weight[kept] / weight[kept].sum() * visits[kept].sum()
    assert scipy.stats.chisquare(visits[kept], expected).pvalue > FALSE_ALARM


def prior_of(rows: AtomRows, setting: Setting) -> Array:
    """float64[V]: beta_w of a setting."""
    return word_prior(rows.word_totals, setting.smoothing, setting.has_background)


def test_a_draw_tells_the_groups_that_its_state_has() -> None:
    corpus = hard()
    found = found_in(corpus)
    with Threads() as threads:
        state = start(corpus, QUICK, found, SEED, 0, threads)
        for sweep in range(1, 6):
            [draw] = swept(corpus, found, state, 1, threads)
            groups, setting = state.groups[draw.setting], found.settings[draw.setting]
            rows = state.atoms[setting.atoms].rows
            assert draw.sweep == sweep == state.n_sweeps
            n_groups = np.unique(groups).size
            assert 0 <= draw.n_new_with_documents <= n_groups and draw.n_new >= 0
            assert draw.n_categories == corpus.n_known + draw.n_new_with_documents
            assert draw.log_joint == log_target(rows, groups, prior_of(rows, setting), setting.power)
            assert state.identity.size == corpus.n_known + n_groups
            answers = calibrated_chain.document_slots(corpus, found, state)
            assert answers.max() < state.identity.size
            np.testing.assert_array_equal(answers == NO_CATEGORY, corpus.labels != UNLABELED)


def test_a_sweep_takes_the_groups_of_its_setting_one_gibbs_sweep_further_and_leaves_the_others() -> None:
    corpus, n_changes = hard(), 0
    found = found_in(corpus)
    with Threads() as threads:
        state = start(corpus, QUICK, found, SEED, 0, threads)
        for sweep in range(1, 31):
            expected = dict(state.groups)
            [draw] = swept(corpus, found, state, 1, threads)
            setting, key = found.settings[draw.setting], stream(SEED, 0, sweep, Step.GROUPS)
            rows, before = state.atoms[setting.atoms].rows, expected[draw.setting]
            expected[draw.setting] = regroup(rows, before, prior_of(rows, setting), [setting.power], 1, key)[0]
            assert state.groups.keys() == expected.keys()
            for s, groups in state.groups.items():
                np.testing.assert_array_equal(groups, expected[s])
            n_changes += not np.array_equal(expected[draw.setting], before)
    assert n_changes > 0


def test_new_categories_keep_their_identity_for_as_long_as_they_keep_their_documents() -> None:
    given = four_categories()
    found = found_in(given.corpus)
    seen: list[set[int]] = [set(), set()]
    with Threads() as threads:
        state = start(given.corpus, QUICK, found, SEED, 0, threads)
        for _ in range(10):
            swept(given.corpus, found, state, 1, threads)
            answers = calibrated_chain.document_slots(given.corpus, found, state)
            for k in (2, 3):
                own = state.identity[answers[(given.truth == k) & (answers >= 2)]]
                values, counts = np.unique(own, return_counts=True)
                seen[k - 2].add(int(values[counts.argmax()]))
            assert np.unique(state.identity).size == state.identity.size
    assert len(seen[0]) == len(seen[1]) == 1 and seen[0] != seen[1]
    assert state.n_born == 2 + len(state.members)


def random_documents(n_documents: int) -> list[list[int]]:
    """Documents of 8 words out of 12, of no category whatever."""
    rng = np.random.default_rng(102)
    return [rng.integers(0, 12, 8).tolist() for _ in range(n_documents)]


def labels_of(n_documents: int, told: dict[int, int]) -> list[int]:
    """The labels of all documents: UNLABELED but for those that are told."""
    return [told.get(d, UNLABELED) for d in range(n_documents)]


LIMITS: dict[str, Callable[[], Corpus]] = {
    "no labeled document": lambda: posed(random_documents(30), labels_of(30, {}), 0),
    "known categories without a labeled document": lambda: posed(random_documents(30), labels_of(30, {0: 1}), 4),
    "known categories, none labeled": lambda: posed(random_documents(30), labels_of(30, {}), 2),
    "one known category": lambda: posed(random_documents(30), labels_of(30, {0: 0, 1: 0, 2: 0}), 1),
    "no new documents": lambda: easy([30, 30], [12, 12]).corpus,
    "one document": lambda: posed([[0, 1, 0]], [UNLABELED], 0),
    "one labeled document": lambda: posed([[0, 1, 0]], [0], 1),
    "two documents": lambda: posed([[0, 1], [1]], [0, UNLABELED], 1),
    "three documents": lambda: posed([[0, 1], [1], [2]], [0, UNLABELED, UNLABELED], 1),
    "three unlabeled documents": lambda: posed([[0, 1], [1], [2]], [UNLABELED] * 3, 0),
    "documents without words": lambda: posed(
        [document if d % 3 else [] for d, document in enumerate(random_documents(30))],
        labels_of(30, {0: 0, 1: 0, 2: 1, 3: 1}),
        2,
    ),
    "labels on documents without words alone": lambda: posed(
        [[], [], [0, 1], [1, 2], [0, 3]], labels_of(5, {0: 0, 1: 1}), 2
    ),
    "no word at all": lambda: posed([[]] * 4, [UNLABELED] * 4, 0),
    "no word at all, but labels": lambda: posed([[]] * 4, labels_of(4, {0: 0, 1: 1}), 2),
    "every document the same": lambda: posed([[0, 1, 2]] * 20, labels_of(20, {0: 0, 1: 0, 2: 1}), 2),
    "one word only": lambda: posed([[0] * (1 + d % 4) for d in range(20)], labels_of(20, {0: 0, 1: 1}), 2),
    "no document like another": lambda: posed([[d, d + 20] for d in range(20)], labels_of(20, {0: 0, 1: 1}), 2),
    "all documents labeled": lambda: posed(random_documents(20), [d % 2 for d in range(20)], 2),
    "all documents with words labeled": lambda: posed([*random_documents(20), []], [*[0, 1] * 10, UNLABELED], 2),
    "30 known categories of one labeled document each": lambda: easy([4] * 30, [1] * 30).corpus,
}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_corpus_at_a_limit_has_an_answer_without_an_error_or_a_warning(limit: str) -> None:
    corpus = LIMITS[limit]()
    with warnings.catch_warnings(), Threads() as threads:
        warnings.simplefilter("error")
        found = answer(corpus, threads, n_sweeps=3)
        for state in found.states:
            assert dump(load(corpus, found.calibration, dump(state))) == dump(state)
    consensus, is_free = found.conclusion.consensus, corpus.labels == UNLABELED
    has_answer = ~is_free | (corpus.lengths > 0)
    np.testing.assert_array_equal(consensus.category == NO_CATEGORY, ~has_answer)
    np.testing.assert_array_equal(consensus.category[~is_free], corpus.labels[~is_free])
    assert consensus.category.max() < consensus.n_categories >= corpus.n_known
    new = consensus.category[is_free & (consensus.category >= corpus.n_known)]
    assert np.unique(new).size == consensus.n_categories - corpus.n_known
    assert (np.diff(np.bincount(new - corpus.n_known)) <= 0).all()  # by falling number of documents
    probability = consensus.probability[has_answer]
    assert ((probability >= 0.0) & (probability <= 1.0 + 1e-6)).all()
    assert np.isnan(consensus.probability[~has_answer]).all()
    assert np.isfinite(found.conclusion.agreement).all() and np.isfinite(found.conclusion.temperature)


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


def test_a_smaller_sample_is_a_part_of_a_larger_one() -> None:
    """And both are drawn by their address alone, evenly: of each half of 4,000 documents as many, five errors apart."""
    documents = np.arange(0, 8_000, 2)
    small, large = (chosen(documents, size, SEED, Step.SAMPLE) for size in (500, 1_000))
    assert small.size == 500 and large.size == 1_000 and np.isin(small, large).all() and np.isin(large, documents).all()
    assert (np.diff(large) > 0).all()
    assert (large < 4_000).sum() == pytest.approx(500, abs=5 * np.sqrt(1_000 / 4))
    np.testing.assert_array_equal(chosen(documents, 4_000, SEED, Step.SAMPLE), documents)
    assert chosen(documents, 0, SEED, Step.SAMPLE).size == 0 == chosen(documents, -3, SEED, Step.SAMPLE).size
    assert (chosen(documents, 500, SEED + 1, Step.SAMPLE) != small).any()


@pytest.mark.parametrize("name", CALIBRATED_LIMITS)
def test_constants_beyond_their_limits_are_refused(name: str) -> None:
    low, high = CALIBRATED_LIMITS[name]
    allowed, refused = ([{name: value} for value in values] for values in ((low, high), (low - 1, high + 1)))
    for constants in allowed:
        replace(QUICK, **constants)  # type: ignore[arg-type]
    for constants in refused:
        with pytest.raises(ValueError, match=name):
            replace(QUICK, **constants)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "values"), [("smoothings", ()), ("smoothings", (0.4, 0.0)), ("powers", ()), ("powers", (1.0, 11.0))]
)
def test_a_grid_that_is_empty_or_beyond_its_limits_is_refused(name: str, values: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match=name):
        replace(QUICK, **{name: values})  # type: ignore[arg-type]


def test_the_verdict_speaks_of_categories_that_the_answer_has() -> None:
    with Threads() as threads:
        found = answer(four_categories().corpus, threads)
    for reason in found.conclusion.verdict.reasons:
        if reason.startswith("Categories"):
            numbers = [int(part) for part in reason.split(": ")[1].rstrip(".").split(", ")]
            assert max(numbers) < found.conclusion.consensus.n_categories
    np.testing.assert_array_equal(np.diag(found.conclusion.agreement), 1.0)


def rates(found: int, parts: int) -> Scores:
    """Scores of one setting and one start that gave so many of the known categories back, and so many parts."""
    nothing = np.zeros(1)
    return Scores(nothing, nothing, nothing, np.ones(1), np.array([[found]]), np.array([[parts]]), np.ones((1, 1)))


def test_the_true_number_takes_parts_and_categories_that_are_missed_into_account() -> None:
    """Nine of ten known categories found, and one part besides; eight groups are shown.

    Real ones: 8 E[p], p ~ Beta(10, 1.25), = 7.11. Missed beside r real ones: r E[1 / q - 1], q ~ Beta(10, 1.25), and
    E[1 / q] = (10.25 / 9). One draw's variance is below 25, so the mean of 4,000 has a standard error below .08.
    """
    numbers = []
    for sweep in range(4_000):
        state: Any = SimpleNamespace(seed=5, chain=0, n_sweeps=sweep, setting=0)
        numbers.append(calibrated_chain.true_number(8, 10, rates(9, 1), state))
    real = 8 * 10 / 11.25
    assert np.var(numbers) < 25
    assert np.mean(numbers) == pytest.approx(real + real * (10.25 / 9 - 1), abs=4 * 0.08)


def test_no_new_category_is_added_where_none_is_shown() -> None:
    state: Any = SimpleNamespace(seed=5, chain=0, n_sweeps=1, setting=0)
    assert calibrated_chain.true_number(0, 10, rates(2, 5), state) == 0
