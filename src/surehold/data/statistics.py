"""Custom statistics: a function, and a promise of how little one record moves it."""

from __future__ import annotations

import hashlib
import inspect
import math
import textwrap
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from surehold.data.pairs import Ratio
from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries import Schema
from surehold.queries.custom import (
    CustomMeasure,
    CustomStatistic,
    Declared,
    check_name,
    statistic,
)


@dataclass(frozen=True)
class Statistic:
    """The custodian's promise that replacing one of t records moves a number by a known amount.

    For every t, and any two sets of t records that differ in one, the function's results differ by
    at most ``constant / t**power``. Surehold cannot check it, and every interval of a dataset rests
    on it. The promise is about the function as it is used: if it raises, or returns no finite
    number, its result is ``low``, and results are clipped to ``low`` and ``high``. It must depend
    on nothing but the records: no clock, no randomness, no state. Its running time may depend on
    them.

    It is given the snapshot's ``columns`` as an Arrow table. ``digest`` differs for an edited
    function; it does not cover what the function calls.

    >>> def agreement(table):
    ...     votes = np.asarray(table["vote"], dtype=float)
    ...     return abs(votes.mean() - 0.5) * 2
    >>> declared = Statistic("agreement", agreement, constant=2, columns=["vote"])
    >>> declared.query.canonical
    "statistic('agreement', 2, 1, 0, 1)"
    >>> declared.value(pl.DataFrame({"vote": [True, True, True, False]}))
    0.5
    """

    name: str
    function: Callable[[pa.Table], float]
    constant: float
    power: float = 1.0
    columns: Sequence[str] = ()
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        check_name(self.name)
        if not isinstance(self.function, FunctionType):
            required = "a function written in Python, with def or lambda"
            raise InvalidInput("function", required, type(self.function).__name__)
        declared = Declared.of(self.constant, self.power, self.low, self.high)
        for field, value in declared._asdict().items():
            object.__setattr__(self, field, value)
        object.__setattr__(self, "columns", _check_names(self.columns))

    @property
    def declared(self) -> Declared:
        """Return the promise without the function."""
        return Declared(self.constant, self.power, self.low, self.high)

    @property
    def query(self) -> CustomStatistic:
        """Return the query for analysts, with the promise."""
        return statistic(self.name).resolve(self.declared)

    @cached_property
    def digest(self) -> str:
        """Return a hash of the function's text, its default values and its bound values."""
        return hashlib.sha256("\n".join(_describe(self.function)).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as in JSON; the function by its digest."""
        numbers = self.declared._asdict()
        return {
            "name": self.name,
            **numbers,
            "columns": list(self.columns),
            "function": self.digest,
        }

    def check(self, schema: Schema) -> None:
        """Check that the dataset has its columns."""
        for name in self.columns:
            if name not in schema:
                raise InvalidInput("columns", f"among {', '.join(schema.names)}", name)

    def value(self, snapshot: pl.DataFrame) -> float:
        """Return the function's result for a snapshot, from ``low`` to ``high``."""
        table = snapshot.select(self.columns).to_arrow(compat_level=pl.CompatLevel.oldest())
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")  # they could quote records
                result = float(self.function(table))
        except Exception:
            return self.low
        return min(max(result, self.low), self.high) if math.isfinite(result) else self.low

    def unit(self, source: CustomMeasure, snapshot: pl.DataFrame) -> Ratio:
        """Return how far it is above ``low``, exactly, in units of t times its sensitivity."""
        if (source.name, source.declared) != (self.name, self.declared):
            raise InvalidQuery("the statistic is registered with other numbers", source.canonical)
        return unit_of(source, self.value(snapshot), max(snapshot.height, 1)).as_integer_ratio()


def unit_of(source: CustomMeasure, value: float, t: int) -> Fraction:
    """Return a result as a unit, not rounded, so that one record moves it no further."""
    above = Fraction(value) - Fraction(source.declared.low)
    return min(above / Fraction(source.form.span_at(t)), Fraction(1))


def _check_names(given: object) -> tuple[str, ...]:
    required = "a list of one or more columns' names"
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput("columns", required, given)
    names = tuple(given)
    if not names or len(set(names)) < len(names) or not all(isinstance(n, str) for n in names):
        raise InvalidInput("columns", required, given)
    return names


def _describe(function: Callable[..., object]) -> list[str]:
    """Return what defines a function: its text or, without one, its code."""
    assert isinstance(function, FunctionType)
    try:
        # Functions that share a line differ in what they name and hold.
        code = function.__code__
        held = [value for value in code.co_consts if not isinstance(value, CodeType)]
        described = [textwrap.dedent(inspect.getsource(function)), _to_text([code.co_names, held])]
    except (OSError, TypeError):
        described = [_to_text(function.__code__)]
    described += [_to_text(function.__defaults__), _to_text(function.__kwdefaults__)]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        described.append(f"{name} = {_bound_text(cell)}")
    return described


def _bound_text(cell: Any) -> str:
    try:
        value = cell.cell_contents
    except ValueError:  # not bound yet
        return "?"
    return _to_text(value)


def _to_text(value: object) -> str:
    """Return a text that is the same in every process; the type if there is none."""
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_to_text, value))}]"
    if isinstance(value, CodeType):
        return _to_text([value.co_code, value.co_names, value.co_consts])
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_to_text(k)}: {_to_text(v)}' for k, v in value.items())}}}"
    return type(value).__qualname__
