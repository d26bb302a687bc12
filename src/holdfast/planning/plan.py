"""The frozen Plan: what was solved, kept and read back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from types import MappingProxyType
from typing import Any

from holdfast.errors import InvalidInput
from holdfast.planning.problem import Unknown
from holdfast.theory.certificates import CERTIFICATES
from holdfast.theory.exposure import Schedule

_FORMAT = 1


@dataclass(frozen=True)
class Paces:
    """How many queries the budget of an adaptive plan admits, by when they are asked."""

    at_n0: int
    evenly: int
    at_n: int


@dataclass(frozen=True)
class Plan:
    """A solved design, fixed before the first answer.

    Up to ``queries`` answers, each with half-width ``width``, hold together with probability
    1 - beta while the data grows from n0 to n records. ``batches`` is None for an adaptive plan,
    which has a ``budget`` (the most mu^2 that any record may be charged), the cap ``max_queries``
    that follows from it, and the ``paces``.
    """

    certificate: str
    theorem: str
    solved_for: Unknown
    n0: int
    n: int
    beta: float
    alpha: float | None
    queries: int
    width: float
    sigma: float | None
    terms: Mapping[str, float]
    constants: Mapping[str, float]
    batches: int | None
    budget: float | None
    max_queries: int | None
    paces: Paces | None
    assumptions: tuple[str, ...]
    advice: tuple[str, ...]

    def __post_init__(self) -> None:
        """Freeze the mappings too."""
        object.__setattr__(self, "terms", MappingProxyType(dict(self.terms)))
        object.__setattr__(self, "constants", MappingProxyType(dict(self.constants)))

    def __hash__(self) -> int:
        return hash(self.to_json())

    def schedule(self) -> Schedule | None:
        """The rounds and the queries in each that a plan in batches fixes; None if adaptive."""
        if self.batches is None:
            return None
        return Schedule.batches(self.n0, self.n, self.batches, self.queries)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON has them; :meth:`from_dict` reads them back."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            "format": _FORMAT,
            **values,
            "terms": dict(self.terms),
            "constants": dict(self.constants),
            "paces": None if self.paces is None else asdict(self.paces),
            "assumptions": list(self.assumptions),
            "advice": list(self.advice),
        }

    def to_json(self) -> str:
        """One JSON object, strictly valid."""
        return json.dumps(self.to_dict(), allow_nan=False, ensure_ascii=False, indent=2)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Plan:
        """The plan that :meth:`to_dict` wrote; other keys, a comparison say, are passed over."""
        return cls(**_fields_of(values))

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The plan that :meth:`to_json` wrote."""
        try:
            values = json.loads(text)
        except ValueError as error:  # also text that is no UTF-8
            raise InvalidInput("plan", "one JSON object", f"text with {error}") from error
        return cls.from_dict(values)


def _fields_of(values: object) -> dict[str, Any]:
    """The fields of a plan from plain values, each checked for its kind."""
    if not isinstance(values, Mapping) or values.get("format") != _FORMAT:
        got = values.get("format") if isinstance(values, Mapping) else type(values).__name__
        raise InvalidInput("plan", f"one JSON object of format {_FORMAT}", got)
    missing = [field.name for field in fields(Plan) if field.name not in values]
    if missing:
        raise InvalidInput("plan", f"complete, with {', '.join(missing)}", sorted(values))
    kept = {field.name: values[field.name] for field in fields(Plan)}
    for name, holds in _KINDS.items():
        if not holds(kept[name]):
            raise InvalidInput(f"{name} of the plan", "what a plan has there", kept[name])
    if kept["paces"] is not None:
        kept["paces"] = Paces(**kept["paces"])
    return {**kept, "assumptions": tuple(kept["assumptions"]), "advice": tuple(kept["advice"])}


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def _is_numbers(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and (number == 0 or _is_positive(number))
        for name, number in value.items()
    )


def _is_words(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(line, str) for line in value)


def _is_paces(value: object) -> bool:
    names = {field.name for field in fields(Paces)}
    return (
        isinstance(value, Mapping) and set(value) == names and all(map(_is_count, value.values()))
    )


def _or_none(holds: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or holds(value)


_KINDS: dict[str, Callable[[object], bool]] = {
    "certificate": lambda value: value in CERTIFICATES,
    "solved_for": lambda value: value in ("queries", "width", "records"),
    "n0": _is_count,
    "n": _is_count,
    "beta": lambda value: _is_positive(value) and value < 1,  # type: ignore[operator]
    "alpha": _or_none(_is_positive),
    "queries": _is_count,
    "width": _is_positive,
    "sigma": _or_none(_is_positive),
    "terms": _is_numbers,
    "constants": _is_numbers,
    "batches": _or_none(_is_count),
    "budget": _or_none(_is_positive),
    "max_queries": _or_none(_is_count),
    "paces": _or_none(_is_paces),
    "assumptions": _is_words,
    "advice": _is_words,
}
