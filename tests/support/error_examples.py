"""One error of every class."""

from __future__ import annotations

import inspect

from surehold import errors

KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, errors.SureholdError)
]
ARGUMENTS = {
    "reason": "why",
    "hint": "what to do",
    "numbers": {"n": 3},
    "position": 2,
    "entry": 4,
    "needs": "noise",
}


def made(kind: type[errors.SureholdError]) -> errors.SureholdError:
    """An error with a value for each parameter that has to be given."""
    if kind.__init__ is Exception.__init__:
        return kind("message")
    parameters = list(inspect.signature(kind).parameters.values())
    given = [p for p in parameters if p.default is p.empty]
    values = {p.name: ARGUMENTS.get(p.name, _value(p)) for p in given}
    return kind(**values)


def _value(parameter: inspect.Parameter) -> object:
    kind = str(parameter.annotation)
    return 0.25 if "float" in kind else 7 if "int" in kind else {} if "Mapping" in kind else "x"
