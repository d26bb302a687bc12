"""Inheritance: what a successor takes over besides records and what was spent.

Statistics, models, side tables and names of questions are inert, and reservations are rights: each
is noted again in the new ledger, under the analyst it was of. Rows of side tables about erased
records are left out, so that such a table has a new hash. What no longer fits is left out as well.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from surehold.data.frames import compact
from surehold.data.table_store import TableStore
from surehold.errors import InvalidInput, LedgerCorrupt
from surehold.ledger.draft import Draft
from surehold.ledger.names import KeptName
from surehold.ledger.tables import Spent
from surehold.queries import Schema
from surehold.session.dataset import Dataset
from surehold.session.questions import Questions


def inherit(old: Dataset, made: Dataset, erased: pl.Series | None) -> None:
    """Note in a successor what its predecessor has; ``erased`` are the ids of erased records."""
    for model in old.models:
        content = old.model_content(model.model)
        assert content is not None
        made.keep_model(content)  # its name is noted below
    ledger, tables = old._ledger, old._data.table_store
    with made._ledger.writing() as draft:
        draft.limits_free = False
        for statistic in ledger.registered.values():
            draft.register(statistic)
        for noted in ledger.kept.values():
            if not str(noted["of"]).startswith("table:"):
                about = {"bytes": noted["bytes"]}
                draft.keep(noted["of"], noted["name"], about, noted["analyst"], is_chosen=True)
            else:
                _inherit_table(tables, made._data.table_store, draft, noted, erased)
        reserved = [entry.read() for entry in ledger.store.of_kind("reserve")]
        for analyst, body in {str(body["analyst"]): body for body in reserved}.items():
            kept = Spent(int(body["units"]), int(body["answers"]))
            if any(kept):
                draft.reserve(analyst, body["amount"], kept)
    _inherit_names(old, made)


def names_of(dataset: Dataset) -> dict[str, tuple[str, ...]]:
    """The names of what can be taken over, by what they name."""
    models = {one["name"] for one in dataset._ledger.kept.values()}
    tables = tuple(table.name for table in dataset.tables)
    return {
        "tables": tables,
        "models": tuple(sorted(models - {*tables})),
        "questions": tuple(question.name for question in dataset.dashboard.questions),
        "reservations": tuple(one.analyst for one in dataset.reservations),
    }


def _inherit_table(
    old: TableStore, new: TableStore, draft: Draft, noted: dict[str, Any], erased: pl.Series | None
) -> None:
    """Store a table without rows of erased records, if it is at hand and its ids are the same."""
    frame = old.frame(noted["of"])
    try:
        if frame is None:
            return
        schema = Schema.of(noted["columns"])
        id = new.check_id(schema)
        rest = frame
        if erased is not None:  # compact, as filtered texts keep the bytes of all of them
            rest = compact(frame.filter(~frame[id].is_in(erased.implode())))
        if rest.height:
            of, about = new.write(schema, rest)
            draft.keep(of, noted["name"], about, noted["analyst"], is_chosen=True)
    except InvalidInput:
        return


def _inherit_names(old: Dataset, made: Dataset) -> None:
    """Name the questions again that can still be asked; an ask claims their intervals."""
    questions = Questions(made._ledger, made._data.table_store)
    found: list[tuple[KeptName, str]] = []
    for entry in old._ledger.store.of_kind("name"):
        try:
            _, kept = questions.named(KeptName.of_entry(entry).question)
        except (InvalidInput, LedgerCorrupt):
            continue  # a column or a table of it is another one now
        found.append((kept, entry.read()["analyst"]))
    with made._ledger.writing() as draft:
        draft.limits_free = False
        for kept, analyst in found:
            draft.add_name(kept, analyst)
