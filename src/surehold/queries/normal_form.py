"""One tree for all ways to write the same: whatever is equal on every record, nulls included.

Every rule holds by the exact meaning (language.md): numbers are finite doubles with one zero, their
order and that of texts is total, every operation rounds symmetrically, and ``and``, ``or`` and
``not`` are Kleene's. So the opposite of ``x <= 5`` is ``x > 5`` (both are unknown where x is null),
De Morgan's laws hold, and sums and products commute. They do not associate, and ``a - b > 0`` is
not ``a > b``: a difference may be rounded to zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TypeAlias

from surehold.queries import expressions as ex
from surehold.queries.expressions import Expression
from surehold.queries.parser import LARGEST_DEPTH, LARGEST_SIZE
from surehold.queries.writer import write

_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_DUAL = {"and": "or", "or": "and"}
_LOGIC = (ex.Not, ex.Connective, ex.Compare, ex.In, ex.Truth)
_LITERAL = (ex.Number, ex.Text, ex.Time, ex.Truth, ex.Null)
_CHAIN = (ex.Arithmetic, ex.Elapsed)

Signed: TypeAlias = tuple[bool, Expression]
"""Whether a number is negated, and what it is without its sign."""

_is_recorded: ContextVar[bool] = ContextVar("is_recorded", default=False)


def is_recorded() -> bool:
    """Whether queries are read as a ledger has them."""
    return _is_recorded.get()


@contextmanager
def recorded() -> Iterator[None]:
    """Read queries as a ledger has them: earlier versions kept them as they were written."""
    token = _is_recorded.set(True)
    try:
        yield
    finally:
        _is_recorded.reset(token)


def normal_form(node: Expression, counts_true: bool = False) -> Expression:
    """The tree that stands for all ways to write an expression, checked or not.

    ``counts_true`` says that false and unknown make no difference, as in a fraction. An expression
    that would outgrow the limits stays as it is.

    >>> from surehold.queries.parser import parse
    >>> write(normal_form(parse("not (b and 5 >= x) or x in (7, 6) or 8 = x")))
    'not b or x > 5 or x in (6, 7, 8)'
    """
    if _is_recorded.get():
        return node
    found = _boolean(node, False, True) if counts_true else _normal(node)
    return found if _is_within_limits(found) else node


def canonical(expression: Expression, counts_true: bool = False) -> str:
    """The canonical text: one for all ways to write an expression.

    >>> from surehold.queries.parser import parse
    >>> canonical(parse("NOT((a)!=1.50) AND b  BETWEEN 1 and (2+c)*3"))
    'a = 1.5 and b <= (c + 2) * 3 and b >= 1'
    """
    return write(normal_form(expression, counts_true))


def _is_within_limits(node: Expression) -> bool:
    # No tree is deeper than it is large, and most are small.
    return node.size <= LARGEST_DEPTH or (node.size <= LARGEST_SIZE and node.depth <= LARGEST_DEPTH)


def _normal(node: Expression) -> Expression:
    """The normal form of any node, where unknown and false are different."""
    match node:
        case ex.Column() | ex.Number() | ex.Text() | ex.Time() | ex.Null():
            return node
        case ex.Not() | ex.Connective() | ex.Compare() | ex.In() | ex.Truth():
            return _boolean(node, False)
        case ex.Case(branches, otherwise):
            cases = tuple((_boolean(when, False, True), _normal(then)) for when, then in branches)
            return replace(node, branches=cases, otherwise=_normal(otherwise))
    # No generator: chains are long, and its frames would count against the recursion limit.
    inner = node.rebuild(tuple(map(_normal, node.children)))
    _is_within_limits(inner)  # from the bottom, as Python can't recurse far enough into a chain
    match inner:
        case ex.Negate(operand):
            return _with_sign(True, operand)
        case ex.Arithmetic():
            return _arithmetic(inner)
        case ex.Choice():
            return _choice(inner)
        case ex.Function(operand, "abs"):
            return replace(inner, operand=_oriented(operand)[1])
        case ex.IsNull(ex.Not(operand) | ex.Negate(operand)):
            return replace(inner, operand=operand)
        case _:
            return inner


# -------------------------------------------------------------------------- booleans


def _boolean(node: Expression, negated: bool, counts_true: bool = False) -> Expression:
    """A boolean or its negation, with every ``not`` moved inwards as far as it goes."""
    match node:
        case ex.Not(operand):
            return _boolean(operand, not negated, counts_true)
        case ex.Truth(value):
            return replace(node, value=value is not negated)
        case ex.Connective(operator):
            operator = _DUAL[operator] if negated else operator
            return _join(operator, [*_parts(operator, node, negated, counts_true)], node.position)
        case ex.Compare():
            return _compare(node, negated, counts_true)
        case ex.In(operand, values):
            return _listed(_normal(operand), values, negated, node.position)
    found = _normal(node)
    if counts_true:
        match found:
            case ex.Choice("coalesce", (operand, ex.Truth(value))) if value is negated:
                # It makes what is unknown count as not true, which it does anyway.
                return _boolean(operand, negated, True)
    if isinstance(found, _LOGIC):  # it has become something simpler
        return _boolean(found, negated, counts_true)
    return ex.Not(found, position=found.position) if negated else found


def _parts(
    operator: str, node: Expression, negated: bool, counts_true: bool
) -> Iterator[Expression]:
    """What a node, or its negation, contributes to a connective."""
    match node:
        case ex.Not(operand):
            yield from _parts(operator, operand, not negated, counts_true)
        case ex.Connective(found, parts) if (found == operator) is not negated:
            for part in parts:
                yield from _parts(operator, part, negated, counts_true)
        case _:
            yield _boolean(node, negated, counts_true)


def _join(operator: str, parts: Sequence[Expression], position: int) -> Expression:
    """A connective: nothing twice, in order, and equalities with one operand as a list."""
    absorbing = operator == "or"
    known: dict[str, Expression] = {}
    for part in parts:
        same = isinstance(part, ex.Connective) and part.operator == operator
        for one in part.children if same else (part,):
            if isinstance(one, ex.Truth):
                if one.value is absorbing:
                    return one
                continue  # true and x, false or x
            known[write(one)] = one
    merged = _merge_lists(known, operator == "and")
    if not merged:
        return ex.Truth(not absorbing, position=position)
    ordered = tuple(merged[text] for text in sorted(merged))
    return ordered[0] if len(ordered) == 1 else ex.Connective(operator, ordered, position=position)


def _merge_lists(parts: Mapping[str, Expression], negated: bool) -> dict[str, Expression]:
    """``x = 1 or x in (2, 3)`` is one list, and so is ``x <> 1 and not x in (2, 3)``.

    Both the parts and what is returned are known by their texts.
    """
    merged: dict[str, Expression] = {}
    lists: dict[tuple[str, type], list[tuple[Expression, tuple[float | str, ...]]]] = {}
    for written, part in parts.items():
        found = _as_list(part, negated)
        if found is None:
            merged[written] = part
        else:
            lists.setdefault((write(found[0]), type(found[1][0])), []).append(found)
    for several in lists.values():
        operand = several[0][0]
        values = tuple(value for _, some in several for value in some)
        one = _listed(operand, values, negated, operand.position)
        merged[write(one)] = one
    return merged


def _as_list(part: Expression, negated: bool) -> tuple[Expression, tuple[float | str, ...]] | None:
    """An operand and the values that it equals, or does not equal."""
    match part:
        case ex.Not(ex.In(operand, values)) if negated:
            return operand, values
        case ex.In(operand, values) if not negated:
            return operand, values
        case ex.Compare(operator, left, ex.Number(value) | ex.Text(value) | ex.Time(value)):
            return (left, (value,)) if operator == ("<>" if negated else "=") else None
        case _:
            return None


def _listed(
    operand: Expression, values: Sequence[float | str], negated: bool, position: int
) -> Expression:
    """``in``, or ``=`` with a single value."""
    ordered = tuple(sorted(set(values)))
    if len(ordered) == 1:
        [value] = ordered
        is_time = type(value) is int  # days or microseconds: the checker has seen it
        operand_type = operand.type if is_time else None
        literal: Expression
        if isinstance(value, str):
            literal = ex.Text(value)
        elif operand_type is None:
            literal = ex.Number(value)
        else:
            literal = ex.Time(int(value), operand_type)
        return _compare(ex.Compare("=", operand, literal, position=position), negated)
    found = ex.In(operand, ordered, position=position)
    return ex.Not(found, position=position) if negated else found


def _compare(node: ex.Compare, negated: bool, counts_true: bool = False) -> Expression:
    """A comparison: literals on the right, no sign on the left, no truth value at all."""
    operator = _OPPOSITE[node.operator] if negated else node.operator
    left, right = _normal(node.left), _normal(node.right)
    if operator in ("=", "<>"):
        for one, other in ((left, right), (right, left)):
            if isinstance(other, ex.Truth):
                return _boolean(one, other.value is (operator == "<>"), counts_true)
        for side in (left, right):
            operator = _OPPOSITE[operator] if isinstance(side, ex.Not) else operator
        left, right = (side.operand if isinstance(side, ex.Not) else side for side in (left, right))
    (left_negated, left), (right_negated, right) = _oriented(left), _oriented(right)
    if _precedes(right, left):
        left_negated, left, right_negated, right = right_negated, right, left_negated, left
        operator = _MIRRORED[operator]
    if left_negated:
        operator, right_negated = _MIRRORED[operator], not right_negated
    right = _with_sign(right_negated, right)
    is_usual = isinstance(left, ex.Column) and isinstance(right, _LITERAL)  # never the same text
    if not is_usual and left.size == right.size and write(left) == write(right):
        operator = "=" if operator in ("=", "<=", ">=") else "<>"
    return ex.Compare(operator, left, right, position=node.position)


# --------------------------------------------------------------------------- numbers


def _arithmetic(node: ex.Arithmetic) -> Expression:
    """An operator over operands in normal form: signs outside, and in order if it commutes."""
    operator = node.operator
    if operator == "%":
        return node
    (left_negated, left), (right_negated, right) = _signed(node.left), _signed(node.right)
    negated = left_negated
    if operator in "+-":
        right_negated ^= operator == "-"
        if left_negated is not right_negated:
            left, right = (right, left) if left_negated else (left, right)
            return replace(node, operator="-", left=left, right=right)
        operator = "+"
    else:
        negated ^= right_negated
    if operator != "/" and _precedes(right, left, operator):
        left, right = right, left
    return _with_sign(negated, replace(node, operator=operator, left=left, right=right))


def _signed(node: Expression) -> Signed:
    match node:
        case ex.Negate(operand):
            return True, operand
        case ex.Number(value) if value < 0.0:
            return True, replace(node, value=-value)
        case _:
            return False, node


def _oriented(node: Expression) -> Signed:
    """The same where ``a - b`` and ``b - a`` are the same but for the sign, too."""
    match node:
        case ex.Arithmetic("-", left, right) | ex.Elapsed("-", left, right) if _precedes(
            right, left, "+"
        ):
            return True, replace(node, left=right, right=left)
        case _:
            return _signed(node)


def _with_sign(negated: bool, node: Expression) -> Expression:
    """A number in normal form, or minus it."""
    if not negated:
        return node
    match node:
        case ex.Negate(operand):
            return operand
        case ex.Number(value):
            return replace(node, value=0.0 - value)
        case ex.Arithmetic("-", left, right) | ex.Elapsed("-", left, right):
            return replace(node, left=right, right=left)
        case _:
            return ex.Negate(node, position=node.position)


def _precedes(one: Expression, other: Expression, chain: str = "") -> bool:
    """Whether an operand comes before another: what is simple first, and literals last.

    In a ``chain`` of sums or products a larger part of it comes before everything else, where it
    needs no brackets and adds no level. Texts, which take time to write, decide between equals.
    """
    first, second = _rank(one, chain), _rank(other, chain)
    return first < second if first != second else write(one) < write(other)


def _rank(node: Expression, chain: str) -> tuple[bool, int, bool, int]:
    in_chain = (
        bool(chain) and isinstance(node, _CHAIN) and (node.operator in "+-") is (chain == "+")
    )
    return not in_chain, -node.size if in_chain else 0, isinstance(node, _LITERAL), node.size


# --------------------------------------------------------------------------- any type


def _choice(node: ex.Choice) -> Expression:
    """``coalesce``, ``least`` or ``greatest``: not nested, nothing twice, the last two sorted."""
    known: dict[str, Expression] = {}
    for part in node.parts:
        same = isinstance(part, ex.Choice) and part.operator == node.operator
        for one in part.children if same else (part,):
            known.setdefault(write(one), one)
    if len(known) == 1:
        return next(iter(known.values()))
    texts = list(known) if node.operator == "coalesce" else sorted(known)
    return node.rebuild(tuple(known[text] for text in texts))
