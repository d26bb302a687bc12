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

from surehold.queries.expressions import (
    Case,
    Choice,
    Compare,
    Expression,
    Function,
    In,
    IsNull,
    Not,
    Null,
    Number,
    Position,
    Text,
    TextTest,
    ToNumber,
    Truth,
    Type,
)

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
        case Case(branches, otherwise):
            cases = tuple((distribute(when), distribute(then)) for when, then in branches)
            return replace(node, branches=cases, otherwise=distribute(otherwise))
        case Choice("coalesce", parts) if node.type is Type.TEXT:
            return _coalesce([distribute(part) for part in parts])
        case Compare(_, left, right) if left.type is Type.TEXT:
            return _compare(node, distribute(left), distribute(right))
        case (
            Function(operand)
            | ToNumber(operand)
            | In(operand)
            | IsNull(operand)
            | TextTest(operand)
            | Position(operand)
        ) if operand.type is Type.TEXT:
            return _move(distribute(operand), lambda text: _apply(node, text))
        case _:
            return node.rebuild(tuple(map(distribute, node.children)))


def _move(text: Expression, reader: Reader) -> Expression:
    """What a reader makes of a text, in each of the branches that the text has."""
    if not isinstance(text, Case):
        return reader(text)
    cases = tuple((when, _move(then, reader)) for when, then in text.branches)
    return replace(text, branches=cases, otherwise=_move(text.otherwise, reader))


def _coalesce(parts: list[Expression]) -> Expression:
    """``coalesce``, of which the last part needs no test: null or not, it is all that is left."""
    *tested, last = parts
    known = (Not(_move(part, lambda text: _apply(IsNull(text), text))) for part in tested)
    return Case(tuple(zip(known, tested, strict=True)), last)


def _compare(node: Compare, left: Expression, right: Expression) -> Expression:
    def compared(one: Expression, other: Expression) -> Expression:
        if isinstance(one, Null) or isinstance(other, Null):
            return Null(Type.BOOLEAN)
        if isinstance(one, Text) and isinstance(other, Text):
            return Truth(_ORDERS[node.operator](one.value.encode(), other.value.encode()))
        return replace(node, left=one, right=other)

    return _move(left, lambda one: _move(right, lambda other: compared(one, other)))


def _apply(node: Expression, text: Expression) -> Expression:
    """A function or test of a text that is no choice; what needs no record is worked out."""
    match node:
        case IsNull():
            if isinstance(text, Null | Text):
                return Truth(isinstance(text, Null))
            return IsNull(_strip_case(text))
        case _ if isinstance(text, Null):
            return Null(node.type)
        case _ if isinstance(text, Text):
            return _evaluate(node, text.value)
        case Function(_, function):
            return Function(_strip_case(text), function)
        case ToNumber():
            # A numeral has no letter but e, in either case.
            return ToNumber(_strip_case(text))
        case _:
            return node.rebuild((text,))


def _strip_case(text: Expression) -> Expression:
    """The column itself, where lower or upper case makes no difference."""
    return text.operand if isinstance(text, Function) else text


def _evaluate(node: Expression, value: str) -> Expression:
    """What a function or test makes of a literal: language.md, "The exact meaning"."""
    match node:
        case Function(_, "length"):
            return Number(float(len(value)))
        case Function(_, case):
            return Text(_CASES[case](value.encode()).decode())
        case ToNumber():
            # Minus zero is zero.
            return Number(float(value) + 0.0) if _NUMERAL.fullmatch(value) else Null(Type.NUMBER)
        case In(_, values):
            return Truth(value in values)
        case TextTest(_, test, part):
            return Truth(_TESTS[test](value.encode(), part.encode()))
        case Position(_, values):
            return Number(float(values.index(value))) if value in values else Null(Type.NUMBER)
        case _:
            raise NotImplementedError(type(node).__name__)
