"""The load benchmark: percentiles, floors and the table; what its scenarios make of answers; one small run."""

import asyncio
import math
import time
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.load import __main__ as load
from benchmarks.load import documents, figures, requests, uploads
from benchmarks.load.client import HOST, NO_ANSWER, Answer, at_once
from benchmarks.load.figures import Latency, Outcome
from benchmarks.load.probe import Probe, Sample
from benchmarks.load.scenarios import SCALES, Idle, Scenario
from tests.waits import REQUEST_SECONDS, free_port

TINY = replace(
    SCALES["small"], least=0.5, limit=REQUEST_SECONDS, head_bytes=(2**20,), uploads=3, uploaded_documents=2_000
)
GOOD = Latency(n=200, p50=0.004, p99=0.02, slowest=0.03, errors=0, lag=0.001)
OUTCOME = Outcome(
    stack="embedded",
    scenario="idle",
    health=GOOD,
    job=GOOD,
    memory_before=160.0,
    memory_peak=170.0,
    memory_after=165.0,
    machine_load=0.1,
    seconds=10.0,
    figures={},
)


def answer(status: int, body: bytes = b"{}") -> Answer:
    """An answer that took a second."""
    return Answer(status, body, 1.0)


def test_a_percentile_is_the_smallest_value_that_covers_its_share():
    values = [float(n) for n in range(100, 0, -1)]
    assert [figures.percentile(values, share) for share in (0.5, 0.99, 1.0)] == [50.0, 99.0, 100.0]
    assert figures.percentile([7.0], 0.99) == 7.0
    assert math.isnan(figures.percentile([], 0.99))


def test_of_the_samples_those_count_whose_moment_lies_within_the_load():
    samples = [
        Sample(at, 0.001, seconds, status)
        for at, seconds, status in (
            (9.9, 8.0, 200),
            (10.0, 0.1, 200),
            (11.0, 5.0, NO_ANSWER),
            (12.0, 0.3, 503),
            (12.1, 9.0, 200),
        )
    ]
    found = figures.latency(samples, 10.0, 12.0)
    assert found == Latency(n=3, p50=0.3, p99=5.0, slowest=5.0, errors=2, lag=0.001)


def test_a_good_outcome_misses_no_floor():
    assert figures.common_misses(OUTCOME) == []


@pytest.mark.parametrize(
    ("change", "miss"),
    [
        ({"health": replace(GOOD, p99=0.25)}, "GET /health answered in 250 ms at p99, not under 250 ms"),
        ({"job": replace(GOOD, p99=57.0)}, "a poll of a job answered in 57,000 ms at p99, not under 250 ms"),
        ({"job": replace(GOOD, errors=3)}, "a poll of a job failed 3 times of 200"),
        ({"memory_peak": 260.1 + 4_000}, "the API held 4,100 MB more than idle, not at most 100"),
    ],
)
def test_each_floor_that_is_missed_is_a_sentence(change, miss):
    assert figures.common_misses(replace(OUTCOME, **change)) == [miss]


def test_a_probe_without_one_sample_misses_its_floor():
    nothing = figures.latency([], 0.0, 1.0)
    assert len(figures.common_misses(replace(OUTCOME, health=nothing))) == 1


def test_a_late_probe_and_a_busy_machine_are_doubts_and_no_misses():
    assert figures.doubts(OUTCOME) == []
    doubtful = replace(OUTCOME, job=replace(GOOD, lag=0.2), machine_load=1_000.0)
    assert len(figures.doubts(doubtful)) == 2 and figures.common_misses(doubtful) == []


def test_the_table_has_a_row_for_each_scenario_and_as_many_cells_in_each():
    second = replace(
        OUTCOME, scenario="uploads", figures={"uploads": {"ended well": 19, "broke off": 1}, "slowest s": 1.5}
    )
    lines = figures.table([OUTCOME, second]).splitlines()
    assert [line.count("|") for line in lines] == [15] * 4
    assert lines[2].split()[1:6] == ["idle", "|", "4", "|", "20"]
    assert "| 19 of ended well, 1 of broke off; slowest s 1.5 |" in lines[3].replace("uploads 19", "19")


def test_a_line_of_json_holds_null_where_there_is_no_number():
    line = figures.as_line(replace(OUTCOME, figures={"ratio": math.nan}))
    assert line["figures"] == {"ratio": None} and line["health"]["p99"] == 0.02


def test_the_cost_of_rows_is_told_from_when_they_were_stored():
    progress = [(0.0, 0), (0.5, 1_000), (1.0, 2_000), (1.1, 2_000), (4.0, 3_000)]
    assert uploads.cost(progress, 0, 1_000) == 0.5
    assert uploads.cost(progress, 2_000, 3_000) == 3.0
    assert math.isnan(uploads.cost(progress, 2_000, 4_000))


