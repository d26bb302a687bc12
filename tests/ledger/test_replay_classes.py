"""Tampering with every kind of entry that tells something: verify recomputes what it can.

Noise is not kept, so three things have nothing but the hashes to speak for them: the noisy units of
a table (those of a number too, if value and interval are forged along with them), which candidate a
selection chose, and the coefficients of a fit. Whoever forges all hashes and the witness can change
these, within their ranges, and gains no budget by it.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import surehold as sh
from support.runtime import adaptive_plan, batch_plan, made, opened, records, sql
from support.tampering import (
    bodies,
    changed,
    copied,
    edit,
    fields_of,
    found_by,
    rehash,
    rewitness,
    write,
)
from support.workload import CASES, YOUTH, in_process
from surehold.ledger.answer_entries import number_body
from surehold.queries import form_of

# By what is told; the register is an entry of its own.
ASKED = {
    "number": "variance",
    "table": "bins",
    "choice": "select",
    "fit": "fit",
    "estimate": "rate",
    "verdict": "gate of a rate",
    "means": "means",
    "statistic": "statistic",
    "model": "confusion",
}
KINDS = (*ASKED, "register")


@pytest.fixture(scope="session")
def ledger(tmp_path_factory) -> tuple[Path, dict[str, int]]:
    """A dataset with all of them at two rounds, and the entries of the second."""
    path = tmp_path_factory.mktemp("classes") / "clinic"
    with pytest.MonkeyPatch.context() as patch, made(path, adaptive_plan(), 1500) as dataset:
        in_process(patch)
        dataset.register(YOUTH)
        found = {"register": dataset._ledger.head.seq}
        session = dataset.session("ann")
        for i in range(2):
            for kind, name in ASKED.items():
                key = f"key {i}" if kind == "verdict" else None  # or else it would be implied
                found[kind] = session.ask(CASES[name].query, key=key).entry
            session.ask("age > 1")  # so that none of them is the last
            dataset.append(records(dataset.n, dataset.n + 400))
        dataset.verify()
    return path, found


class Forgery:
    """A copy in which entries are edited, with all hashes and the witness made to fit."""

    def __init__(self, ledger: tuple[Path, dict[str, int]], path: Path) -> None:
        template, self.entries = ledger
        self.path = copied(template, path)
        self.first = 10**9

    def body(self, kind: str) -> dict[str, Any]:
        return bodies(self.path)[self.entries[kind]][1]

    def edit(self, kind: str, change: Callable[[dict[str, Any]], Any]) -> Forgery:
        body = self.body(kind)
        change(body)
        return self.write(self.entries[kind], json.dumps(body, ensure_ascii=False))

    def write(self, seq: int, text: str) -> Forgery:
        write(self.path, seq, text)
        self.first = min(self.first, seq)
        return self

    @property
    def found(self) -> sh.LedgerCorrupt | None:
        rehash(self.path, self.first)
        rewitness(self.path)
        found = found_by(self.path)
        return None if found is None else found[1]


@pytest.fixture
def forgery(ledger, tmp_path) -> Forgery:
    return Forgery(ledger, tmp_path / "forged")


def test_nothing_is_found_where_nothing_was_done(forgery) -> None:
    assert forgery.found is None
    told = {entry[1].get("kind") for entry in bodies(forgery.path).values()}
    assert told == {None, "number", "table", "choice", "fit", "estimate", "verdict", "means"}
    with opened(forgery.path) as dataset:
        assert len({type(result) for result in dataset.transcript}) == 6


# What only hashes speak for: who asked, in which words, and what came of noise. (Units that are
# changed may be out of range; they have tests of their own.)
ONLY_HASHED = {
    "choice": {("name",), ("chosen",)},
    "fit": {("coefficients",)},
    "table": {("units",)},
    "model": {("units",)},
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_that_is_left_out_or_changed(ledger, tmp_path, kind: str) -> None:
    template, entries = ledger
    seq = entries[kind]
    body = bodies(template)[seq][1]
    # What an analyst was charged is kept beside the entries, and a charge says what was asked. A
    # derived answer charges nobody; one that has a key counts as a free entry of its analyst.
    free = set(ONLY_HASHED.get(kind, set()))
    if kind in DERIVED:
        free |= {("query",)} | ({("analyst",)} if "free" not in body else set())
    for i, name in enumerate(fields_of(body)):
        for how in ("changed", "gone"):
            path = tmp_path / f"{i}-{how}"
            forged = Forgery(ledger, path).write(seq, edit(body, name, how))
            found = forged.found
            if how == "changed" and name == ("units",):
                pass
            elif how == "changed" and name in free:
                assert found is None, name
            else:
                assert found is not None, (name, how)
            counted = name in (("analyst",), ("free",), ("key",))  # as a whole, at the end
            if found is not None and kind != "register" and not counted:
                assert found.entry in (seq, seq + 1), (name, how, found)
            shutil.rmtree(path)


Numbers = [math.nan, math.inf, -1e-9, 1.0 + 1e-9, -5, "0.5", None, [], {}]


@pytest.mark.parametrize("bad", Numbers, ids=repr)
@pytest.mark.parametrize("kind", ["number", "table"])
def test_units_that_can_not_have_been_drawn(forgery, kind: str, bad: Any) -> None:
    def change(body: dict[str, Any]) -> None:
        if kind == "number":
            body["unit"] = bad
        else:
            body["units"][1] = bad

    found = forgery.edit(kind, change).found
    assert found is not None
    assert found.entry == forgery.entries[kind]


def test_a_number_with_everything_that_follows_from_it_forged_too(forgery) -> None:
    """As the module says: only hashes speak for noise."""
    with opened(forgery.path) as dataset:
        policy, schema = dataset._ledger.policy, dataset._ledger.schema

    def change(body: dict[str, Any]) -> None:
        form = form_of(body["canonical"], schema)
        body.update(number_body(form, [0.125], policy, body["round"]))

    assert forgery.edit("number", change).found is None


@pytest.mark.parametrize("kind", ["table", "model"])
def test_noisy_units_that_are_forged_within_their_range(forgery, kind: str) -> None:
    """As the module says: only hashes speak for noise."""

    def change(body: dict[str, Any]) -> None:
        body["units"] = [0.25] * len(body["units"])

    assert forgery.edit(kind, change).found is None


@pytest.mark.parametrize("cells", [0, 1, 2, 4])
def test_a_table_of_more_or_fewer_cells(forgery, cells: int) -> None:
    found = forgery.edit("table", lambda body: body.update(units=[0.5] * cells)).found
    assert found is not None
    assert found.entry == forgery.entries["table"]


@pytest.mark.parametrize(
    "change",
    [
        {"chosen": -1},
        {"chosen": 3},
        {"chosen": "1"},
        {"chosen": None},
        {"name": None},
        {"name": 7},
        {"epsilon": 1.0},
        {"epsilon": math.nan},
        {"epsilon": 0.0},
        {"allowance": 0.0},
        {"allowance": 1e9},
        {"allowance": math.nan},
        {"width": 0.0},
        {"width": 1e-3},
    ],
    ids=str,
)
def test_a_choice_that_can_not_be(forgery, change: dict[str, Any]) -> None:
    found = forgery.edit("choice", lambda body: body.update(change)).found
    assert found is not None
    assert found.entry == forgery.entries["choice"]


@pytest.mark.parametrize("factor", [0.5, 1 - 1e-6, 1 + 1e-6, 2.0])
@pytest.mark.parametrize("name", ["epsilon", "allowance"])
def test_a_choice_by_another_mechanism(forgery, name: str, factor: float) -> None:
    """Even if the width is made to fit."""
    with opened(forgery.path) as dataset:
        policy, schema = dataset._ledger.policy, dataset._ledger.schema

    def change(body: dict[str, Any]) -> None:
        body[name] *= factor
        form = form_of(body["canonical"], schema)
        place = (body["round"], body["epsilon"], body["allowance"])
        body["width"] = policy.widths.selected(form, *place).width

    found = forgery.edit("choice", change).found
    assert found is not None
    assert "another mechanism" in str(found) or "can't be what was written" in str(found)


def test_the_last_digits_of_a_mechanism_may_be_those_of_another_library(forgery) -> None:
    with opened(forgery.path) as dataset:
        policy, schema = dataset._ledger.policy, dataset._ledger.schema

    def change(body: dict[str, Any]) -> None:
        body["epsilon"] = math.nextafter(body["epsilon"], 1.0)
        body["allowance"] = math.nextafter(body["allowance"], 0.0)
        form = form_of(body["canonical"], schema)
        place = (body["round"], body["epsilon"], body["allowance"])
        body["width"] = policy.widths.selected(form, *place).width

    assert forgery.edit("choice", change).found is None


@pytest.mark.parametrize(
    "bad",
    [[], [0.1], [0.1] * 3, [0.1, math.nan], [math.inf, 0.1], [0.1, "0.2"], [0.1, None], None, 7],
    ids=str,
)
def test_coefficients_that_can_not_be(forgery, bad: Any) -> None:
    found = forgery.edit("fit", lambda body: body.update(coefficients=bad)).found
    assert found is not None
    assert found.entry == forgery.entries["fit"]


# ------------------------------------------------------------------------------ what is derived

DERIVED = ("estimate", "verdict", "means")


@pytest.mark.parametrize("kind", DERIVED)
def test_parts_that_are_other_entries(ledger, tmp_path, kind: str) -> None:
    template, entries = ledger
    seq, parts = entries[kind], bodies(template)[entries[kind]][1]["parts"]
    last = max(bodies(template))
    before = [  # the same questions at the round before
        next(s for s, (_, b) in bodies(template).items() if b.get("canonical") == c and s != part)
        for part in parts
        for c in [bodies(template)[part][1]["canonical"]]
    ]
    wrong = [[part + 1 for part in parts], [last] * len(parts), [1] * len(parts), [seq], [0], [-1]]
    wrong += [[], parts[:-1], [*parts, parts[0]], [10**9] * len(parts), before]
    wrong += [[before[0], *parts[1:]], None, ["x"]]
    wrong += [parts[::-1]] if len(parts) > 1 else []
    for i, listed in enumerate(wrong):
        if listed == parts:
            continue
        forged = Forgery(ledger, tmp_path / str(i))
        found = forged.edit(kind, lambda body, listed=listed: body.update(parts=listed)).found
        assert found is not None, listed
        assert found.entry == seq, listed


def test_parts_that_come_later(forgery) -> None:
    """An answer can't follow from one that was not given yet: the rate is put before its parts."""
    seq = forgery.entries["estimate"]
    first = min(forgery.body("estimate")["parts"])
    for a, b in (
        (seq, 10**6),
        *((s, s + 1) for s in range(seq - 1, first - 1, -1)),
        (10**6, first),
    ):
        sql(forgery.path, f"UPDATE entries SET seq = {b} WHERE seq = {a}")
        for table in ("asked", "keys"):
            sql(forgery.path, f"UPDATE {table} SET seq = {b} WHERE seq = {a}")
    body = bodies(forgery.path)[first][1]
    body["parts"] = [part + 1 for part in body["parts"]]
    found = forgery.write(first, json.dumps(body)).found
    assert found is not None
    assert found.entry == first


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("estimate", {"value": 0.5}),
        ("estimate", {"value": None}),
        ("estimate", {"interval": None}),
        ("estimate", {"interval": [0.0, 1.0], "value": 0.9}),
        ("estimate", {"range": [0.0, 2.0]}),
        ("verdict", {"verdict": "pass"}),
        ("verdict", {"limit": 0.0, "verdict": "pass"}),
        ("verdict", {"side": "at_most"}),
        ("verdict", {"value": 0.99}),
        ("means", {"values": [1.0, 2.0]}),
        ("means", {"values": [None, None], "intervals": [None, None]}),
        ("means", {"intervals": [[0.0, 50.0], [0.0, 50.0]]}),
    ],
    ids=str,
)
def test_what_does_not_follow_from_its_parts(forgery, kind: str, change: dict[str, Any]) -> None:
    found = forgery.edit(kind, lambda body: body.update(change)).found
    assert found is not None
    assert found.entry == forgery.entries[kind]


