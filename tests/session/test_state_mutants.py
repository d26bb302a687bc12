"""That the state machine can fail: a mutant of each part that it is about is caught."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import Phase

import surehold as sh
from session.test_state_machine import faults, only, quick_models, run
from surehold.data.ids import IdFilter
from surehold.data.record_store import Exact, RecordStore
from surehold.ledger.draft import Draft
from surehold.ledger.filter import RecordFilter, UncommittedFilter
from surehold.ledger.ledger import Ledger
from surehold.ledger.policy import Policy
from surehold.ledger.store import Store
from surehold.ledger.tables import Spent
from surehold.ledger.view import View
from surehold.queries import FitForm, NumberForm, SelectForm
from surehold.session import session as sessions

__all__ = ["faults", "quick_models"]  # fixtures


def swallowed(self: Ledger) -> Any:
    """Tells although the commit failed."""

    @contextmanager
    def writing() -> Iterator[Draft]:
        try:
            with REAL["writing"](self) as draft:
                yield draft
        except sh.StorageFailed:
            pass

    return writing()


def of_all_records(self: RecordStore, sources: Any, round: int, progress: Any = None) -> Any:
    """All records where the first ``round`` are meant, which the divisor does not tell."""
    found = REAL["exact"](self, sources, self._ledger.refresh().records)
    return [
        Exact(exact.numerators, real.denominator)
        for exact, real in zip(found, REAL["exact"](self, sources, round), strict=True)
    ]


def free(kind: type) -> Any:
    """Counts answers of one kind, and charges nothing for them."""

    def take(self: Draft, analyst: str, form: Any, round: int) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            if isinstance(form, kind):
                patch.setattr(Policy, "charge", lambda *_: 0)
            return REAL["take"](self, analyst, form, round)

    return take


def of_another_round(query: Any, parts: Any, ledger: Ledger) -> Any:
    """Takes the first answers to its parts that there are, whatever their round."""
    first: dict[str, int] = {}
    for entry in ledger.store.entries():
        first.setdefault(entry.read().get("canonical", ""), entry.seq)
    told = REAL["derived_body"](query, parts, ledger)
    try:
        return REAL["derived_body"](query, [first[part.canonical] for part in query.parts], ledger)
    except ValueError:  # of two rounds
        return told


def charged_derived(self: Draft, body: Any, canonical: str, round: int, *more: Any, **free: Any):
    """Takes one answer off for what follows from others."""
    entry = REAL["add_derived"](self, body, canonical, round, *more, **free)
    self.filter.charge(round, self.policy.mechanism.charge(round))
    return entry


REAL: dict[str, Any] = {
    "writing": Ledger.writing,
    "exact": RecordStore.exact,
    "take": Draft._take,
    "add_answer": Draft.add_answer,
    "add_derived": Draft.add_derived,
    "derived_body": sessions.derived_body,
}

MUTANTS: dict[str, tuple[Any, str, Any]] = {
    "a filter that does not charge": (RecordFilter, "charge", lambda self, round, units: None),
    "a filter that admits one more": (
        RecordFilter,
        "remaining",
        lambda self, round, real=RecordFilter.remaining: real(self, round) + 2**150,
    ),
    "a filter that forgets after each answer": (
        UncommittedFilter,
        "commit",
        lambda self: self._whole,
    ),
    "a ledger that tells although its commit failed": (Ledger, "writing", swallowed),
    "a ledger that does not ask its witness": (Ledger, "_check_witnessed", lambda *_: None),
    "a snapshot that grows": (RecordStore, "exact", of_all_records),
    "a ledger whose time goes back": (Draft, "_now", lambda self: self._clock()),
    "appends that wait for no seal": (Store, "drop_pending", lambda self, stop: None),
    "a table charged as one answer": (NumberForm, "price", property(lambda form: 1)),
    "cells that are not counted": (NumberForm, "slots", property(lambda form: 1)),
    "a derived answer of another round": (sessions, "derived_body", of_another_round),
    "a selection that is free": (Draft, "_take", free(SelectForm)),
    "a fit that is free": (Draft, "_take", free(FitForm)),
    "a derived answer that is charged": (Draft, "add_derived", charged_derived),
    "an answer that is charged twice": (
        Draft,
        "add_answer",
        lambda self, body, form, t, charge, key: REAL["add_answer"](
            self, body, form, t, None, None if charge else key
        ),
    ),
    "known records that count again": (IdFilter, "take", lambda self, frame: frame),
    "a reservation that others spend": (View, "kept_from", lambda *_: Spent(0, 0)),
    "a table that nobody notes": (
        Draft,
        "keep",
        lambda self, of, name, about, *_, **__: {"of": of, "name": name, **about},
    ),
    "a charge that is forgotten": (Store, "note_charged", lambda *_: None),
    "a charge that is never settled": (Store, "drop_charged", lambda *_: None),
}


# Most are shown by any cases. These would take longer to meet.
SHOWN_BY = {
    "a selection that is free": ("select", "select the highest", "fraction"),
    "a fit that is free": ("fit", "fraction"),
    "a derived answer of another round": ("rate", "auc", "means"),
    "a derived answer that is charged": ("rate", "gate", "means"),
}


@pytest.mark.usefixtures("quick_models")
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(name: str, monkeypatch) -> None:
    monkeypatch.setattr(*MUTANTS[name])
    if name in SHOWN_BY:
        only(monkeypatch, *SHOWN_BY[name])
    caught = (AssertionError, sh.SureholdError, AttributeError, ValueError, KeyError)
    with pytest.raises(caught):
        run(300, 25, phases=[Phase.generate], report_multiple_bugs=False)