@pytest.mark.parametrize(
    ("answered", "n_stored", "became"),
    [
        (answer(200, b'{"accepted": 50}'), 50, "ended well"),
        (answer(200, b'{"accepted": 50}'), 40, "not store what they said"),
        (answer(503, b'{"detail": "away; 1,000 rows before that are stored"}'), 1_000, "broke off and said where"),
        (
            answer(503, b'{"detail": "the database did not answer"}'),
            40,
            "not say that they broke off in the middle, and where",
        ),
        (answer(429), 0, "refused as a whole"),
        (None, 40, "not end in time"),
    ],
)
def test_what_became_of_an_upload_is_told_from_its_answer_and_what_is_stored(answered, n_stored, became):
    assert uploads.became(answered, n_stored, 50) == became


def test_heads_have_the_size_and_the_end_that_they_say():
    for make in (requests.one_header, requests.many_headers, requests.long_path):
        head = b"".join(make(70_000))
        assert 70_000 < len(head) < 70_300 and head.endswith(b"\r\n\r\n") and head.count(b"\r\n\r\n") == 1


def test_documents_are_the_same_for_a_seed_and_their_words_follow_zipfs_law():
    texts = list(documents.texts(500, seed=1, n_words=100))
    assert texts == list(documents.texts(500, seed=1, n_words=100)) != list(documents.texts(500, seed=2, n_words=100))
    words = " ".join(texts).split()
    shares = [words.count(documents.word(rank)) / len(words) for rank in (0, 1)]
    norm = sum(1 / rank for rank in range(1, documents.N_WORDS + 1))
    # 50,000 words: the shares 0.095 and 0.048 have standard errors of 0.0013 and 0.001.
    assert shares == pytest.approx([1 / norm, 0.5 / norm], abs=0.006)
    assert len({documents.word(rank) for rank in range(documents.N_WORDS)}) == documents.N_WORDS


def test_a_task_that_times_out_leaves_the_others_their_results():
    def late() -> int:
        raise TimeoutError

    assert at_once([late, lambda: 2]) == [None, 2]


def test_a_late_answer_hides_no_other_request():
    """A service that says nothing for 0.4 s delays the 20 requests of that time, each by what was left of it."""
    silence, rate = 0.4, 50.0

    async def probed() -> tuple[float, list[Sample]]:
        probe, stop = Probe(0, "/health", rate), asyncio.Event()

        answering, silent = [], math.inf

        async def answer_late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            answering.append(asyncio.current_task())
            while await reader.readline():
                await reader.readuntil(b"\r\n\r\n")
                await asyncio.sleep(max(silent - time.monotonic(), 0.0))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_server(answer_late, HOST, 0)
        probe.port = server.sockets[0].getsockname()[1]
        silent = time.monotonic() + silence
        asyncio.get_running_loop().call_later(2 * silence, stop.set)
        await probe.run(stop)
        server.close()
        await asyncio.gather(*answering)
        return silent, sorted(probe.samples)

    silent, samples = asyncio.run(probed())
    assert {sample.status for sample in samples} == {200}
    assert np.allclose(np.diff([sample.at for sample in samples]), 1 / rate)
    delayed = [sample for sample in samples if sample.at < silent]
    assert len(delayed) >= 15
    for sample in delayed:
        assert sample.at + sample.seconds > silent


def test_a_probe_that_nobody_answers_says_so():
    probe = Probe(free_port(), "/health", 10.0)
    asyncio.run(probe.ask(time.monotonic()))
    assert [sample.status for sample in probe.samples] == [NO_ANSWER]


class Endless(Scenario):
    """Never over."""

    name = "endless"

    def load(self, until):
        raise TimeoutError


class Unprepared(Endless):
    """Fails before its load."""

    name = "unprepared"

    def prepare(self):
        raise RuntimeError("answered 503")


@pytest.mark.slow
def test_scenarios_are_measured_on_the_embedded_service(monkeypatch):
    kinds = (Idle, Unprepared, uploads.Uploads, Endless)
    monkeypatch.setattr(load, "SCENARIOS", {kind.name: kind for kind in kinds})
    monkeypatch.setattr(load, "SETTLE_SECONDS", 0.1)
    names = ["uploads", "idle", "endless", "unprepared"]
    outcomes = list(load.run("embedded", names, TINY, n_workers=0, settings={"MAX_DOCUMENT_BYTES": "9999"}))
    idle, unprepared, filled, endless = outcomes
    assert idle.seconds >= TINY.least
    for outcome in (idle, filled):
        assert outcome.health.n > 0 and outcome.job.n > 0 and outcome.health.errors == outcome.job.errors == 0
        assert 0 < outcome.health.p50 <= outcome.health.p99 <= outcome.health.slowest
        assert 30 < outcome.memory_before <= outcome.memory_peak
    assert filled.figures["uploads"] == {"ended well": TINY.uploads} and filled.figures["answers"] == {"200": 3}
    assert (
        endless.figures == {"load": f"not within {REQUEST_SECONDS:.0f} s"}
        and "the load was not over in time" in endless.misses
    )
    assert unprepared.misses == ["it could not be measured: RuntimeError: answered 503"]
    assert [line.split()[1] for line in figures.table(outcomes).splitlines()[2:]] == [kind.name for kind in kinds]