def test_a_verdict_on_another_question(forgery) -> None:
    """Limit and canonical text forged to agree: then the index leads elsewhere."""

    def change(body: dict[str, Any]) -> None:
        body["canonical"] = body["canonical"].replace("0.5", "0.01")
        body["limit"], body["verdict"] = 0.01, "pass"

    assert forgery.edit("verdict", change).found is not None


@pytest.mark.parametrize("kind", DERIVED)
def test_a_derived_answer_charges_nothing(forgery, kind: str) -> None:
    def change(body: dict[str, Any]) -> None:
        body["after"]["spent"] = str(int(body["after"]["spent"]) + 1)

    found = forgery.edit(kind, change).found
    assert found is not None
    assert found.entry == forgery.entries[kind]


# ------------------------------------------------------------------------ charges and counts


@pytest.mark.parametrize("kind", ["number", "table", "choice", "fit", "statistic", "model"])
@pytest.mark.parametrize("share", [0, 1, 3])
def test_a_charge_that_is_not_the_price(forgery, kind: str, share: int) -> None:
    """With the state after it, and all later ones, made to agree."""
    entries, seq = bodies(forgery.path), forgery.entries[kind]
    price = {"table": 2, "choice": 3, "fit": 4, "model": 2}.get(kind, 1)
    if share == price:
        return
    charge = int(entries[seq][1]["charge"]) // price
    less = charge * (price - share)
    for later in range(seq, max(entries) + 1):
        body = entries[later][1]
        body["after"]["spent"] = str(int(body["after"]["spent"]) - less)
        if later == seq:
            body["charge"] = str(charge * share)
        forgery.write(later, json.dumps(body, ensure_ascii=False))
    round = entries[seq][1]["round"]
    sql(forgery.path, f"UPDATE rounds SET price = price - {price - share} WHERE round = {round}")
    [(units,)] = sql(forgery.path, "SELECT units FROM spending")
    sql(forgery.path, "UPDATE spending SET units = ?", values=(str(int(units) - less),))
    found = forgery.found
    assert found is not None
    assert found.entry == seq


