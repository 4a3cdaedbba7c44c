"""Constrained 1-spectral clustering: its graph, its recursion, and corpora with known answers."""

import numpy as np
import pytest

from baselines import method
from baselines.balanced_cut import evaluate
from baselines.cosc import Cosc
from baselines.method import Given, MethodState
from baselines.rows import unit_rows
from baselines.settings import COSC_LIMITS, CoscSettings, cosc_bytes
from baselines.similarity_graph import components, graph_of, second_eigenvector, triangle_of, vertices_of
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.numerics.threads import Interrupted, Threads
from tests.baselines.grouped import N_COMMON, grouped, is_same_partition


def given(corpus: Corpus, n_categories: int, threads: Threads | None = None) -> Given:
    return Given(corpus, n_categories, 5, threads or Threads())


def settled(cosc: Cosc, chain: int = 0) -> MethodState:
    state = cosc.start(chain)
    for _ in range(5000):
        method.advance(cosc, state)
        if state.is_settled:
            return state
    raise AssertionError("the run did not settle")


def cosines(corpus: Corpus) -> Array:
    """Of all pairs of documents, without the diagonal."""
    rows = unit_rows(corpus).toarray()
    full = rows @ rows.T
    np.fill_diagonal(full, 0.0)
    return np.asarray(full)


def merging(corpus: Corpus) -> Array:
    """float64[n, D]: which documents each vertex holds; known categories first, then unlabeled documents."""
    known = np.unique(corpus.labels[corpus.labels != UNLABELED])
    unlabeled = (corpus.labels == UNLABELED) & (corpus.lengths > 0)
    return np.vstack([corpus.labels == known[:, None], np.eye(corpus.n_documents)[unlabeled]])


def test_merged_vertices_have_the_edges_and_volumes_of_their_documents() -> None:
    corpus, _ = grouped([6, 7, 5], 2, 3)
    vertices, full, held = vertices_of(corpus), cosines(corpus), merging(corpus)
    merged = held @ full @ held.T
    triangle = triangle_of(vertices.rows, Threads())
    np.testing.assert_allclose(triangle, merged[np.triu_indices(vertices.n, 1)], atol=1e-6)
    np.testing.assert_allclose(vertices.volume, merged.sum(axis=1), atol=1e-9)
    np.testing.assert_allclose(vertices.inside, merged.diagonal(), atol=1e-9)
    assert (vertices.known.tolist(), vertices.document.size) == ([0, 1], 12)


def test_a_part_has_the_volume_that_it_has_by_itself() -> None:
    corpus, _ = grouped([6, 7, 5], 2, 3)
    vertices, held = vertices_of(corpus), merging(corpus)
    members = np.array([1, 3, 4, 9])
    graph = graph_of(vertices, triangle_of(vertices.rows, Threads()), members)
    merged = held[members] @ cosines(corpus) @ held[members].T
    np.testing.assert_allclose(graph.volume, merged.sum(axis=1), atol=1e-5)
    assert graph.rivals.tolist() == [0]


@pytest.mark.parametrize("sizes", [[8, 9], [30, 31]])  # below and above FEW
def test_the_second_eigenvector_is_that_of_the_normalized_laplacian(sizes: list[int]) -> None:
    corpus, _ = grouped(sizes, 0, 0)
    vertices, full = vertices_of(corpus), cosines(corpus)[:-1, :-1]
    degree = full.sum(axis=1)
    root = np.sqrt(degree)
    laplacian = np.eye(root.size) - full / root / root[:, None]
    expected = np.linalg.eigh(laplacian)[1][:, 1] / root
    found = second_eigenvector(vertices.rows, degree, np.random.default_rng(0).normal(size=root.size))
    expected, found = expected / np.linalg.norm(expected), found / np.linalg.norm(found)
    assert abs(expected @ found) == pytest.approx(1.0, abs=1e-4)


def test_documents_that_share_no_word_are_in_different_components() -> None:
    corpus, group = grouped([4, 5, 6], 0, 0)
    vertices = vertices_of(without_common_words(corpus))
    assert is_same_partition(components(vertices.rows), group)


def without_common_words(corpus: Corpus) -> Corpus:
    """The corpus without the words that all groups share."""
    is_own = corpus.words < corpus.n_words - N_COMMON
    offsets = np.concatenate([[0], np.cumsum(is_own)])[corpus.offsets]
    return corpus._replace(words=corpus.words[is_own], offsets=offsets.astype(np.int64))


def test_groups_that_share_no_word_are_parts_whose_cut_costs_nothing() -> None:
    corpus, group = grouped([6, 9, 7, 8], 2, 3)
    state = settled(Cosc(given(without_common_words(corpus), 4), CoscSettings()))
    assert is_same_partition(state.category[:-1], group)
    assert state.objective == pytest.approx(4.0)


