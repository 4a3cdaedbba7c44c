"""Frozen models of jobs with vectors: they see new vectors as the job saw its own, and files hold them."""

import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from sampler.copies import texts_from
from sampler.corpus import Array
from sampler.frozen.answering import answer, place_of
from sampler.frozen.freeze import Judged, freeze
from sampler.frozen.model import FORMAT, MAGIC, WITH_VECTORS, FrozenModel, ModelError, dump, load
from sampler.numerics.threads import Threads
from sampler.vectors import Axes, axes_of, no_moments, projected, with_vectors
from tests.sampler import calibrated_harness
from tests.sampler.calibrated_harness import QUICK, easy
from tests.sampler.test_calibrated_vectors import telling, vague
from tests.sampler.test_frozen import bag, forged

UNKNOWN_MARK = 10**6
FACTS = {"categories": [1, 2, 3, 4], "vector_length": 8}


def raw(truth: Array) -> Array:
    """float64[D, n]: vectors as documents bring them, of any length."""
    vectors: Array = telling(truth) * np.linspace(0.5, 3.0, truth.size)[:, None]
    return vectors


@cache
def made(n_threads: int = 1) -> tuple[FrozenModel, Axes]:
    """The model of a job whose words say little, and the axes of its vectors."""
    given = vague()
    vectors = raw(given.truth)
    axes = axes_of(with_vectors(no_moments(8), vectors))
    texts = texts_from(given.corpus, np.arange(240, dtype=np.int32))
    with Threads(n_threads) as threads:
        found = calibrated_harness.answer(given.corpus, threads, vectors=projected(vectors, axes))
        concluded, calibration = found.conclusion, found.calibration
        assert concluded.fits is not None
        judged = Judged(
            calibration.prepared.bags, concluded.fits, concluded.column, concluded.temperature,
            calibration.learned.rates, concluded.chance, calibration.columns,
        )  # fmt: skip
        marks = np.arange(240, dtype=np.uint64)
        return freeze(texts, marks, concluded.consensus, judged, QUICK, 1, threads, axes), axes


def vocabulary(model: FrozenModel) -> list[str]:
    return [f"w{word}" for word in range(model.inverse_frequency.size)]


def test_a_new_document_is_judged_by_its_vector() -> None:
    """Others of the same categories, which the job did not see."""
    model, _ = made()
    others = easy([60, 60, 60, 60], [25, 25, 0, 0], length=10, overlap=0.8, seed=9)
    vectors = raw(others.truth)[::-1][np.argsort(others.truth[::-1], kind="stable")]
    by_both, by_words = [], []
    for d in range(240):
        words, counts = bag(others.corpus, d)
        told = [answer(model, 2, words, counts, UNKNOWN_MARK, each) for each in (vectors[d], None)]
        assert told[0] is not None and told[1] is not None
        by_both.append(told[0].likely[0].category)
        by_words.append(told[1].likely[0].category)
    known = others.truth < 2
    right = [(np.array(found)[known] == others.truth[known]).mean() for found in (by_both, by_words)]
    assert right[0] > 0.95 > right[1] + 0.1


def test_a_vector_is_seen_as_those_of_the_job_were_whatever_its_length() -> None:
    model, axes = made()
    assert model.vectors is not None and model.n_axes == 8
    vector = raw(vague().truth)[17]
    expected = projected(vector[None, :], axes)[0].astype(np.float64) * model.vectors.scale
    np.testing.assert_array_equal(place_of(model, vector), expected)
    np.testing.assert_allclose(place_of(model, 100 * vector), expected, atol=1e-3)  # float16
    assert not place_of(model, np.zeros(8)).any() and not place_of(model, None).any()


def test_a_document_of_unknown_words_is_answered_by_its_vector_if_it_has_one() -> None:
    model, _ = made()
    nothing, truth = np.empty(0, np.int64), vague().truth
    assert answer(model, 2, nothing, nothing, UNKNOWN_MARK) is None
    assert answer(model, 2, nothing, nothing, UNKNOWN_MARK, np.zeros(8)) is None
    found = [answer(model, 2, nothing, nothing, UNKNOWN_MARK, vector) for vector in raw(truth)[truth < 2]]
    right = [each is not None and each.likely[0].category == k for each, k in zip(found, truth[truth < 2], strict=True)]
    assert np.mean(right) > 0.9
    assert all(each is not None and each.evidence == [] and 0 <= each.novelty <= 1 for each in found)


def test_a_file_holds_what_is_known_of_vectors_and_is_of_a_format_of_its_own() -> None:
    model, _ = made()
    data = dump(model, vocabulary(model), FACTS)
    assert int.from_bytes(data[len(MAGIC) : len(MAGIC) + 4], "little") == WITH_VECTORS
    again = load(data).model
    assert again.vectors is not None and model.vectors is not None
    for one, other in zip(again.vectors, model.vectors, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(again.weights, model.weights)
    assert dump(again, vocabulary(model), FACTS) == data
    n_words = model.inverse_frequency.size
    words_alone = model._replace(vectors=None, weights=np.delete(model.weights, np.s_[n_words:-1], axis=0))
    data = dump(words_alone, vocabulary(model), FACTS)
    assert int.from_bytes(data[len(MAGIC) : len(MAGIC) + 4], "little") == FORMAT
    assert load(data).model.vectors is None


def another_length(header: Any) -> None:
    header["facts"]["vector_length"] = 9


def no_scale(header: Any) -> None:
    del header["scalars"]["vector_scale"]


def no_number(header: Any) -> None:
    header["scalars"]["vector_scale"] = float("nan")


def no_axes(header: Any) -> None:
    header["arrays"] = [each for each in header["arrays"] if each["name"] != "vector_axes"]


@pytest.mark.parametrize("change", [another_length, no_scale, no_number, no_axes])
def test_a_file_that_lies_about_vectors_is_refused(change: Any) -> None:
    model, _ = made()
    with pytest.raises(ModelError):
        load(forged(dump(model, vocabulary(model), json.loads(json.dumps(FACTS))), change))


def test_the_same_bytes_on_any_number_of_threads() -> None:
    files = {dump(made(n)[0], vocabulary(made(n)[0]), FACTS) for n in (1, 2, 5)}
    assert len(files) == 1
