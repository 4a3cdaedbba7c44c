"""Traces by OpenTelemetry, an extra: a span for each request and for each leg. Off unless NEWFOUND_OTEL is set.

Where they go is said by the standard variables, such as OTEL_EXPORTER_OTLP_ENDPOINT. A span has the route and ids, and
nothing of what a client sent: neither path nor query, whose words may be those of documents.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from app.core.request_ids import is_inner
from app.core.settings import Settings

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter

SERVICE = "newfound"
PACKAGES = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")  # of the extra
WITHHELD = "withheld"
SPOKEN = ("url.path", "url.query")  # attributes that hold words of clients

provider: "TracerProvider | None" = None  # of this process, if it traces


class NoTelemetry(RuntimeError):
    """Traces are asked for without the extra that makes them."""


def check(settings: Settings) -> None:
    """Raise NoTelemetry if traces are asked for and the extra is not installed."""
    if settings.otel and not all(map(is_installed, PACKAGES)):
        raise NoTelemetry("it needs the extra `otel`: pip install 'newfound[otel]'")


def is_installed(package: str) -> bool:
    """Whether there is such a package."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # of one that it is in
        return False


def configure(settings: Settings, process: str) -> None:
    """Trace in this process from now on, if the settings say so. Raises NoTelemetry."""
    if settings.otel:
        check(settings)
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        trace_to(OTLPSpanExporter(), process)


def trace_to(exporter: "SpanExporter", process: str) -> None:
    """Trace in this process from now on; spans are sent in batches, and those that are left when the process ends."""
    global provider
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import Span, SpanProcessor, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    class Discretion(SpanProcessor):
        """Takes out what the framework puts into a span of a request and is not ours to tell."""

        def on_start(self, span: Span, parent_context: Any = None) -> None:
            for name in SPOKEN:
                if name in (span.attributes or {}):
                    span.set_attribute(name, WITHHELD)

    provider = TracerProvider(resource=Resource.create({"service.name": SERVICE, "service.instance.id": process}))
    provider.add_span_processor(Discretion())
    provider.add_span_processor(BatchSpanProcessor(exporter))


def telemetry() -> "TelemetryConfig":
    """What the framework is told: spans of requests if this process traces, and nothing else by itself."""
    return {
        "tracing": provider is not None,
        "tracer_provider": provider,
        "metrics": False,
        "logs": False,
        "operation_spans": False,
        "auto_configure": False,
        "exclude": is_inner,
    }


@contextmanager
def leg_span(job_id: str, unit_id: int, kind: str) -> Iterator[None]:
    """Within this context a leg is traced, if this process traces."""
    if provider is None:
        yield
        return
    told: dict[str, str | int] = {"job_id": job_id, "unit_id": unit_id, "unit_kind": kind}
    attributes = {f"{SERVICE}.{name}": value for name, value in told.items()}
    with provider.get_tracer(SERVICE).start_as_current_span(
        f"leg {kind}", attributes=attributes, record_exception=False, set_status_on_exception=False
    ):
        yield