@pytest.mark.parametrize("kind", ["table", "choice", "fit", "model"])
def test_a_count_that_is_not_that_of_its_numbers(forgery, kind: str) -> None:
    """As one answer of the plan's, with all that follows made to agree."""
    entries, seq = bodies(forgery.path), forgery.entries[kind]
    off = {"table": 3, "choice": 3, "fit": 0, "model": 9}[kind] - 1
    for later in range(seq, max(entries) + 1):
        body = entries[later][1]
        body["after"]["answers"] -= off
        forgery.write(later, json.dumps(body, ensure_ascii=False))
    round = entries[seq][1]["round"]
    sql(forgery.path, f"UPDATE rounds SET answers = answers - {off} WHERE round = {round}")
    found = forgery.found
    assert found is not None
    assert found.entry == seq


@pytest.mark.parametrize("kind", ["number", "table", "choice", "fit", *DERIVED])
@pytest.mark.parametrize("round", [199, 1500, 2000, 2001, -1, "1900"])
def test_another_round(forgery, kind: str, round: Any) -> None:
    assert forgery.edit(kind, lambda body: body.update(round=round)).found is not None


@pytest.mark.parametrize("kind", ["number", "table", "choice", "fit", "estimate"])
def test_an_entry_of_one_kind_as_another(forgery, kind: str) -> None:
    for other in ("number", "table", "choice", "fit", "estimate", "verdict", "means", "poem", None):
        if other != kind:
            assert forgery.edit(kind, lambda body, o=other: body.update(kind=o)).found is not None


