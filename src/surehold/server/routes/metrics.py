"""Metrics for Prometheus: the service's activity, and the status of the dataset."""

from __future__ import annotations

from fastapi import APIRouter
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from surehold.server.auth import GuardedRoute
from surehold.server.dependencies import VIEWER, Served
from surehold.server.schemas import USUAL, failures
from surehold.session import Status
from surehold.session.release import SLOT

_BUCKETS = tuple(SLOT * 2.0**k for k in range(13))  # up to a minute and 42 seconds

router = APIRouter(route_class=GuardedRoute, tags=["run"])


class Metrics:
    """Counters of one service. Labels are routes and statuses, never what clients sent."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self._requests = Counter(
            "surehold_requests", "Requests answered.", labels, registry=registry
        )
        self._seconds = Histogram(
            "surehold_request_seconds",
            "How long requests took, rounded up to a slot of the release grid.",
            ("method", "route"),
            buckets=_BUCKETS,
            registry=registry,
        )
        self._calls = Counter(
            "surehold_tool_calls",
            "Calls of tools, by outcome.",
            ("tool", "outcome"),
            registry=registry,
        )
        self._late = Counter(
            "surehold_late_answers",
            "Answers that were not ready by the slot they were expected for.",
            registry=registry,
        )
        self._gauges = {
            name: Gauge(f"surehold_{name}", text, registry=registry)
            for name, text in {
                "records": "Records of the dataset.",
                "answers": "Answers given.",
                "answers_left": "Answers left at the present round.",
                "budget_total": "The budget, in mu^2 of the record that is exposed most.",
                "budget_spent": "What was spent of the budget.",
                "ledger_entries": "Entries of the ledger.",
                "streams": "Open streams of events.",
            }.items()
        }

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; its seconds must already be rounded up to a slot."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def count_call(self, tool: str, outcome: str) -> None:
        """Count a tool call."""
        self._calls.labels(tool, outcome).inc()

    def count_late(self) -> None:
        """Count a late answer."""
        self._late.inc()

    def text(self, status: Status, streams: int) -> bytes:
        """Return all metrics, in Prometheus' text format."""
        values = {
            "records": status.n,
            "answers": status.answers,
            "answers_left": status.answers_left,
            "budget_total": status.budget.total,
            "budget_spent": status.budget.spent,
            "ledger_entries": status.entries,
            "streams": streams,
        }
        for name, value in values.items():
            self._gauges[name].set(value)
        return generate_latest(self.registry)


@router.get(
    "/metrics",
    openapi_extra=VIEWER,
    response_class=Response,  # errors are no plain text
    responses={
        200: {
            "content": {"text/plain": {"schema": {"type": "string"}}},
            "description": "Prometheus' text format.",
        },
        **failures(*USUAL),
    },
)
def metrics(request: Request, service: Served) -> PlainTextResponse:
    """Return counters and gauges for Prometheus."""
    counted: Metrics = request.app.state.metrics
    text = counted.text(service.dataset.status(), request.app.state.watch.watchers.taken)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")
