"""From noisy numbers to the body of an entry: one function for each kind of answer.

They are called when an answer is written, and again when it is replayed: what an entry says is a
function of its noisy numbers, its query, the plan and the round.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from surehold.ledger.entries import Entry
from surehold.ledger.policy import Policy
from surehold.queries import Derived, FitForm, Form, NumberForm, Reading, SelectForm, is_same

if TYPE_CHECKING:
    from surehold.ledger.ledger import Ledger


def number_body(form: NumberForm, units: Sequence[float], policy: Policy, t: int) -> dict[str, Any]:
    """One number with its interval, from a noisy unit in [0, 1]."""
    [unit] = units
    span = form.span_at(t)
    bounds = policy.widths.bounds(unit, form.low, form.high, form.bits, span)
    return {
        "kind": "number",
        "low": form.low,
        "high": form.high,
        "span": span,
        "bits": form.bits,
        "unit": unit,
        "value": scaled(unit, form.low, form.high, span),
        "width": bounds.width,
        "interval": [bounds.low, bounds.high],
        "sigma": policy.mechanism.sigma,
    }


def table_body(form: NumberForm, units: Sequence[float], policy: Policy, t: int) -> dict[str, Any]:
    """The noisy units of all cells, in order; their intervals follow from them."""
    assert form.labels is not None
    if len(units) != len(form.labels):
        raise ValueError("one unit for each cell")
    return {
        "kind": "table",
        "low": form.low,
        "high": form.high,
        "span": form.span_at(t),
        "bits": form.bits,
        "units": list(units),
        "width": policy.widths.of_form(form, t),
        "sigma": policy.mechanism.sigma,
    }


def choice_body(
    form: SelectForm, chosen: int, epsilon: float, allowance: float, policy: Policy, t: int
) -> dict[str, Any]:
    """Which candidate was chosen, and by how much its loss can exceed the best one's."""
    if not 0 <= chosen < len(form.candidates):
        raise ValueError("not one of the candidates")
    return {
        "kind": "choice",
        "chosen": chosen,
        "epsilon": epsilon,
        "allowance": allowance,
        "width": policy.widths.selected(form, t, epsilon, allowance).width,
    }


def _recompute_choice(
    form: SelectForm, body: Mapping[str, Any], policy: Policy, t: int
) -> dict[str, Any]:
    """Its parameter and its allowance are worked out by libraries, whose last digits may differ."""
    again = policy.widths.selection(form, t)
    epsilon, allowance = float(body["epsilon"]), float(body["allowance"])
    if not (math.isclose(epsilon, again.epsilon) and math.isclose(allowance, again.allowance)):
        raise ValueError("another mechanism than the one that was charged")
    return choice_body(form, body["chosen"], epsilon, allowance, policy, t)


def fit_body(form: FitForm, coefficients: Sequence[float]) -> dict[str, Any]:
    """The coefficients of a fit, as they came out."""
    whole = len(coefficients) == 1 + len(form.features) and all(map(math.isfinite, coefficients))
    if not whole:
        raise ValueError("one number for the intercept and for each feature")
    return {"kind": "fit", "coefficients": [float(one) for one in coefficients]}


def numbers_body(
    form: NumberForm, units: Sequence[float], policy: Policy, t: int
) -> dict[str, Any]:
    """One number, or a table of them."""
    build = number_body if form.labels is None else table_body
    return build(form, units, policy, t)


def recompute_body(form: Form, body: Mapping[str, Any], policy: Policy, t: int) -> dict[str, Any]:
    """The body that follows from the noisy numbers of an entry, worked out once more."""
    match form:
        case NumberForm():
            return numbers_body(form, units_of(body), policy, t)
        case SelectForm():
            return _recompute_choice(form, body, policy, t)
        case FitForm():
            return fit_body(form, body["coefficients"])
        case _:
            raise NotImplementedError(type(form).__name__)


def units_of(body: Mapping[str, Any]) -> list[float]:
    """The noisy numbers of an entry, as they were drawn."""
    units = [body["unit"]] if body["kind"] == "number" else body["units"]
    if not all(isinstance(unit, float | int) and 0.0 <= unit <= 1.0 for unit in units):
        raise ValueError("units lie in [0, 1]")
    return [float(unit) for unit in units]


def body_of(entry: Entry) -> dict[str, Any]:
    """The body of an entry; an answer from before there were several kinds is a number."""
    body = entry.read()
    if entry.kind == "answer" and "kind" not in body:
        return {**body, "kind": "number", "span": body["high"] - body["low"]}
    return body


def scaled(unit: float, low: float, high: float, span: float) -> float:
    """An answer on [0, 1] as one on [low, low + span], cut to [low, high]."""
    return min(max(low + unit * span, low), high)


def readings(entry: Entry, policy: Policy) -> list[Reading]:
    """The numbers of an entry, each with its interval."""
    body = body_of(entry)
    if body["kind"] == "table":
        low, high, bits, span = (body[name] for name in ("low", "high", "bits", "span"))
        found = []
        for unit in units_of(body):
            bounds = policy.widths.bounds(unit, low, high, bits, span)
            found.append(Reading(scaled(unit, low, high, span), (bounds.low, bounds.high)))
        return found
    if body["kind"] == "means":
        pairs = zip(body["values"], body["intervals"], strict=True)
        return [Reading(value, None if ends is None else tuple(ends)) for value, ends in pairs]
    interval = body["interval"]
    return [Reading(body["value"], None if interval is None else (interval[0], interval[1]))]


def derived_body(query: Derived, parts: Sequence[int], ledger: Ledger) -> dict[str, Any]:
    """What follows from the entries of the parts, which are those it asks for, at one round."""
    entries = [ledger.entry(seq) for seq in parts]
    rounds = {entry.read()["round"] for entry in entries}
    pairs = zip((entry.read()["canonical"] for entry in entries), query.parts, strict=True)
    if len(rounds) != 1 or not all(is_same(asked, part.canonical) for asked, part in pairs):
        raise ValueError("a derived answer has all its parts at one round")
    return dict(query.derive([readings(entry, ledger.policy) for entry in entries]))