@pytest.mark.parametrize("kind", ["number", "table", "choice", "fit", *DERIVED])
def test_a_query_that_is_none(forgery, kind: str) -> None:
    for canonical in ("", "age >", "fraction(nobody > 1)", "fraction(age  > 1)", 7, None):
        change = {"canonical": canonical}
        assert forgery.edit(kind, lambda body, c=change: body.update(c)).found is not None


# --------------------------------------------------------------------------------- registers


@pytest.mark.parametrize("name", ["name", "constant", "power", "low", "high"])
def test_a_declaration_that_answers_rest_on(forgery, name: str) -> None:
    def change(body: dict[str, Any]) -> None:
        body["statistic"][name] = changed(body["statistic"][name])

    found = forgery.edit("register", change).found
    assert found is not None


@pytest.mark.parametrize("name", ["columns", "function"])
def test_a_declaration_s_function_has_only_its_hash(forgery, name: str) -> None:
    def change(body: dict[str, Any]) -> None:
        body["statistic"][name] = changed(body["statistic"][name])

    assert forgery.edit("register", change).found is None
    with (
        opened(forgery.path) as dataset,
        pytest.raises(sh.InvalidInput, match="as it was registered"),
    ):
        dataset.register(YOUTH)


@pytest.mark.parametrize("change", [{"constant": 0.5}, {"constant": 0}, {"power": 2}, {"low": 5}])
def test_a_declaration_that_can_not_be(forgery, change: dict[str, Any]) -> None:
    found = forgery.edit("register", lambda body: body["statistic"].update(change)).found
    assert found is not None
    assert found.entry == forgery.entries["register"]


