"""The frozen Plan, kept and read back, and a row of a comparison; importing them loads no scipy."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from surehold import formatting
from surehold.display import Shown
from surehold.errors import InvalidInput

if TYPE_CHECKING:
    from surehold.theory.exposure import Schedule

_FORMAT = 1

Unknown: TypeAlias = Literal["queries", "width", "records"]
"""What a plan was solved for."""

COVERS = ("statistical", "low-sensitivity")
"""What a plan may cover: means over records, or other functions of a snapshot and choices too."""

CERTIFICATE_NAMES = ("sharp", "ours-n", "ours-u", "adaptive", "jlnrss+", "jlnrss", "split")
"""Those of the theory's registry, here so that a plan can be read without it; a test compares."""


# The budget is rounded up so that, in exact arithmetic and with rounding to spare, it admits the
# queries it stands for. Widths are rounded outwards by more than this can matter.
_ROOM = 1.0 + 2e-13


def budget_for(queries: int, n: int, sigma: float) -> float:
    """The budget of an adaptive plan: what its queries cost at its largest size."""
    scale = n * sigma
    return queries / (scale * scale) * _ROOM


@dataclass(frozen=True)
class Paces(Shown):
    """How many queries the budget of an adaptive plan admits, by when they are asked."""

    at_n0: int
    evenly: int
    at_n: int


@dataclass(frozen=True)
class Plan(Shown):
    """A solved design, fixed before the first answer.

    Up to ``queries`` answers, each with half-width ``width``, hold together with probability
    1 - beta while the data grows from n0 to n records. ``batches`` is None for an adaptive plan,
    which has a ``budget`` (the most mu^2 that any record may be charged), the cap ``max_queries``
    that follows from it, and the ``paces``. With ``rare`` answers report the lopsided interval of
    the sharp theorem's part (b), and ``width`` is that of an answer near ``rare``. ``covers`` says
    for which queries the paper's certificates were evaluated; `sharp` covers all of them at one
    width, unless there is ``rare``.
    """

    format: int = field(default=_FORMAT, init=False, repr=False)
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
    rare: float | None = None
    covers: str = COVERS[0]

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", MappingProxyType(dict(self.terms)))
        object.__setattr__(self, "constants", MappingProxyType(dict(self.constants)))

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __str__(self) -> str:
        return (
            f"plan of up to {self.queries:,} queries within ± {formatting.width(self.width)}, all "
            f"together with probability {formatting.percent(self.beta)}, from {self.n0:,} to "
            f"{self.n:,} records ({self.certificate})"
        )

    def schedule(self) -> Schedule | None:
        """The rounds and the queries in each that a plan in batches fixes; None if adaptive."""
        if self.batches is None:
            return None
        from surehold.theory.exposure import Schedule

        return Schedule.batches(self.n0, self.n, self.batches, self.queries)

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


@dataclass(frozen=True)
class ComparisonRow(Shown):
    """What one certificate gives; ``reason`` says why, where it gives nothing."""

    certificate: str
    theorem: str
    summary: str
    mechanism: str
    is_prompt: bool
    solved_for: Unknown
    reason: str | None
    queries: int | None = None
    width: float | None = None
    n0: int | None = None
    n: int | None = None
    sigma: float | None = None
    terms: dict[str, float] | None = None
    constants: dict[str, float] | None = None
    paces: Paces | None = None
    display: Mapping[str, str] = field(init=False, compare=False, repr=False)

    @property
    def is_useful(self) -> bool:
        """Whether there is a result."""
        return self.reason is None

    @property
    def result(self) -> float:
        """The number that was asked for; 0 where there is none."""
        found = {"queries": self.queries, "width": self.width, "records": self.n}[self.solved_for]
        return float(found or 0)

    def _display(self) -> dict[str, str]:
        return {} if self.width is None else {"width": f"± {formatting.width(self.width)}"}


def _fields_of(values: object) -> dict[str, Any]:
    """The fields of a plan from plain values, each checked for its kind."""
    if not isinstance(values, Mapping) or values.get("format") != _FORMAT:
        got = values.get("format") if isinstance(values, Mapping) else type(values).__name__
        raise InvalidInput("plan", f"one JSON object of format {_FORMAT}", got)
    values = {"rare": None, "covers": COVERS[0], **values}  # plans made before these existed
    names = [field.name for field in fields(Plan) if field.init]
    missing = [name for name in names if name not in values]
    if missing:
        raise InvalidInput("plan", f"complete, with {', '.join(missing)}", sorted(values))
    kept = {name: values[name] for name in names}
    for name, kind in _KINDS.items():
        if not kind.holds(kept[name]):
            raise InvalidInput(f"{name} of the plan", kind.required, kept[name])
    if kept["paces"] is not None:
        kept["paces"] = Paces(**kept["paces"])
    return {**kept, "assumptions": tuple(kept["assumptions"]), "advice": tuple(kept["advice"])}


class _Kind(NamedTuple):
    """What a field of a plan may be, in words and as a test."""

    required: str
    holds: Callable[[Any], bool]

    def or_none(self) -> _Kind:
        return _Kind(f"{self.required}, or null", lambda value: value is None or self.holds(value))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_COUNT = _Kind("a whole number >= 0", _is_count)
_POSITIVE = _Kind("a positive number", lambda value: _is_number(value) and value > 0)
_FRACTION = _Kind("between 0 and 1", lambda value: _is_number(value) and 0 < value < 1)
_NUMBERS = _Kind(
    "numbers >= 0 by their names",
    lambda value: (
        isinstance(value, Mapping)
        and all(_is_number(number) and number >= 0 for number in value.values())
    ),
)
_WORDS = _Kind(
    "a list of sentences",
    lambda value: isinstance(value, list | tuple) and all(isinstance(line, str) for line in value),
)
_PACES = _Kind(
    "whole numbers at_n0, evenly and at_n",
    lambda value: (
        isinstance(value, Mapping)
        and set(value) == {field.name for field in fields(Paces)}
        and all(map(_is_count, value.values()))
    ),
)

_KINDS = {
    "certificate": _Kind(
        f"one of {', '.join(CERTIFICATE_NAMES)}",
        lambda value: isinstance(value, str) and value in CERTIFICATE_NAMES,
    ),
    "solved_for": _Kind(
        "queries, width or records", lambda value: value in ("queries", "width", "records")
    ),
    "n0": _COUNT,
    "n": _COUNT,
    "beta": _FRACTION,
    "alpha": _FRACTION.or_none(),
    "queries": _COUNT,
    "width": _POSITIVE,
    "sigma": _POSITIVE.or_none(),
    "terms": _NUMBERS,
    "constants": _NUMBERS,
    "batches": _COUNT.or_none(),
    "budget": _POSITIVE.or_none(),
    "max_queries": _COUNT.or_none(),
    "paces": _PACES.or_none(),
    "rare": _FRACTION.or_none(),
    "covers": _Kind(f"one of {', '.join(COVERS)}", lambda value: value in COVERS),
    "assumptions": _WORDS,
    "advice": _WORDS,
}
