"""From the dictionaries of a service back to the library's objects and errors."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from surehold import errors
from surehold.errors import RequestRefused, ServiceFailed, SureholdError
from surehold.session import RESULTS, Result

S = TypeVar("S")


class Unreadable(Exception):
    """Values that are not what was expected."""


def result_of(values: object) -> Result:
    """Build the result that ``to_dict`` turned into these values, by its ``kind``."""
    name = values.get("kind") if isinstance(values, Mapping) else None
    kind = RESULTS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise Unreadable("it is not a result")
    return reader(kind)(values)


def results_of(values: Mapping[str, Any], count: int) -> list[Result]:
    """Build a number of results that were asked for together."""
    answers = values.get("answers")
    if not isinstance(answers, list) or len(answers) != count:
        raise Unreadable("there are not as many answers as queries")
    return [result_of(one) for one in answers]


def reader(kind: type[S]) -> Callable[[object], S]:
    """Return a function that rebuilds an object of a class from its ``to_dict``.

    It ignores fields that this version does not know: a later service may send more. Fields with a
    default may be missing: an earlier service did not know them.
    """
    hints = _hints(cast("Any", kind))
    needed = {one.name for one in fields(cast("Any", kind)) if one.init and _is_needed(one)}

    def read(values: object) -> S:
        if not isinstance(values, Mapping) or not needed <= set(values):
            raise Unreadable(f"it is not a {kind.__name__}")
        given = {name: hint for name, hint in hints.items() if name in values}
        return kind(**{name: _value(hint, values[name], name) for name, hint in given.items()})

    return read


def _is_needed(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def value_reader(hint: type[S]) -> Callable[[object], S]:
    """Return a function that rebuilds a value of that type, such as a union of classes."""
    return lambda values: cast("S", _value(hint, values, "it"))


def field_reader(hint: type[S], name: str) -> Callable[[Mapping[str, Any]], S]:
    """Return a function that rebuilds what is under a name, as a value of that type."""
    return lambda values: cast("S", _value(hint, values.get(name), name))


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """Return the types of the given fields, in order."""
    hints = get_type_hints(kind)
    return {one.name: hints[one.name] for one in fields(kind) if one.init}


def _value(hint: Any, value: Any, name: str) -> Any:
    """Convert a value to its field's type: JSON has no tuples or frozen mappings."""
    kind, inside = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, types.UnionType):
        if value is None and type(None) in inside:
            return None
        return _first([one for one in inside if one is not type(None)], value, name)
    if isinstance(kind, type) and issubclass(kind, Result):
        return result_of(value)
    if is_dataclass(kind):
        return reader(kind)(value)  # type: ignore[arg-type]  # it is a class: a field's type
    if kind is tuple and isinstance(value, list):
        each = inside[:1] * len(value) if inside[-1] is Ellipsis else inside
        if len(each) == len(value):
            pairs = zip(each, value, strict=True)
            return tuple(_value(one, item, name) for one, item in pairs)
    elif kind is Mapping and isinstance(value, Mapping):
        return MappingProxyType({key: _value(inside[1], one, name) for key, one in value.items()})
    elif kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        if math.isfinite(value):
            return float(value)
    elif type(value) is kind:
        return value
    raise Unreadable(f"{name} is not what it should be")


def _first(hints: Sequence[Any], value: Any, name: str) -> Any:
    """Convert a value to the first of some types that it fits."""
    for hint in hints[:-1]:
        with suppress(Unreadable):
            return _value(hint, value, name)
    return _value(hints[-1], value, name)


# --------------------------------------------------------------------------------- errors


def error_of(status: int, values: Mapping[str, Any], wait: float | None) -> SureholdError | None:
    """Rebuild the error that a service raised; None if these values are not one."""
    found = values.get("error")
    if not isinstance(found, Mapping):
        return None
    name, message, details = found.get("type"), found.get("message"), found.get("details")
    if not isinstance(name, str) or not isinstance(message, str):
        return None
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, SureholdError) and isinstance(details, dict):
        return errors._restored(kind, (message,), details)
    hint = "this version of surehold does not know the error; the service may be newer"
    if status < 500:
        return RequestRefused(status, message, hint, wait)
    return ServiceFailed("the service", message, hint)