def test_a_declaration_that_comes_after_the_answer(forgery) -> None:
    """Moved to the end: the answers before it rest on nothing."""
    seq, last = forgery.entries["register"], max(bodies(forgery.path))
    shifted = [(seq, 10**6), *((s, s - 1) for s in range(seq + 1, last + 1)), (10**6, last)]
    for a, b in shifted:
        for table in ("entries", "asked", "keys", "contents"):
            sql(forgery.path, f"UPDATE {table} SET seq = {b} WHERE seq = {a}")
    moved = bodies(forgery.path)
    for number, (_, body) in moved.items():
        for name in {"answer", "charged"} & body.keys():
            body[name] -= 1
        if {"answer", "charged", "parts"} & body.keys():
            body["parts"] = [part - 1 for part in body.get("parts", ())]
            forgery.write(number, json.dumps(body, ensure_ascii=False))
    body = moved[last][1]
    body["after"] = moved[last - 1][1]["after"]
    forgery.write(last, json.dumps(body, ensure_ascii=False))
    forgery.first = seq
    found = forgery.found
    assert found is not None
    assert found.entry == forgery.entries["statistic"] - 1 or "registered" in str(found)


def test_a_statistic_registered_twice(forgery) -> None:
    entries = bodies(forgery.path)
    last = max(entries)
    body = {**entries[forgery.entries["register"]][1], "after": entries[last][1]["after"]}
    values = (last + 1, json.dumps(body), b"")
    sql(forgery.path, "INSERT INTO entries VALUES (?, 'register', ?, ?)", values=values)
    forgery.first = last + 1
    found = forgery.found
    assert found is not None
    assert found.entry == last + 1


# ------------------------------------------------------------------------------ other plans


def test_batches_of_every_class_are_replayed(tmp_path, monkeypatch) -> None:
    in_process(monkeypatch)
    with made(tmp_path / "clinic", batch_plan(), 900) as dataset:
        dataset.register(YOUTH)
        session = dataset.session()
        for name in ("rate", "cells", "statistic"):  # price 5 at 800
            session.ask(CASES[name].query)
        session.hold(200)
        session.ask(CASES["fit"].query)
        verified = dataset.verify()
        assert verified.answers == 2 + 2 + 1
        with opened(dataset.path) as again:
            assert again.verify() == verified
            left = [again._ledger.filter.remaining(t) for t in (200, 800, 1400, 2000)]
            assert left == [dataset._ledger.filter.remaining(t) for t in (200, 800, 1400, 2000)]
        sql(dataset.path, "UPDATE rounds SET price = 9 - price")
        with pytest.raises(sh.LedgerCorrupt):
            opened(dataset.path)
