"""From noisy numbers to what is told: one function for each kind of answer.

They are called when an answer is written, and again when it is replayed: what an entry says is a
function of its noisy numbers, its query, the plan and the round.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from surehold.errors import LedgerCorrupt
from surehold.ledger.entries import Entry
from surehold.ledger.policy import Policy
from surehold.queries import Derived, FitForm, Form, NumberForm, Reading, SelectForm

if TYPE_CHECKING:
    from surehold.ledger.ledger import Ledger


_alike = partial(math.isclose, rel_tol=1e-9)


def number_told(
    form: NumberForm, units: Sequence[float], policy: Policy, round: int
) -> dict[str, Any]:
    """One number with its interval, from a noisy unit in [0, 1]."""
    [unit] = units
    span = form.span_at(round)
    bounds = policy.bounds(unit, form.low, form.high, form.bits, span)
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


def table_told(
    form: NumberForm, units: Sequence[float], policy: Policy, round: int
) -> dict[str, Any]:
    """The noisy units of all cells, in order; their intervals follow from them."""
    assert form.labels is not None
    if len(units) != len(form.labels):
        raise ValueError("one unit for each cell")
    return {
        "kind": "table",
        "low": form.low,
        "high": form.high,
        "span": form.span_at(round),
        "bits": form.bits,
        "units": list(units),
        "width": policy.width_of(form, round),
        "sigma": policy.mechanism.sigma,
    }


def choice_told(
    form: SelectForm, chosen: int, epsilon: float, allowance: float, policy: Policy, round: int
) -> dict[str, Any]:
    """Which candidate was chosen, and by how much its loss can exceed the best one's."""
    if not 0 <= chosen < len(form.candidates):
        raise ValueError("not one of the candidates")
    return {
        "kind": "choice",
        "chosen": chosen,
        "epsilon": epsilon,
        "allowance": allowance,
        "width": policy.selected(form, round, epsilon, allowance).width,
    }


def _choice_again(
    form: SelectForm, body: Mapping[str, Any], policy: Policy, round: int
) -> dict[str, Any]:
    """Its parameter and its allowance are worked out by libraries, whose last digits may differ."""
    again = policy.selection(form, round)
    epsilon, allowance = float(body["epsilon"]), float(body["allowance"])
    if not (_alike(epsilon, again.epsilon) and _alike(allowance, again.allowance)):
        raise ValueError("another mechanism than the one that was charged")
    return choice_told(form, body["chosen"], epsilon, allowance, policy, round)


def fit_told(form: FitForm, coefficients: Sequence[float]) -> dict[str, Any]:
    """The coefficients of a fit, as they came out."""
    whole = len(coefficients) == 1 + len(form.features) and all(map(math.isfinite, coefficients))
    if not whole:
        raise ValueError("one number for the intercept and for each feature")
    return {"kind": "fit", "coefficients": [float(one) for one in coefficients]}


def numbers_told(
    form: NumberForm, units: Sequence[float], policy: Policy, round: int
) -> dict[str, Any]:
    """One number, or a table of them."""
    tell = number_told if form.labels is None else table_told
    return tell(form, units, policy, round)


def told_again(form: Form, body: Mapping[str, Any], policy: Policy, round: int) -> dict[str, Any]:
    """What the noisy numbers of an entry tell, worked out once more."""
    match form:
        case NumberForm():
            return numbers_told(form, units_of(body), policy, round)
        case SelectForm():
            return _choice_again(form, body, policy, round)
        case FitForm():
            return fit_told(form, body["coefficients"])
        case _:
            raise NotImplementedError(type(form).__name__)


def units_of(body: Mapping[str, Any]) -> list[float]:
    """The noisy numbers of an entry, as they were drawn."""
    units = [body["unit"]] if body["kind"] == "number" else body["units"]
    if not all(isinstance(unit, float | int) and 0.0 <= unit <= 1.0 for unit in units):
        raise ValueError("units lie in [0, 1]")
    return [float(unit) for unit in units]


def body_of(entry: Entry) -> dict[str, Any]:
    """What an entry says; an answer from before there were several kinds is a number."""
    body = entry.read()
    if entry.kind == "answer" and "kind" not in body:
        return {**body, "kind": "number", "span": body["high"] - body["low"]}
    return body


def scaled(unit: float, low: float, high: float, span: float) -> float:
    """An answer on [0, 1] as one on [low, low + span], cut to [low, high]."""
    return min(max(low + unit * span, low), high)


def readings(entry: Entry, policy: Policy) -> list[Reading]:
    """The numbers that an entry tells, each with its interval."""
    body = body_of(entry)
    if body["kind"] == "table":
        low, high, bits, span = (body[name] for name in ("low", "high", "bits", "span"))
        found = []
        for unit in units_of(body):
            bounds = policy.bounds(unit, low, high, bits, span)
            found.append(Reading(scaled(unit, low, high, span), (bounds.low, bounds.high)))
        return found
    if body["kind"] == "means":
        pairs = zip(body["values"], body["intervals"], strict=True)
        return [Reading(value, None if ends is None else tuple(ends)) for value, ends in pairs]
    interval = body["interval"]
    return [Reading(body["value"], None if interval is None else (interval[0], interval[1]))]


def derived_told(query: Derived, parts: Sequence[int], ledger: Ledger) -> dict[str, Any]:
    """What follows from the entries of the parts, which are those it asks for, at one round."""
    entries = [_entry(ledger, seq) for seq in parts]
    rounds = {entry.read()["round"] for entry in entries}
    asked = [entry.read()["canonical"] for entry in entries]
    if len(rounds) != 1 or asked != [part.canonical for part in query.parts]:
        raise ValueError("a derived answer has all its parts at one round")
    return dict(query.derive([readings(entry, ledger.policy) for entry in entries]))


def _entry(ledger: Ledger, seq: int) -> Entry:
    entry = ledger.store.entry(seq)
    if entry is None:
        raise LedgerCorrupt("the ledger", "a part of a derived answer is missing", seq)
    return entry
