"""Texts never flow through a choice: whatever reads a text is moved into the choice's branches.

``upper(case when p then a else b end) = 'X'`` becomes ``case when p then upper(a) = 'X' else
upper(b) = 'X' end``, and ``upper('...')`` is worked out here. So an engine chooses among numbers
and booleans only, which all have the same width, and reads texts only as columns hold them; else
the time of an answer would tell how many records take the branch with the longer text.

The value is the same on every record. It is for evaluation only: the canonical text, by which
recorded answers are known, is that of the expression as it was written.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from surehold.queries import expressions as ex
from surehold.queries.expressions import Expression, Type

Reader: TypeAlias = Callable[[Expression], Expression]
"""Makes an expression of one that is a column of texts, in lower or upper case, or a literal."""

NUMERAL = r"[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?"
"""What a text has to be, as a whole, to be read as a number: language.md, "Casts"."""

_NUMERAL = re.compile(NUMERAL)
_ORDERS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CASES = {"lower": bytes.lower, "upper": bytes.upper}
_TESTS: dict[str, Callable[[bytes, bytes], bool]] = {
    "starts_with": bytes.startswith,
    "ends_with": bytes.endswith,
    "contains": operator.contains,
}


def distribute(node: Expression) -> Expression:
    """A checked tree in which no number or boolean is read from a choice among texts.

    Of a text it makes either a column, in lower or upper case, or a literal, or a `Case` of such.
    """
    match node:
        case ex.Case(branches, otherwise):
            cases = tuple((distribute(when), distribute(then)) for when, then in branches)
            return replace(node, branches=cases, otherwise=distribute(otherwise))
        case ex.Choice("coalesce", parts) if node.type is Type.TEXT:
            return _coalesce([distribute(part) for part in parts])
        case ex.Compare(_, left, right) if left.type is Type.TEXT:
            return _compare(node, distribute(left), distribute(right))
        case (
            ex.Function(operand)
            | ex.ToNumber(operand)
            | ex.In(operand)
            | ex.IsNull(operand)
            | ex.TextTest(operand)
            | ex.Position(operand)
        ) if operand.type is Type.TEXT:
            return _move(distribute(operand), lambda text: _apply(node, text))
        case _:
            return node.rebuild(tuple(map(distribute, node.children)))


def _move(text: Expression, reader: Reader) -> Expression:
    """What a reader makes of a text, in each of the branches that the text has."""
    if not isinstance(text, ex.Case):
        return reader(text)
    cases = tuple((when, _move(then, reader)) for when, then in text.branches)
    return replace(text, branches=cases, otherwise=_move(text.otherwise, reader))


def _coalesce(parts: list[Expression]) -> Expression:
    """``coalesce``, of which the last part needs no test: null or not, it is all that is left."""
    *tested, last = parts
    known = (ex.Not(_move(part, lambda text: _apply(ex.IsNull(text), text))) for part in tested)
    return ex.Case(tuple(zip(known, tested, strict=True)), last)


def _compare(node: ex.Compare, left: Expression, right: Expression) -> Expression:
    def compared(one: Expression, other: Expression) -> Expression:
        if isinstance(one, ex.Null) or isinstance(other, ex.Null):
            return ex.Null(Type.BOOLEAN)
        if isinstance(one, ex.Text) and isinstance(other, ex.Text):
            return ex.Truth(_ORDERS[node.operator](one.value.encode(), other.value.encode()))
        return replace(node, left=one, right=other)

    return _move(left, lambda one: _move(right, lambda other: compared(one, other)))


def _apply(node: Expression, text: Expression) -> Expression:
    """A function or test of a text that is no choice; what needs no record is worked out."""
    match node:
        case ex.IsNull():
            if isinstance(text, ex.Null | ex.Text):
                return ex.Truth(isinstance(text, ex.Null))
            return ex.IsNull(_strip_case(text))
        case _ if isinstance(text, ex.Null):
            return ex.Null(node.type)
        case _ if isinstance(text, ex.Text):
            return _evaluate(node, text.value)
        case ex.Function(_, function):
            return ex.Function(_strip_case(text), function)
        case ex.ToNumber():
            # A numeral has no letter but e, in either case.
            return ex.ToNumber(_strip_case(text))
        case _:
            return node.rebuild((text,))


def _strip_case(text: Expression) -> Expression:
    """The column itself, where lower or upper case makes no difference."""
    return text.operand if isinstance(text, ex.Function) else text


def _evaluate(node: Expression, value: str) -> Expression:
    """What a function or test makes of a literal: language.md, "The exact meaning"."""
    match node:
        case ex.Function(_, "length"):
            return ex.Number(float(len(value)))
        case ex.Function(_, case):
            return ex.Text(_CASES[case](value.encode()).decode())
        case ex.ToNumber():
            # Minus zero is zero.
            return (
                ex.Number(float(value) + 0.0) if _NUMERAL.fullmatch(value) else ex.Null(Type.NUMBER)
            )
        case ex.In(_, values):
            return ex.Truth(value in values)
        case ex.TextTest(_, test, part):
            return ex.Truth(_TESTS[test](value.encode(), part.encode()))
        case ex.Position(_, values):
            return (
                ex.Number(float(values.index(value))) if value in values else ex.Null(Type.NUMBER)
            )
        case _:
            raise NotImplementedError(type(node).__name__)
