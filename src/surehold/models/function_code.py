"""The code behind a function that is pickled by its name: edited code is another model."""

from __future__ import annotations

import functools
import pickle
import types
from typing import Any


def code_behind(model: Any, content: bytes) -> bytes:
    """The code of a callable's function, if its bytes do not hold it; else nothing.

    Covered are the function itself, its defaults and the functions inside it, and for an object
    the class's ``__call__``; not the other functions that these call by name.
    """
    found = _functions(model)
    missing = [function for function in found if function.__code__.co_code not in content]
    return b"".join(repr(_describe(function)).encode() for function in missing)


def _functions(model: Any) -> list[types.FunctionType]:
    if isinstance(model, functools.partial):
        return _functions(model.func)
    if isinstance(model, types.MethodType):
        return _functions(model.__func__)
    if isinstance(model, types.FunctionType):
        inner = getattr(model, "__wrapped__", None)
        return [model, *([] if inner is None else _functions(inner))]
    method = getattr(type(model), "__call__", None)  # noqa: B004
    return [method] if isinstance(method, types.FunctionType) else []


def _describe(function: types.FunctionType) -> tuple[Any, ...]:
    defaults = (function.__defaults__, sorted((function.__kwdefaults__ or {}).items()))
    return (_constant(function.__code__), _constant(defaults))


def _constant(value: Any) -> Any:
    """Something whose repr is the same in every process: no addresses, lines, files or hashes."""
    if isinstance(value, types.CodeType):
        return (
            value.co_code,
            value.co_names,
            value.co_varnames,
            value.co_freevars,
            value.co_cellvars,
            value.co_flags,
            value.co_argcount,
            value.co_posonlyargcount,
            value.co_kwonlyargcount,
            value.co_exceptiontable,
            tuple(_constant(constant) for constant in value.co_consts),
        )
    if isinstance(value, tuple | list):
        return (type(value).__name__, *(_constant(part) for part in value))
    if isinstance(value, frozenset | set):
        return ("set", *sorted(repr(_constant(part)) for part in value))
    if value is None or isinstance(value, str | bytes | bool | int | float | complex):
        return (type(value).__name__, repr(value))
    try:
        return pickle.dumps(value, 5)
    except Exception:
        return type(value).__qualname__
