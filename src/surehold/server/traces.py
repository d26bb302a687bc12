"""Traces: spans are sent to the OpenTelemetry collector that the environment names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from surehold.errors import MissingExtra
from surehold.spans import record_by

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


@contextmanager
def traced() -> Iterator[None]:
    """Send the spans of the block to a collector, if OTEL_EXPORTER_OTLP_ENDPOINT names one."""
    is_off = os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if is_off or not any(os.environ.get(name) for name in _ENDPOINTS):
        yield
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise MissingExtra("OTEL_EXPORTER_OTLP_ENDPOINT", "otel") from None
    name = os.environ.get("OTEL_SERVICE_NAME", "surehold")
    provider = TracerProvider(resource=Resource.create({"service.name": name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    record_by(provider.get_tracer("surehold"))
    try:
        yield
    finally:
        record_by(None)
        provider.shutdown()  # sends what waits