def test_an_unlabeled_group_becomes_a_new_category() -> None:
    corpus, group = grouped([14, 12, 15], 2, 5)
    cosc = Cosc(given(corpus, 3), CoscSettings())
    state = settled(cosc)
    np.testing.assert_array_equal(state.category[:-1], group)
    assert state.own["n_broken"].tolist() == [0]


def test_without_labels_it_separates_three_groups_and_the_largest_comes_first() -> None:
    corpus, group = grouped([11, 15, 13], 0, 0)
    state = settled(Cosc(given(corpus, 3), CoscSettings()))
    np.testing.assert_array_equal(state.category[:-1], np.array([2, 0, 1])[group])


@pytest.mark.parametrize("seed", range(3))
def test_two_categories_meet_all_constraints_though_their_words_are_the_same(seed: int) -> None:
    corpus, _ = grouped([20, 18], 1, 0, seed)  # two groups, and labels that run across them
    labels = corpus.labels.copy()
    labels[[0, 1, 20]], labels[[2, 3, 4]] = 0, 1
    cosc = Cosc(given(corpus._replace(labels=labels, n_known=2), 2), CoscSettings())
    state = settled(cosc)
    assert state.own["n_broken"].tolist() == [0]
    assert state.own["n_parts"][0] == 2


def test_a_cut_is_never_worse_than_spectral_bisection() -> None:
    for seed in range(3):
        corpus, _ = grouped([9, 10, 8], 0, 0, seed)
        cosc = Cosc(given(corpus, 2), CoscSettings())
        graph = graph_of(cosc.vertices, cosc.triangle, np.arange(cosc.vertices.n))
        eigenvector = second_eigenvector(cosc.vertices.rows, graph.degree, np.ones(graph.degree.size))
        bisection = evaluate(graph, eigenvector, 0.0, Threads()).value
        assert 2.0 - settled(cosc).objective <= bisection + 1e-6  # with two parts cut / volume sums to F


def test_the_objective_is_the_share_of_the_volume_that_is_within_parts() -> None:
    corpus, _ = grouped([9, 10, 8, 7], 2, 4)
    cosc = Cosc(given(corpus, 4), CoscSettings())
    state, full = settled(cosc), cosines(corpus)
    in_part = np.array([merging(corpus)[state.own["part"] == p].sum(axis=0) for p in range(4)])
    expected = [within @ full @ within / (within @ full.sum(axis=1)) for within in in_part]
    assert state.objective == pytest.approx(sum(expected), rel=1e-6)


def test_of_several_recursions_the_best_one_answers() -> None:
    corpus, _ = grouped([7, 9], 0, 0)
    cosc = Cosc(given(corpus, 2), CoscSettings(n_repeats=3))
    state = cosc.start(0)
    for n_moved, cost, objective, n_answered in ((3, 0.2, 1.6, 3), (4, 0.9, 1.6, 3), (5, 0.1, 1.8, 5)):
        assert not state.is_settled
        assert state.own["part"].max() == 0
        state.own["n_parts"][0] = 2
        state.own["part"][:n_moved] = 1
        state.own["cost"][:] = cost
        method.advance(cosc, state)
        assert state.objective == pytest.approx(objective)
        assert (state.category[:-1] == 1).sum() == n_answered  # the smaller part comes second
    assert state.is_settled


def test_labeled_documents_keep_their_label_and_those_without_a_word_have_no_category() -> None:
    corpus, _ = grouped([10, 10, 10], 2, 4)
    labels = corpus.labels.copy()
    labels[0], labels[10] = 1, 0  # which their words speak against
    cosc = Cosc(given(corpus._replace(labels=labels), 3), CoscSettings())
    for state in (cosc.start(0), settled(cosc)):
        np.testing.assert_array_equal(state.category[labels != UNLABELED], labels[labels != UNLABELED])
        assert state.category[-1] == NO_CATEGORY
        assert (state.category[:-1] != NO_CATEGORY).all()


