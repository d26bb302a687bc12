"""JSON Schemas of the results, from their own fields, so that no second list can go stale."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Union

from surehold.display import Shown

_PLAIN: dict[Any, dict[str, Any]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    types.NoneType: {"type": "null"},
}


def shape(kind: type[Shown], **fixed: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of what ``to_dict`` gives: all fields are there, and no others.

    Those in ``fixed`` have the schema that is given, where the annotation says too little.

    >>> from surehold.session import Budget
    >>> shape(Budget)["required"]
    ['total', 'spent', 'remaining']
    """
    hints = typing.get_type_hints(kind)
    names = [field.name for field in fields(typing.cast("Any", kind))]
    return closed({name: fixed.get(name) or _of(hints[name]) for name in names})


def closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    """An object with exactly these properties."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def listed(items: Mapping[str, Any]) -> dict[str, Any]:
    """A list of such."""
    return {"type": "array", "items": dict(items)}


def any_of(kinds: tuple[type[Shown], ...]) -> dict[str, Any]:
    """One of several results; the root says that it is an object, as older clients need."""
    return {"type": "object", "anyOf": [shape(kind) for kind in kinds]}


def _of(hint: Any) -> dict[str, Any]:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return {"const": inner[0]}
    if hint in _PLAIN:
        return _PLAIN[hint]
    if origin in (Union, types.UnionType):
        return {"anyOf": [_of(part) for part in inner]}
    if origin is tuple:
        return listed(_of(inner[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _of(inner[1])}
    if isinstance(hint, type) and is_dataclass(hint) and issubclass(hint, Shown):
        return shape(hint)
    raise NotImplementedError(f"no schema for {hint!r}")
