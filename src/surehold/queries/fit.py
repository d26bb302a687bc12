"""Fitting a linear model on the records: by noisy gradients, each a vector answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias, cast

from surehold.checks import check_number, check_whole
from surehold.errors import InvalidInput
from surehold.queries.base import Charged, Form, Source
from surehold.queries.measure import Measure
from surehold.queries.parser import Parser, parse
from surehold.queries.schema import Schema
from surehold.queries.statistical import Statistical, check_bounds, check_length, read_statistical
from surehold.queries.writer import number, write

Kind: TypeAlias = Literal["logistic", "linear"]

MOST_STEPS = 10_000
MOST_FEATURES = 1000
MOST_PRICE = 1_000_000


@dataclass(frozen=True)
class FitForm(Form):
    """Measures of features and target, each from 0 to 1, and how the gradients are made.

    Gradients are means over records.
    """

    kind: Kind
    features: tuple[Measure, ...]
    target: Measure
    penalty: float
    steps: int

    @property
    def sources(self) -> tuple[Source, ...]:
        """None: it reads the snapshot by gradients."""
        return ()

    @property
    def slots(self) -> int:
        """None: gradients are never reported, so nothing is promised of them."""
        return 0

    @property
    def clip(self) -> float:
        """The longest gradient of a record, features and intercept being from -1 to 1.

        A logistic gradient is (p - y) z, and |p - y| < 1, so that none is cut. A linear one is
        where the prediction is off by more than half the range of the target.
        """
        return math.sqrt(1.0 + len(self.features))


@dataclass(frozen=True, repr=False, eq=False)
class Fit(Charged):
    """A regularised logistic or linear regression.

    >>> fit("logistic", target="ill", features={"age": (18, 90)}, price=100).canonical
    'fit(logistic, 100, 20, 0.001, fraction(ill), mean(age, 18, 90))'
    """

    kind: Kind
    target: Statistical
    features: tuple[Statistical, ...]
    penalty: float
    steps: int
    price: int
    text: str = field(compare=False)

    @cached_property
    def canonical(self) -> str:
        numbers = f"{self.price}, {self.steps}, {number(self.penalty)}"
        listed = ", ".join(part.canonical for part in (self.target, *self.features))
        return f"fit({self.kind}, {numbers}, {listed})"

    def form(self, schema: Schema) -> FitForm:
        return FitForm(
            self.canonical,
            self.kind,
            tuple(feature.measure(schema) for feature in self.features),
            self.target.measure(schema),
            self.penalty,
            self.steps,
            price=self.price,
        )

    def in_units(self, scaled: Sequence[float]) -> tuple[float, dict[str, float]]:
        """Intercept and coefficients in the units of features and target, given those on [-1, 1].

        A feature on [-1, 1] is 2 (x - low) / (high - low) - 1, a linear target the same.
        """
        low, high = (self.target.low, self.target.high) if self.kind == "linear" else (-1.0, 1.0)
        half, middle = 0.5 * (high - low), 0.5 * (high + low)
        intercept, found = middle + half * scaled[0], {}
        for feature, one in zip(self.features, scaled[1:], strict=True):
            slope = half * one * 2.0 / (feature.high - feature.low)
            found[write(feature.expression)] = slope
            intercept -= slope * 0.5 * (feature.low + feature.high)
        return intercept, found

    def predictor(self, scaled: Sequence[float]) -> str:
        """The fitted model in the query language, features cut off at their bounds."""
        intercept, slopes = self.in_units(scaled)
        said = number(intercept)
        for feature, slope in zip(self.features, slopes.values(), strict=True):
            # In this order a null is low, as it is in the fit: greatest and least pass over it.
            cut = f"least(greatest({write(feature.expression)}, {number(feature.low)})"
            said += f" + {number(slope)} * {cut}, {number(feature.high)})"
        return said

    def __repr__(self) -> str:
        names = ", ".join(write(feature.expression) for feature in self.features)
        return f"<fit: {self.kind} on {names} for {self.price} answers>"


def fit(
    kind: str,
    *,
    target: str,
    features: Mapping[str, tuple[float, float]],
    price: int,
    low: float | None = None,
    high: float | None = None,
    penalty: float = 1e-3,
    steps: int = 20,
) -> Fit:
    """Fit a ``logistic`` or ``linear`` regression of a target on features.

    Features are expressions with their bounds, at which they are cut off, as is the target of a
    linear one at ``low`` and ``high``. ``penalty`` times half the squared length of the
    coefficients (of features scaled to [-1, 1], without the intercept) is added to the mean loss.
    The ``price``, in answers, is shared by the ``steps`` of gradient descent, and a fifth of it
    goes into their directions: the higher, the less noise. Nothing is promised of the
    coefficients. What is: they leave every answer valid, also those that are asked about the
    fitted model, of the same records.
    """
    if not isinstance(kind, str) or kind not in ("logistic", "linear"):  # type: ignore[redundant-expr]
        raise InvalidInput("kind", "logistic or linear", kind)
    listed = _features(features)
    if kind == "logistic":
        if low is not None or high is not None:
            raise InvalidInput("low and high", "left out: the target is a condition", (low, high))
        aim = Statistical("fraction", parse(target), 0.0, 1.0, target)
    else:
        aim = Statistical("mean", parse(target), *check_bounds(low, high), target)
    return _build(kind, aim, listed, penalty, steps, price, "")


def _features(given: object) -> tuple[Statistical, ...]:
    if not isinstance(given, Mapping) or not 1 <= len(given) <= MOST_FEATURES:
        required = f"a mapping of 1 to {MOST_FEATURES:,} expressions to their bounds"
        raise InvalidInput("features", required, given)
    listed = []
    for text, bounds in given.items():
        if not isinstance(bounds, tuple | list) or len(bounds) != 2:
            raise InvalidInput(f"the bounds of {text!r}", "two numbers, low and high", bounds)
        listed.append(Statistical("mean", parse(text), *check_bounds(*bounds), text))
    return tuple(listed)


def _build(
    kind: str,
    target: Statistical,
    features: tuple[Statistical, ...],
    penalty: object,
    steps: object,
    price: object,
    text: str,
) -> Fit:
    required = "a number from 0 to a million"
    penalty = check_number("penalty", penalty, required, lambda x: 0.0 <= x <= 1e6)
    steps = check_whole("steps", steps, 1, MOST_STEPS)
    price = check_whole("price", price, 1, MOST_PRICE)
    expressions = [feature.inner for feature in features]
    if len(set(expressions)) < len(expressions):
        raise InvalidInput("features", "all different", ", ".join(expressions))
    fit = Fit(cast(Kind, kind), target, features, penalty, steps, price, text)
    return check_length(fit if text else replace(fit, text=fit.canonical))


def read_fit(parser: Parser, name: str) -> Fit:
    """What follows ``fit(``, as a ledger has it."""
    kind = parser.advance().value
    if kind not in ("logistic", "linear"):
        parser.refuse("a fit must be logistic or linear")
    numbers = []
    for what in ("price", "steps", "penalty"):
        if not parser.accept(","):
            hint = "for instance fit(logistic, 100, 20, 0.001, fraction(ill), mean(age, 18, 90))"
            parser.refuse(f"a fit needs its {what}", hint)
        numbers.append(parser.number(f"the {what} of a fit must be a number"))
    parts = []
    while parser.accept(","):
        which = parser.token.value.lower()
        if which not in ("fraction", "mean") or parser.following.value != "(":
            parser.refuse("target and features of a fit must be fraction(...) or mean(...)")
        parts.append(parser.brackets(read_statistical))
    kinds = ["fraction" if kind == "logistic" else "mean", *["mean"] * (len(parts) - 1)]
    if len(parts) < 2 or [part.kind for part in parts] != kinds:
        parser.refuse("a fit needs a target, and features that are means")
    price, steps, penalty = numbers
    if not (price.is_integer() and steps.is_integer()):
        parser.refuse("price and steps must be whole numbers")
    target, *features = parts
    return _build(kind, target, tuple(features), penalty, int(steps), int(price), parser.text)
