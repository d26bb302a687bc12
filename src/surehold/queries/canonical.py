"""One text for all ways to write an expression."""

from __future__ import annotations

from surehold.queries.expressions import Expression
from surehold.queries.normal_form import normal_form
from surehold.queries.writer import write


def canonical(expression: Expression, counts_true: bool = False) -> str:
    """The canonical text; ``counts_true`` if false and unknown make no difference.

    >>> from surehold.queries.parser import parse
    >>> canonical(parse("NOT((a)!=1.50) AND b  BETWEEN 1 and (2+c)*3"))
    'a = 1.5 and b <= (c + 2) * 3 and b >= 1'
    """
    return write(normal_form(expression, counts_true))
