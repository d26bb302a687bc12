"""Spans: where the time of a request goes, for an OpenTelemetry collector if there is one.

A span has a name, times, counts and outcomes. It has no query, key or value, and of an error only
the class, because a message may quote a record. Its times are finer than the slots in which answers
are released, so traces are for the operator alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

_NONE = nullcontext()
_tracer: Tracer | None = None


def record_by(tracer: Tracer | None) -> None:
    """Record all spans of this process by this tracer; by default nothing is recorded."""
    global _tracer
    _tracer = tracer


def span(
    name: str, parent: Mapping[str, str] | None = None, **attributes: str | int
) -> AbstractContextManager[Span | None]:
    """Return a span for a block, below the present one or below the headers of a ``parent``.

    >>> with span("evaluation", round=1000) as current:
    ...     print(current)
    None
    """
    return _NONE if _tracer is None else _recorded(_tracer, name, parent or {}, attributes)


@contextmanager
def _recorded(
    tracer: Tracer, name: str, parent: Mapping[str, str], attributes: Mapping[str, str | int]
) -> Iterator[Span]:
    from opentelemetry.propagate import extract
    from opentelemetry.trace import Status, StatusCode

    named = {f"surehold.{key}": value for key, value in attributes.items()}
    with tracer.start_as_current_span(
        name,
        context=extract(parent) if parent else None,
        attributes=named,
        record_exception=False,
        set_status_on_exception=False,
    ) as current:
        try:
            yield current
        except Exception as error:
            current.set_attribute("error.type", type(error).__name__)
            current.set_status(Status(StatusCode.ERROR))
            raise
