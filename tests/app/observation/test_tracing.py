"""Traces: a span a request and a leg, with ids and nothing of what clients sent; none unless they are asked for."""

import sys
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.testclient import TestClient

from app import cli
from app.core.db import Database
from app.core.settings import Settings
from app.http.main import create_app
from app.observation import tracing
from tests.worker import jobs
from worker import runner

pytestmark = pytest.mark.parametrize("kind", ["sqlite"])


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    """What this process traces goes there."""
    exporter = InMemorySpanExporter()
    tracing.trace_to(exporter, "test")
    yield exporter
    assert tracing.provider is not None
    tracing.provider.shutdown()
    tracing.provider = None


def spans(exporter: InMemorySpanExporter) -> list[ReadableSpan]:
    """What has been traced."""
    assert tracing.provider is not None
    tracing.provider.force_flush()
    return list(exporter.get_finished_spans())


def test_a_request_is_a_span_named_by_its_route(exporter: InMemorySpanExporter, settings: Settings) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with TestClient(create_app(settings)) as client:
        client.get("/v1/jobs/a-secret/documents?search=secret-word", headers={"traceparent": parent})
        client.get("/health")
    first, second = spans(exporter)
    assert first.name == "GET /v1/jobs/{job_id}/documents"
    assert (first.attributes or {})["http.response.status_code"] == 404
    assert first.parent is not None and f"{first.context.trace_id:032x}" == parent.split("-")[1]
    assert second.name == "GET /health"
    assert "secret" not in first.to_json()
    assert first.resource.attributes["service.name"] == "newfound"


def test_a_page_is_one_span_whatever_it_asks_the_api(exporter: InMemorySpanExporter, settings: Settings) -> None:
    with TestClient(create_app(settings)) as client:
        assert client.get("/").status_code == 200
    assert [span.name for span in spans(exporter)] == ["GET /"]


def test_a_leg_is_a_span_with_its_job_and_unit(
    exporter: InMemorySpanExporter, database: Database, settings: Settings
) -> None:
    job_id, [unit_id] = jobs.submit(database, jobs.upload(database, jobs.rows()), chains=1)
    runner.run(database, settings, unit_id, lambda: False)
    [span] = spans(exporter)
    assert span.name == "leg encode"
    expected = {"newfound.job_id": job_id, "newfound.unit_id": unit_id, "newfound.unit_kind": "encode"}
    assert dict(span.attributes or {}) == expected
    assert span.events == ()


def test_nothing_is_traced_unless_it_is_asked_for(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")  # of the framework, which is told otherwise
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    tracing.configure(settings, "test")
    assert tracing.provider is None
    app = create_app(settings)
    with TestClient(app) as client:
        client.get("/health")
    assert not app._native_telemetry.enabled()


def test_traces_without_the_extra_are_refused_in_one_line(
    kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NEWFOUND_OTEL", "true")
    monkeypatch.setattr(tracing, "PACKAGES", ("opentelemetry.nothing", "nothing.at.all"))
    for command in ("serve", "api", "worker"):
        assert cli.main([command]) == 2
        told = capsys.readouterr().err
        assert told == "newfound: NEWFOUND_OTEL: it needs the extra `otel`: pip install 'newfound[otel]'\n"
    assert tracing.provider is None and "nothing" not in sys.modules
