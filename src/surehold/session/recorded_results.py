"""Results read from the ledger: each entry that holds an answer becomes its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from surehold.errors import LedgerCorrupt
from surehold.ledger.answer_entries import body_of, readings
from surehold.ledger.entries import Entry
from surehold.ledger.ledger import Ledger
from surehold.mechanisms import to_float
from surehold.queries import (
    Fit,
    GroupMeans,
    NumberForm,
    Reading,
    SelectForm,
    form_of,
    recorded_query,
)
from surehold.queries.coverage import covered_by
from surehold.queries.side_tables import mentions_table
from surehold.session.outcomes import OUTCOMES
from surehold.session.results import (
    NOISY_RESULTS,
    Answer,
    Cell,
    Choice,
    Estimate,
    Fitted,
    Result,
    Table,
    Verdict,
    when,
)

RESULTS: Mapping[str, type[Result]] = MappingProxyType(
    {kind.kind: kind for kind in (*NOISY_RESULTS, *OUTCOMES)}
)
"""Every class of result, by the ``kind`` that its dictionaries carry."""


def result_of(entry: Entry, ledger: Ledger, recorded: bool) -> Result:
    """The result that an entry of the ledger holds."""
    if ledger.rules.guard == "surprise":
        from surehold.session.recorded_outcomes import outcome_of  # loads SciPy

        return outcome_of(entry, ledger, recorded)
    plan = ledger.plan
    try:
        body = body_of(entry)
        units = int(body.get("charge", 0))
        common = {
            "title": ledger.names.titles.get(body["canonical"]),
            "query": body["canonical"],
            "text": body["query"],
            "round": body["round"],
            "certificate": plan.certificate,
            "theorem": plan.theorem,
            "beta": plan.beta,
            "assumptions": plan.assumptions,
            "charge": to_float(units),
            "price": units // ledger.policy.unit_charge(body["round"]),
            "remaining": to_float(ledger.policy.budget - int(body["after"]["spent"])),
            "answers_left": body["left"],
            "analyst": body["analyst"],
            "time": when(body["time"]),
            "entry": entry.seq,
            "key": body.get("key"),
            "recorded": recorded,
            **side_of(body["canonical"], ledger),
        }
        return _KINDS[body["kind"]](common, body, entry, ledger)
    except (KeyError, TypeError, ValueError):
        raise LedgerCorrupt("the ledger", "it does not hold a whole answer", entry.seq) from None


def side_of(canonical: str, ledger: Ledger) -> dict[str, Any]:
    """What people call the tables and models of a query, and the tables that it is about."""
    if not (mentions_table(canonical) or "'onnx:" in canonical):
        return {}
    named = ledger.kept
    names = {ref: str(body["name"]) for ref, body in named.items() if ref in canonical}
    among = tuple(names[ref] for ref in covered_by(recorded_query(canonical)))
    return {"names": MappingProxyType(names), "among": among}


def _answer(common: Any, body: Mapping[str, Any], entry: Entry, ledger: Ledger) -> Answer:
    low, high = body["interval"]
    place = (body["unit"], body["low"], body["high"], body["bits"], body["span"])
    return Answer(
        **common,
        value=body["value"],
        width=body["width"],
        interval=(low, high),
        range=(body["low"], body["high"]),
        terms=ledger.policy.widths.terms(*place),
        sigma=body["sigma"],
    )


def _table(common: Any, body: Mapping[str, Any], entry: Entry, ledger: Ledger) -> Table:
    form = form_of(body["canonical"], ledger.schema)
    if not isinstance(form, NumberForm) or form.labels is None:
        raise ValueError("not a table")
    cells = _cells(form.labels, readings(entry, ledger.policy))
    return Table(**common, cells=cells, width=body["width"], range=(body["low"], body["high"]))


def _cells(labels: tuple[str, ...], found: list[Reading]) -> tuple[Cell, ...]:
    return tuple(Cell(label, *reading) for label, reading in zip(labels, found, strict=True))


def _estimate(common: Any, body: Mapping[str, Any], entry: Entry, ledger: Ledger) -> Estimate:
    low, high = body["range"]
    [reading] = readings(entry, ledger.policy)
    return Estimate(
        **common,
        value=reading.value,
        interval=reading.interval,
        range=(low, high),
        parts=tuple(body["parts"]),
    )


def _verdict(common: Any, body: Mapping[str, Any], entry: Entry, ledger: Ledger) -> Verdict:
    [reading] = readings(entry, ledger.policy)
    return Verdict(
        **common,
        verdict=body["verdict"],
        side=body["side"],
        limit=body["limit"],
        value=reading.value,
        interval=reading.interval,
        parts=tuple(body["parts"]),
    )


def _choice(common: Any, body: Mapping[str, Any], entry: Entry, ledger: Ledger) -> Choice:
    form = form_of(body["canonical"], ledger.schema)
    if not isinstance(form, SelectForm):
        raise ValueError("not a selection")
    place = (form, body["round"], body["epsilon"], body["allowance"])
    return Choice(
        **common,
        name=body["name"],
        index=body["chosen"],
        best=form.best,
        candidates=len(form.candidates),
        width=body["width"],
        terms=ledger.policy.widths.selected(*place).terms,
    )


def _means(common: Any, body: Mapping[str, Any], entry: Entry, ledger: Ledger) -> Table:
    query = recorded_query(body["canonical"])
    if not isinstance(query, GroupMeans):
        raise ValueError("not means by group")
    labels = query.parts[0].form(ledger.schema).labels or ()
    low, high = body["range"]
    cells = _cells(labels, readings(entry, ledger.policy))
    return Table(**common, cells=cells, width=None, range=(low, high))


def _fitted(common: Any, body: Mapping[str, Any], entry: Entry, ledger: Ledger) -> Fitted:
    query = recorded_query(body["canonical"])
    if not isinstance(query, Fit):
        raise ValueError("not a fit")
    intercept, coefficients = query.in_units(body["coefficients"])
    return Fitted(
        **common,
        model=query.kind,
        intercept=intercept,
        coefficients=MappingProxyType(coefficients),
        predictor=query.predictor(body["coefficients"]),
    )


_KINDS: Mapping[str, Callable[[Any, Mapping[str, Any], Entry, Ledger], Result]] = {
    "number": _answer,
    "table": _table,
    "choice": _choice,
    "fit": _fitted,
    "means": _means,
    "estimate": _estimate,
    "verdict": _verdict,
}
