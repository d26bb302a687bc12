"""Queries as they are sent: text, and the models they refer to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast

from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries import Model, Query, Select, query_of

if TYPE_CHECKING:
    from surehold.models.payload import ModelPayload


def check_query(query: object) -> Query | str:
    """Accept a query or its text, which the service parses."""
    if not isinstance(query, str | Query):
        required = "a query, such as fraction('age > 65'), or its text"
        raise InvalidInput("the query", required, type(query).__name__)
    return query


def text_of(query: Query | str) -> str:
    """Return the text of a query: as written, if that parses to the same query."""
    if isinstance(query, str):
        return query
    try:
        if query_of(query.text).canonical == query.canonical:
            return query.text
    except (InvalidQuery, InvalidInput):
        pass
    return query.canonical


def selection_body(query: Select) -> dict[str, Any]:
    """Return a selection with the caller's names for the candidates."""
    pairs = zip(query.names, query.candidates, strict=True)
    return {
        "candidates": {name: text_of(candidate) for name, candidate in pairs},
        "best": query.best,
        "price": query.price,
    }


def is_named(query: Query | str) -> bool:
    """Check whether it is a selection whose names distinguish the candidates."""
    return isinstance(query, Select) and len(set(query.names)) == len(query.names)


def payloads_of(query: Query | str) -> dict[str, ModelPayload]:
    """Return the models in a query that can be sent; InvalidInput if one cannot.

    An estimator or a callable is code, which runs when it is loaded.
    """
    found = {} if isinstance(query, str) else {model.name: model for model in _models(query)}
    payloads = {n: model.payload for n, model in found.items() if model.payload is not None}
    for payload in payloads.values():
        if payload.kind != "onnx":
            what = "an estimator" if payload.kind == "sklearn" else "a callable"
            hint = "it is code, which is not sent; convert it, with skl2onnx for instance"
            raise InvalidInput("the model", "an ONNX model, to be sent to a service", what, hint)
    return payloads


def _models(part: object) -> Iterator[Model]:
    """Return all models in a query, at any depth."""
    if isinstance(part, Model):
        yield part
    elif isinstance(part, tuple):
        for item in part:
            yield from _models(item)
    elif isinstance(part, Query):
        for field in fields(cast("Any", part)):  # all queries are dataclasses
            yield from _models(getattr(part, field.name))
