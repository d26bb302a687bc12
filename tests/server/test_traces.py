"""Spans: where the time goes, and nothing of queries, keys or records."""

from __future__ import annotations

import signal
import sys
from dataclasses import replace

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import surehold as sh
from server.test_leaks import WORD, canaries, check_silent, filled
from support.runtime import made
from support.service import QUICK, logged, running, send, serving
from support.webhooks import hook, wait_for
from surehold.server.traces import traced
from surehold.session.dataset import Dataset
from surehold.spans import record_by, span


@pytest.fixture
def spans():
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    record_by(provider.get_tracer("test"))
    yield exporter
    record_by(None)


def of_request(exporter, name):
    """The request of this name, and the names of what is below it, in order."""
    found = exporter.get_finished_spans()
    [root] = [one for one in found if one.name == name]
    below, inside = {root.context.span_id: name}, []
    for one in sorted(found, key=lambda one: one.start_time):
        if one.parent is not None and one.parent.span_id in below:
            below[one.context.span_id] = one.name
            inside.append((below[one.parent.span_id], one.name))
    return root, inside


def test_a_question_from_the_request_to_the_commit(tmp_path, spans):
    with made(tmp_path / "clinic", count=300) as dataset, running(dataset) as run:
        got = send(run.url, "POST", "/v1/ask", {"query": "age > 65", "key": "secret-key"})
        wait_for(lambda: any(one.name == "POST /v1/ask" for one in spans.get_finished_spans()))
    root, inside = of_request(spans, "POST /v1/ask")
    assert ("POST /v1/ask", "ask") in inside
    assert [one for one in inside if one[0] == "ask"] == [
        ("ask", "commit"),  # the charge
        ("ask", "evaluation"),
        ("ask", "commit"),  # the answer
    ]
    assert root.attributes["surehold.request"] == got.headers["x-request-id"]
    assert (root.attributes["surehold.status"], root.attributes["surehold.role"]) == (
        200,
        "analyst",
    )


def test_an_error_is_its_class_and_nothing_else(tmp_path, spans, monkeypatch):
    def fail(*_: object) -> None:
        raise KeyError(WORD)

    folder = tmp_path / "root" / "clinic"
    with filled(folder, canaries(), "noise") as dataset, logged(), running(dataset) as run:
        send(run.url, "POST", "/v1/ask", {"query": "age > 65", "key": "secret-key"})
        send(run.url, "GET", f"/v1/transcript?contains={WORD}")
        monkeypatch.setattr("surehold.session.evaluation.Evaluator._exact", fail)
        assert send(run.url, "POST", "/v1/ask", {"query": "age > 64"}).status == 500
    told = [one.to_json() for one in spans.get_finished_spans()]
    check_silent(*told)
    assert any('"error.type": "KeyError"' in one for one in told)
    for secret in ("secret-key", "age > 6", "Traceback", str(tmp_path)):
        assert not any(secret in one for one in told)


@pytest.mark.parametrize("is_named", [True, False])
def test_a_trace_goes_on_if_a_named_proxy_began_it(tmp_path, spans, is_named):
    settings = replace(QUICK, proxies=("127.0.0.1",) if is_named else ())
    trace = "0af7651916cd43dd8448eb211c80319c"
    headers = {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
    with made(tmp_path / "clinic", count=300) as dataset, running(dataset, settings) as run:
        assert send(run.url, "GET", "/healthz", headers=headers).status == 200
        wait_for(lambda: spans.get_finished_spans())
    [one] = [one for one in spans.get_finished_spans() if one.name == "GET /healthz"]
    assert (f"{one.context.trace_id:032x}" == trace) is is_named


def test_the_command_sends_them_to_a_collector(tmp_path, monkeypatch):
    made(tmp_path / "clinic", count=300).close()
    with hook() as to:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", to.url)
        with serving(tmp_path / "clinic") as (url, process):
            assert send(url, "POST", "/v1/ask", {"query": "age > 65"}).status == 200
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        sent = [ExportTraceServiceRequest.FromString(unpacked(one)) for one in to.wait(1)]
    assert {one.path for one in to.sent} == {"/v1/traces"}
    resources = [resource for one in sent for resource in one.resource_spans]
    named = {
        attribute.key: attribute.value.string_value
        for attribute in resources[0].resource.attributes
    }
    assert named["service.name"] == "surehold"
    names = {s.name for r in resources for scope in r.scope_spans for s in scope.spans}
    assert names >= {"POST /v1/ask", "ask", "commit", "evaluation"}
    check_silent(*(one.body.decode("latin-1") for one in to.sent))


def unpacked(one):
    import gzip

    return gzip.decompress(one.body) if one.headers.get("content-encoding") == "gzip" else one.body


def test_without_a_collector_nothing_is_loaded_or_recorded(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)  # as if it were not there
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    with traced(), span("ask") as current:
        assert current is None
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(sh.MissingExtra, match=r"surehold\[otel\]"), traced():
        pass
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    with traced(), span("ask") as current:
        assert current is None


def test_what_fastapi_would_send_is_off(tmp_path, monkeypatch, spans):
    """It repeats messages of exceptions and parameters of addresses."""
    from opentelemetry import trace

    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    record_by(None)
    monkeypatch.setattr(Dataset, "growth", lambda *_: 1 / 0)
    with made(tmp_path / "clinic", count=300) as dataset, logged(), running(dataset) as run:
        assert send(run.url, "GET", f"/v1/growth?contains={WORD}").status == 500
    assert spans.get_finished_spans() == ()
