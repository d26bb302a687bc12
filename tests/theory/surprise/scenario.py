"""A surprise guard on counts alone: just enough of one to play the golden scenario.

It keeps no records. Each step gives the observed counts, and this gives every number that the
golden file has for the step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from surehold.theory.surprise.claims.base import Statistic, exact_value
from surehold.theory.surprise.claims.betting import BettingMixture
from surehold.theory.surprise.claims.binomial import BinomialTail
from surehold.theory.surprise.claims.chernoff import Chernoff
from surehold.theory.surprise.claims.mixtures import CentredMixture, concentration
from surehold.theory.surprise.claims.selection import selection_gap
from surehold.theory.surprise.digits import text_of
from surehold.theory.surprise.intervals import fraction_interval, mean_interval
from surehold.theory.surprise.levels import (
    ClaimLevels,
    Level,
    claim_level,
    question_levels,
    selection_level,
)
from surehold.theory.surprise.menus.cells import Cell, Grid, half_cell
from surehold.theory.surprise.menus.lengths import MODEL_DIFFERENCE, ends_menu
from surehold.theory.surprise.menus.numbers import (
    NumberMenu,
    again_menu,
    expected_menu,
    known_menu,
    learned_doubt,
    plain_menu,
)
from surehold.theory.surprise.menus.records import RecordMenu
from surehold.theory.surprise.menus.verdicts import SelectionMenu, gate_menu
from surehold.theory.surprise.prices import bits, nats, price
from surehold.theory.surprise.shares import Shares
from theory.surprise.golden import real_end, sixteen_digits


@dataclass
class Question:
    c: int
    spent: int
    records: int
    levels: ClaimLevels
    first_round: int | None = None
    known: dict[int, Cell] = field(default_factory=dict)
    intersection: list[Any] | None = None

    def level(self, t: int) -> Level:
        level = self.levels.at(self.first_round == t)
        assert level is not None
        return level

    def is_once(self, t: int) -> bool:
        return self.first_round == t and self.levels.first is not None

    def statistic(self, count: int, t: int) -> Statistic:
        if self.is_once(t):
            return BinomialTail(count, t)
        assert self.levels.other is not None
        return CentredMixture(count, t, concentration(self.records, self.levels.other))


@dataclass
class Guard:
    beta: Fraction
    shares: Shares = field(default_factory=Shares)
    spent: int = 0
    claims: int = 0
    expectations: int = 0
    surprises: int = 0
    questions: dict[str, Question] = field(default_factory=dict)

    def play(self, step: dict[str, Any], records: int) -> dict[str, Any]:
        """Every number of a step, from its name, its parameters and its counts."""
        before = self.spent
        question = self.questions.get(step["question"])
        if question is None:
            question = self.register(step, records)
        if question.first_round is None and step["round"] is not None:
            question.first_round = step["round"]
        found = getattr(self, "_" + step["kind"])(step, question)
        weights = found.pop("weights_paid", ())
        prices = [price(weight) for weight in weights]
        self.spent += sum(prices)
        weight = Fraction(1)
        for factor in weights:
            weight *= factor
        return (
            found
            | {
                "c": question.c,
                "spent_at_registration_units": str(question.spent),
                "spent_before_units": str(before),
                "weight": str(weight),
                "price_units": str(sum(prices)),
                "spent_after_units": str(self.spent),
                "spent_after_nats": text_of(nats(self.spent)),
                "spent_after_bits": text_of(bits(self.spent)),
            }
            | ({"prices": [str(units) for units in prices]} if len(prices) > 1 else {})
        )

    def register(self, step: dict[str, Any], records: int) -> Question:
        share, self.shares = self.shares.default()
        self.claims += 1
        level = claim_level(self.beta, share, self.spent)
        kind = step["kind"]
        if kind == "selection":
            levels = ClaimLevels(selection_level(level, len(step["counts"])), None)
        else:
            rounds = "always" if kind in ("register", "difference") else "both"
            levels = question_levels(level, rounds)
        question = Question(self.claims, self.spent, records, levels)
        self.questions[step["question"]] = question
        return question

    def _register(self, step: dict[str, Any], question: Question) -> dict[str, Any]:
        return {"claim": "b", "l": str(question.levels.other)}

    def _plain(self, step: dict[str, Any], question: Question) -> dict[str, Any]:
        t = step["round"]
        # The rule's grid unless a finer or coarser one is asked for, as in steps 9 and 10.
        rule = half_cell(t, question.level(t), always=not question.is_once(t))
        e = Fraction(step["e"]) if t in question.known else rule
        known = question.known.get(t)
        menu = known_menu(Grid.plain(e), known) if known else plain_menu(e)
        shown = {"e": str(e), "cells": menu.last - menu.first + 1}
        return shown | self._number(step, question, menu)

    def _expected(self, step: dict[str, Any], question: Question) -> dict[str, Any]:
        given = {2: Fraction(1, 20), 3: Fraction(1, 10)}  # step 13 gives none
        doubt = given.get(step["step"], learned_doubt(self.expectations, self.surprises))
        g, e = Fraction(step["expect"]), Fraction(step["within"])
        return self._guessed(step, question, expected_menu(g, e, doubt), g, e)

    def _again(self, step: dict[str, Any], question: Question) -> dict[str, Any]:
        t, last = step["round"], question.known[max(question.known)]
        e = half_cell(t, question.level(t), always=True)
        menu = again_menu(last, e, learned_doubt(self.expectations, self.surprises))
        return self._guessed(step, question, menu, last.middle, e)

    def _guessed(
        self, step: dict[str, Any], question: Question, menu: NumberMenu, g: Fraction, e: Fraction
    ) -> dict[str, Any]:
        shown = {"expect": str(g), "within": str(e), "doubt": str(menu.doubt)}
        found = self._number(step, question, menu)
        self.expectations += 1
        self.surprises += menu.is_surprise(found["cell"])
        return shown | {"cells": [menu.first, menu.last]} | found

    def _number(self, step: dict[str, Any], question: Question, menu: NumberMenu) -> dict[str, Any]:
        t, count = step["round"], step["count"]
        assert NumberMenu.from_dict(menu.to_dict()) == menu
        k = menu.outcome(Fraction(count, t))
        cell, level = menu.cell(k), question.level(t)
        question.known[t] = cell
        least, most = cell.counts(t)
        low, high = question.statistic(least, t), question.statistic(most, t)
        ends = [real_end(low, level, upper=False), real_end(high, level, upper=True)]
        kappa = None if question.is_once(t) else concentration(question.records, level)
        shown = fraction_interval(cell, t, level, kappa)
        is_first = question.intersection is None
        if question.intersection is not None:
            past = question.intersection
            question.intersection = [max(ends[0], past[0]), min(ends[1], past[1])]
        else:
            question.intersection = ends
        found = {
            "claim": "a" if question.is_once(t) else "b",
            "l": str(level),
            "cell": k,
            "mean_cell": [str(cell.low), str(cell.high)],
            "counts_in_cell": [least, most],
            "count": count,
            "interval": [sixteen_digits(end) for end in ends],
            "shown": [f"{float(shown.low):.9f}", f"{float(shown.high):.9f}"],
            "weights_paid": [menu.weight(k)],
        }
        if not is_first:
            found["intersection"] = [sixteen_digits(end) for end in question.intersection]
        return found

    def _gate(self, step: dict[str, Any], question: Question) -> dict[str, Any]:
        t, count, level = step["round"], step["count"], question.level(step["round"])
        weights = {verdict: Fraction(text) for verdict, text in step["weights"].items()}
        menu = gate_menu(Fraction(step["threshold"]), weights)
        assert type(menu).from_dict(menu.to_dict()) == menu
        statistic = question.statistic(count, t)
        verdict = menu.outcome(statistic, level)
        return {
            "claim": "a" if question.is_once(t) else "b",
            "l": str(level),
            "threshold": step["threshold"],
            "weights": step["weights"],
            "verdict": verdict,
            "count": count,
            "statistic": text_of(exact_value(statistic, menu.threshold)),
            "weights_paid": [menu.weight(verdict)],
        }

    def _rate(self, step: dict[str, Any], question: Question) -> dict[str, Any]:
        t, level = step["round"], question.level(step["round"])
        record_menu = RecordMenu(t)
        record_cell = record_menu.outcome(step["records"])
        m = record_menu.at_least(record_cell)
        e = half_cell(m, level, always=False)
        menu = plain_menu(e)
        k = menu.outcome(Fraction(step["count"], step["records"]))
        cell = menu.cell(k)
        ends = [
            real_end(Chernoff(cell.low, m), level, upper=False),
            real_end(Chernoff(cell.high, m), level, upper=True),
        ]
        shown = mean_interval(cell, m, level, always=False)
        return {
            "claim": "a",
            "l": str(level),
            "records": step["records"],
            "count": step["count"],
            "records_at_least": m,
            "record_cells": (1 / record_menu.weight(record_cell)).numerator,
            "record_cell": record_cell,
            "e": str(e),
            "cells": menu.last - menu.first + 1,
            "cell": k,
            "mean_cell": [str(cell.low), str(cell.high)],
            "interval": [sixteen_digits(end) for end in ends],
            "shown": [f"{float(shown.low):.9f}", f"{float(shown.high):.9f}"],
            "weights_paid": [record_menu.weight(record_cell), menu.weight(k)],
        }

    def _selection(self, step: dict[str, Any], question: Question) -> dict[str, Any]:
        menu, level = SelectionMenu.equal(len(step["counts"])), question.level(step["round"])
        chosen = menu.outcome(step["counts"])
        return {
            "claim": "c",
            "l": str(level),
            "counts": step["counts"],
            "outcome": chosen,
            "chosen": step["question"].removeprefix("best of ").split()[chosen],
            "within_of_best": sixteen_digits(selection_gap(step["round"], level)),
            "weights_paid": [menu.weight(chosen)],
        }

    def _difference(self, step: dict[str, Any], question: Question) -> dict[str, Any]:
        t, level = step["round"], question.level(step["round"])
        mixture = BettingMixture.of({Fraction(z): n for z, n in step["values"].items()})
        menu = ends_menu(t, level, MODEL_DIFFERENCE)
        first, length = menu.outcome(mixture, level)
        told = menu.interval(first, length)
        ends = [real_end(mixture, level, upper=side) for side in (False, True)]
        return {
            "claim": "K",
            "l": str(level),
            "values": step["values"],
            "e": str(menu.width / 2),
            "cells": (1 / menu.first_weight(first)).numerator,
            "first": first,
            "length": length,
            "length_expected": menu.expected,
            "told": [str(2 * told.low - 1), str(2 * told.high - 1)],
            "claim_alone": [sixteen_digits(2 * end - 1) for end in ends],
            "weights_paid": [menu.first_weight(first), menu.length_weight(length)],
        }