@pytest.mark.parametrize("split", [0, 1])
def test_the_cheapest_split_is_kept_unless_there_are_links_to_mend(split: int) -> None:
    corpus, _ = grouped([10, 12], 2, 3)
    cosc = Cosc(given(corpus, 6), CoscSettings())
    state, n = cosc.start(0), cosc.vertices.n
    own = state.own
    own["part"][n // 2 :], own["n_parts"][0] = 1, 2
    own["part"][1] = split  # the second known category shares the part of the first, or does not
    own["is_split"][:2] = True
    own["side"][1 if split == 0 else 2], own["side"][-3:] = True, True  # what splits would move
    own["side_cost"][:2] = [[0.9, 0.8], [0.5, 0.4]]
    sizes = np.bincount(own["part"])
    moved = [1, 3][split]
    sizes[split] -= moved
    cosc.sweep(state)
    assert np.bincount(own["part"]).tolist() == [*sizes.tolist(), moved]
    assert own["cost"][[split, 2]].tolist() == [[0.9, 0.8], [0.5, 0.4]][split]
    assert own["n_broken"].tolist() == [0]
    assert own["is_split"][:3].tolist() == [split == 1, split == 0, False]


@pytest.mark.parametrize(("n_categories", "expected"), [(2, 0), (3, 2), (10, 4)])
def test_a_split_may_break_the_links_that_later_ones_may_mend(n_categories: int, expected: int) -> None:
    corpus, _ = grouped([6, 6, 6, 6], 4, 2)
    cosc = Cosc(given(corpus._replace(n_known=2), n_categories), CoscSettings())
    members = np.arange(cosc.vertices.n)
    graph = graph_of(cosc.vertices, cosc.triangle, members)
    assert graph.n_links == 6
    assert cosc.allowed(graph, members) == expected
    assert cosc.allowed(graph, members[: members.size // 10]) == 0


def test_one_category_is_not_split() -> None:
    corpus, _ = grouped([5, 5], 1, 2)
    state = settled(Cosc(given(corpus, 1), CoscSettings()))
    assert (state.n_sweeps, set(state.category[:-1].tolist())) == (1, {0})


def test_a_part_that_holds_two_known_categories_is_of_the_nearer_one() -> None:
    corpus, _ = grouped([10, 12], 2, 3)
    cosc = Cosc(given(corpus, 2), CoscSettings())
    documents = cosc.vertices.document
    of_second = np.zeros(cosc.vertices.n, np.int32)
    of_second[2:][documents < 10] = 1  # a part of the first group's documents, and one of all else
    category = cosc.categories(of_second, 2)
    np.testing.assert_array_equal(category, np.where(documents < 10, 2, 1))


def test_a_run_goes_on_from_its_bytes_as_if_it_had_never_stopped() -> None:
    corpus, _ = grouped([8, 9, 10, 7], 2, 3)
    settings = CoscSettings(n_repeats=2, n_iterations=5, most_iterations=10)
    cosc, threads = Cosc(given(corpus, 4), settings), Threads(3)
    with threads:
        whole, parts = cosc.start(1), Cosc(given(corpus, 4, threads), settings).start(1)
        while not whole.is_settled:
            method.advance(cosc, whole)
            parts = method.load(corpus, method.dump(parts))
            method.advance(Cosc(given(corpus, 4, threads), settings), parts)
            assert method.dump(whole) == method.dump(parts)
    assert whole.own["repeat"][0] == 2


@pytest.mark.parametrize("n", [0, 1, 2])
def test_a_corpus_with_fewer_documents_than_categories_settles(n: int) -> None:
    corpus = Corpus(np.zeros(n, np.int32), np.arange(n + 1), np.full(n, UNLABELED, np.int32), 1, 0)
    state = settled(Cosc(given(corpus, 3), CoscSettings()))
    assert (state.category == NO_CATEGORY).all()  # a word that all documents have has no weight


def test_documents_of_one_text_can_be_cut_too_and_one_that_shares_no_word_is_somewhere() -> None:
    corpus = Corpus(np.array([0, 0, 0, 1], np.int32), np.arange(5), np.full(4, UNLABELED, np.int32), 2, 0)
    state = settled(Cosc(given(corpus, 3), CoscSettings()))
    assert sorted(state.category[:3].tolist()) == [0, 1, 2]
    assert state.category[3] in (0, 1, 2)


def test_memory_covers_the_graph_and_what_is_computed_on_it() -> None:
    corpus, _ = grouped([20, 20], 0, 0)
    triangle = triangle_of(vertices_of(corpus).rows, Threads())
    assert cosc_bytes(40) >= 4 * triangle.nbytes
    assert cosc_bytes(9000) == pytest.approx(8 * 9000**2, rel=0.1)


def test_fewer_categories_than_known_ones_are_refused() -> None:
    corpus, _ = grouped([5, 5], 2, 2)
    with pytest.raises(ValueError, match="n_categories = 1 is below 2"):
        Cosc(given(corpus, 1), CoscSettings())


@pytest.mark.parametrize("name", list(COSC_LIMITS))
def test_a_setting_outside_its_limits_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} = .* is not within"):
        CoscSettings(**{name: COSC_LIMITS[name][1] + 1})  # type: ignore[arg-type]


def test_a_raised_flag_ends_a_sweep() -> None:
    corpus, _ = grouped([8, 8], 1, 3)
    threads = Threads()
    cosc = Cosc(given(corpus, 2, threads), CoscSettings())
    state = cosc.start(0)
    threads.stop[0] = 1
    with pytest.raises(Interrupted):
        method.advance(cosc, state)
