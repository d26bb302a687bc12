"""Metrics for Prometheus: the service's activity, and the status of the dataset."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from functools import partial
from typing import Any

from fastapi import APIRouter
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from surehold.server.auth import VIEWER, GuardedRoute, Served, site_of
from surehold.server.schemas import USUAL, failures
from surehold.session import Status, SurpriseStatus
from surehold.session.release import SLOT

_BUCKETS = tuple(SLOT * 2.0**k for k in range(13))  # up to a minute and 42 seconds

_EVERY_GUARD: list[tuple[str, str, Callable[[Any], float]]] = [
    ("records", "Records of the dataset.", lambda now: now.n),
    ("answers", "Answers given.", lambda now: now.answers),
    ("ledger_entries", "Entries of the ledger.", lambda now: now.entries),
    (
        "width",
        "The width of the next interval, at most; NaN if there can be none now.",
        lambda now: math.nan if now.width is None else now.width,
    ),
]
_GAUGES: dict[str, list[tuple[str, str, Callable[[Any], float]]]] = {
    "noise": [
        ("answers_left", "Answers left at the present round.", lambda now: now.answers_left),
        (
            "budget_total",
            "The budget, in mu^2 of the record that is exposed most.",
            lambda now: now.budget.total,
        ),
        ("budget_spent", "What was spent of the budget.", lambda now: now.budget.spent),
    ],
    "surprise": [
        ("spent_bits", "What all outcomes so far cost, in bits.", lambda now: now.spent),
        (
            "limit_bits",
            "What all outcomes may cost, in bits; +Inf without a limit.",
            lambda now: math.inf if now.limit is None else now.limit,
        ),
        ("claims", "Claims registered.", lambda now: now.claims),
    ],
}

logger = logging.getLogger("surehold.server")
router = APIRouter(route_class=GuardedRoute, tags=["run"])


class Metrics:
    """Counters of one service. Labels are routes and statuses, never what clients sent."""

    def __init__(self, guard: str = "noise") -> None:
        registry = self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        counter = partial(Counter, registry=registry)
        self._requests = counter("surehold_requests", "Requests answered.", labels)
        self._seconds = Histogram(
            "surehold_request_seconds",
            "How long requests took, rounded up to a slot of the release grid.",
            ("method", "route"),
            buckets=_BUCKETS,
            registry=registry,
        )
        outcome = ("tool", "outcome")
        self._calls = counter("surehold_tool_calls", "Calls of tools, by outcome.", outcome)
        late = "Answers that were not ready by the slot they were expected for."
        self._late = counter("surehold_late_answers", late)
        gauge = partial(Gauge, registry=registry)
        self._streams = gauge("surehold_streams", "Open streams of events.")
        self._gauges = [
            (gauge(f"surehold_{name}", text), value)
            for name, text, value in (*_EVERY_GUARD, *_GAUGES[guard])
        ]

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; its seconds must already be rounded up to a slot."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def count_call(self, tool: str, outcome: str) -> None:
        """Count a tool call."""
        self._calls.labels(tool, outcome).inc()

    def count_late(self, slot: float) -> None:
        """Count a late answer, and log it, because it reveals a little about records."""
        self._late.inc()
        logger.warning("late answer", extra={"slot": slot})

    def text(self, status: Status | SurpriseStatus, streams: int) -> bytes:
        """Return all metrics, in Prometheus' text format."""
        self._streams.set(streams)
        for gauge, value in self._gauges:
            gauge.set(value(status))
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
    site = site_of(request)
    assert site.metrics is not None
    text = site.metrics.text(service.dataset.status(), site.watch.watchers.taken)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")
