"""How each kind of query is answered: exact numbers, a mechanism and noise give an answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from surehold.data.record_store import Exact, parts_of
from surehold.ledger.answer_entries import choice_body, fit_body, numbers_body
from surehold.ledger.policy import Policy
from surehold.mechanisms import NoiseSource
from surehold.queries import (
    CheckedQuery,
    FitForm,
    Form,
    ModelMeasure,
    ModelPairs,
    NumberForm,
    SelectForm,
)


def names_model(form: CheckedQuery) -> bool:
    """Whether a model is asked about, or fitted: their time depends most on records."""
    if isinstance(form, FitForm):
        return True
    return any(
        isinstance(part, ModelMeasure | ModelPairs)
        for source in form.sources
        for part in parts_of(source)
    )


def draw_body(
    form: Form, exact: Sequence[Any], policy: Policy, t: int, noise: NoiseSource
) -> dict[str, Any]:
    """Draw the noise and build the body of the answer; nothing else may see the exact numbers."""
    match form:
        case NumberForm():
            return _numbers(form, exact[0], policy, t, noise)
        case SelectForm():
            return _choice(form, exact, policy, t, noise)
        case FitForm():
            [coefficients] = exact
            return fit_body(form, list(coefficients))  # noise was drawn at every step
        case _:
            raise NotImplementedError(type(form).__name__)


def _choice(
    form: SelectForm, exact: Sequence[Exact], policy: Policy, t: int, noise: NoiseSource
) -> dict[str, Any]:
    """The exponential mechanism on the candidates' units: t times each moves by at most 1."""
    from surehold.mechanisms.exponential import ExponentialMechanism  # loads SciPy

    selection = policy.widths.selection(form, t)
    common = math.lcm(*(one.denominator for one in exact))
    losses = []
    for one in exact:
        loss = one.numerators[0] if form.best == "lowest" else one.denominator - one.numerators[0]
        losses.append(t * loss * (common // one.denominator))
    chosen = ExponentialMechanism(selection.epsilon).choose(losses, common, noise.bits())
    return choice_body(form, chosen, selection.epsilon, selection.allowance, policy, t)


def _numbers(
    form: NumberForm, exact: Exact, policy: Policy, t: int, noise: NoiseSource
) -> dict[str, Any]:
    noisy, top = policy.mechanism.noisy, form.top_at(t)
    draws = noise.draw(len(exact.numerators))
    units = [
        min(noisy(total, exact.denominator, drawn), top)
        for total, drawn in zip(exact.numerators, draws, strict=True)
    ]
    return numbers_body(form, units, policy, t)
