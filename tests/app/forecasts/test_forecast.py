"""What jobs take: forecasts near what was measured, and growing with all that makes a job larger."""

from typing import Any

import pytest

from app.forecasts.forecast import encode_share, forecast
from app.forecasts.sizes import REFERENCE, Forecast, Sizes
from app.schemas.job_settings import JobIn
from tests.app.forecasts.measured_jobs import MEASURED, Measured

FACTOR = 2.0  # what ForecastOut promises
FULL_SIZE = Sizes(n_documents=1_000_000, n_tokens=100_000_000, n_words=100_000, n_known=25)


def of(sizes: Sizes, **settings: Any) -> Forecast:
    return forecast(sizes, JobIn(corpus_id="", **settings).settings())


@pytest.mark.parametrize("measured", MEASURED, ids=lambda measured: f"{measured.name} {measured.settings}")
def test_each_kind_of_unit_takes_about_what_was_measured(measured: Measured) -> None:
    works = of(measured.sizes, **measured.settings).works
    chain = JobIn(corpus_id="", **measured.settings)
    pairs = {
        "encode": (works["encode"].seconds, measured.encode),
        "chain": (works["chain"].seconds, measured.start + (chain.sweeps or 0) * measured.sweep),
    }
    if measured.calibrate:
        pairs["atoms"] = (works["atoms"].seconds, sum(measured.atoms))
        pairs["calibrate"] = (works["calibrate"].seconds, sum(measured.calibrate))
        pairs["conclude"] = (works["conclude"].seconds, measured.conclude)
        assert works["calibrate"].n_parts == len(measured.calibrate)
    if measured.power is not None:
        pairs["power"] = (works["power"].part, measured.power)
    for kind, (expected, seconds) in pairs.items():
        assert seconds / FACTOR < expected < seconds * FACTOR, kind


@pytest.mark.parametrize("settings", [{}, {"kernel": "blocked"}, {"kernel": "collapsed"}])
@pytest.mark.parametrize("size", Sizes._fields)
def test_a_larger_corpus_takes_more_time_and_no_less_memory(settings: dict[str, Any], size: str) -> None:
    seconds, memory = [], []
    for times in (1, 2, 5, 20, 100):
        found = of(REFERENCE._replace(**{size: times * getattr(REFERENCE, size)}), **settings)
        seconds.append(found.job_seconds)
        memory.append(found.peak_bytes)
    assert seconds == sorted(seconds) and seconds[0] < seconds[-1]
    assert memory == sorted(memory)


LARGER: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"chains": 2}, {"chains": 3}),
    ({"sweeps": 100}, {"sweeps": 200}),
    ({"kernel": "blocked"}, {"kernel": "collapsed"}),
    ({"hyperparameters": {"n_topics": 64}}, {"hyperparameters": {"n_topics": 65}}),
    *(
        ({"calibrated": {name: low}}, {"calibrated": {name: high}})
        for name, low, high in (
            ("n_atoms", 60, 4096),
            ("n_atom_sweeps", 12, 13),
            ("n_starts", 2, 3),
            ("n_folds", 5, 6),
            ("n_refinements", 3, 4),
            ("n_topics", 128, 256),
            ("smoothings", [0.4], [0.4, 0.8]),
            ("powers", [1.0], [1.0, 2.0]),
            ("sample_size", 1_000, 2_000),
        )
    ),
]


@pytest.mark.parametrize(("less", "more"), LARGER)
def test_to_ask_for_more_takes_more_time(less: dict[str, Any], more: dict[str, Any]) -> None:
    assert of(REFERENCE, **less).job_seconds < of(REFERENCE, **more).job_seconds


def test_vectors_are_a_unit_of_their_own_and_take_time_and_memory() -> None:
    settings = JobIn(corpus_id="").settings()
    words = forecast(REFERENCE, settings)
    for more in ({"vectors": "brought"}, {"vectors": "made", "embedding_model": "f" * 64}):
        found = forecast(REFERENCE, {**settings, **more})
        assert set(found.works) == {*words.works, "vectors"}
        assert found.job_seconds > words.job_seconds
        assert found.peak_bytes > words.peak_bytes
    large = forecast(FULL_SIZE, {**settings, "vectors": "brought"})
    assert large.works["vectors"].n_parts == 1 + 16, "the axes, and pieces of 65,536 texts"


def test_the_share_of_encode_depends_on_settings_alone_and_is_small() -> None:
    for settings in ({}, {"kernel": "blocked"}, {"kernel": "collapsed"}):
        assert 0.0 < encode_share(JobIn(corpus_id="", **settings).settings()) < 0.2


@pytest.mark.parametrize("sizes", [Sizes(0, 0, 0, 0), Sizes(1, 1, 1, 0), FULL_SIZE])
@pytest.mark.parametrize("settings", [{}, {"kernel": "blocked"}, {"kernel": "collapsed"}])
def test_every_corpus_has_a_forecast(sizes: Sizes, settings: dict[str, Any]) -> None:
    found = of(sizes, **settings)
    assert all(work.seconds > 0.0 for work in found.works.values())
