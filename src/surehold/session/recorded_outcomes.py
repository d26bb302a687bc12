"""Outcomes read from the ledger of a surprise guard."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from surehold.errors import LedgerCorrupt
from surehold.ledger.entries import Entry
from surehold.ledger.ledger import Ledger
from surehold.ledger.surprise_draft import asking_of_entry, came_as_expected
from surehold.ledger.surprise_policy import ASSUMPTIONS, THEOREM, to_bits
from surehold.mechanisms.outcomes.base import exact_number, scaled_value
from surehold.mechanisms.outcomes.selections import SelectAsking
from surehold.mechanisms.outcomes.tables import NumbersAsking, SharesAsking
from surehold.session.outcomes import (
    DecisionOutcome,
    LadderOutcome,
    NumberOutcome,
    Outcome,
    SelectionOutcome,
    TableOutcome,
)
from surehold.session.recorded_results import side_of
from surehold.session.results import Cell, when


def outcome_of(entry: Entry, ledger: Ledger, recorded: bool) -> Outcome:
    """The result that an entry of the ledger holds."""
    try:
        body = entry.read()
        common = _common(entry, body, ledger, recorded)
        match body["kind"]:
            case "cell":
                return _number(common, body)
            case "decision":
                parts = {name: body[name] for name in ("verdict", "side", "limit")}
                return DecisionOutcome(**common, **parts)
            case "steps":
                return LadderOutcome(**common, steps=body["steps"], step=body["step"])
            case "selection":
                return _selection(common, body, ledger)
            case "table":
                return _table(common, body, ledger)
            case other:
                raise ValueError(other)
    except (KeyError, TypeError, ValueError):
        raise LedgerCorrupt("the ledger", "it does not hold a whole answer", entry.seq) from None


def _common(
    entry: Entry, body: Mapping[str, Any], ledger: Ledger, recorded: bool
) -> dict[str, Any]:
    units, level = int(body["charge"]), body["level"]
    exact: dict[str, str | tuple[str, ...]] = {
        "surprise": body["charge"],
        "spent": body["after"]["spent"],
        "weights": tuple(body["weights"]),
    }
    return {
        "title": ledger.names.titles.get(body["canonical"]),
        "query": body["canonical"],
        "text": body["query"],
        "round": body["round"],
        "theorem": THEOREM,
        "beta": float(ledger.surprise.beta),
        "assumptions": ASSUMPTIONS,
        "analyst": body["analyst"],
        "time": when(body["time"]),
        "entry": entry.seq,
        "key": body.get("key"),
        "recorded": recorded,
        "claim": body["claim"],
        "level": None if level is None else float(level),
        "surprise": to_bits(units),
        "spent": to_bits(int(body["after"]["spent"])),
        "expected": _came_as_expected(body),
        **side_of(body["canonical"], ledger),
        "exact": MappingProxyType(exact if level is None else {**exact, "level": level}),
    }


def _came_as_expected(body: Mapping[str, Any]) -> bool | None:
    """Whether the heaviest outcome came; None if nothing was expected."""
    menu = body["menu"]
    match menu["kind"]:
        case "gate":
            weights = {name: exact_number(weight) for name, weight in menu["weights"].items()}
            if len({*menu["weights"].values()}) == 1:
                return None
            return weights[body["outcome"]] == max(weights.values())
        case "improvement":
            return bool(body["outcome"] == 0)
        case _:
            return came_as_expected(body)


def _number(common: Any, body: Mapping[str, Any]) -> NumberOutcome:
    low, high = body["interval"]
    least, most = body["range"]
    cell = None
    if body["cell"] is not None:
        scale = exact_number(least), exact_number(most)
        bottom, top = (exact_number(body["cell"][side]) for side in ("low", "high"))
        cell = (scaled_value(bottom, *scale), scaled_value(top, *scale))
    combined = body["combined"]
    return NumberOutcome(
        **common,
        value=body["value"],
        low=low,
        high=high,
        cell=cell,
        range=(least, most),
        combined=None if combined is None else (combined[0], combined[1]),
        records_at_least=body.get("records_at_least"),
    )


def _selection(common: Any, body: Mapping[str, Any], ledger: Ledger) -> SelectionOutcome:
    asking = asking_of_entry(ledger.schema, body)
    if not isinstance(asking, SelectAsking):
        raise ValueError("not a selection")
    return SelectionOutcome(
        **common,
        name=body["name"],
        index=body["chosen"],
        best=asking.form.best,
        candidates=len(asking.form.candidates),
        width=body["width"],
    )


def _table(common: Any, body: Mapping[str, Any], ledger: Ledger) -> TableOutcome:
    asking = asking_of_entry(ledger.schema, body)
    if not isinstance(asking, SharesAsking | NumbersAsking):
        raise ValueError("not a table")
    cells = zip(asking.labels, body["values"], body["intervals"], strict=True)
    return TableOutcome(
        **common,
        cells=tuple(Cell(*cell[:2], None if cell[2] is None else tuple(cell[2])) for cell in cells),
        range=(body["range"][0], body["range"][1]),
    )
