"""Questions about the records that side tables cover.

Later records have no prediction, and a missing one would count as a wrong answer, or as a loss of
nothing. So a fraction, a mean, a rate or an F1 that reads side tables is asked among the records
they cover, and of a difference both sides count only there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from surehold.queries.base import Query
from surehold.queries.derived import Gate, Rate, check_parts
from surehold.queries.differences import RateDifference
from surehold.queries.expressions import (
    Case,
    Column,
    Connective,
    Expression,
    IsNull,
    Not,
    Number,
)
from surehold.queries.f1 import F1
from surehold.queries.parser import join
from surehold.queries.side_tables import QUALIFIER, SideTable, columns_in, split
from surehold.queries.statistical import Difference, Statistical, check_length


def among_covered(query: Query, tables: Mapping[str, SideTable]) -> Query:
    """A fraction, a mean, a rate or an F1, or a gate of one, among the records that tables cover.

    In a difference of fractions or means, a record that one of the tables lacks makes none.
    Unless it reads a table's id itself: ``p.id is null`` asks about the coverage, and
    ``p.id is not null and p.answer = label`` about all records.
    """
    if isinstance(query, Gate):
        inner = among_covered(query.query, tables)
        assert isinstance(inner, Rate | type(query.query))
        return query if inner is query.query else replace(query, query=inner)
    if isinstance(query, RateDifference):
        plus, minus = among_covered(query.plus, tables), among_covered(query.minus, tables)
        assert isinstance(plus, Rate)
        assert isinstance(minus, Rate)
        return replace(query, plus=plus, minus=minus)
    if not isinstance(query, Statistical | Rate | F1 | Difference):
        return query
    read = {*columns_in(query)}
    used = [tables[reference] for reference in sorted({split(column)[0] for column in read})]
    if not used or any(table.covering in read for table in used):
        return query
    before = query.given if isinstance(query, Rate | F1) else None
    conditions = [*([] if before is None else [before]), *map(is_covered, used)]
    given = join("and", *conditions) if conditions[1:] else conditions[0]
    if isinstance(query, Difference):
        plus, minus = (_where(given, side) for side in (query.plus, query.minus))
        return check_length(replace(query, plus=plus, minus=minus))
    if isinstance(query, F1):
        return check_parts(replace(query, given=given))
    return check_parts(Rate(query.of if isinstance(query, Rate) else query, given, query.text))


def _where(given: Expression, of: Statistical) -> Statistical:
    """A fraction or a mean of a number that is the lowest wherever a condition is not met."""
    if of.kind == "fraction":
        return replace(of, expression=join("and", of.expression, given))
    lowest = Number(of.low, position=0)
    return replace(of, expression=Case(((given, of.expression),), lowest, position=0))


def is_covered(table: SideTable) -> Expression:
    """Whether a table has a record's id."""
    return Not(IsNull(Column(table.covering)))


def is_coverage(given: Expression) -> bool:
    """Whether a condition says nothing but that side tables have the record."""
    return len(_tables_covering(given)) == len(_conjuncts(given))


def covered_by(query: Query) -> tuple[str, ...]:
    """The references of the tables whose records a query is about; none if it is about all."""
    if isinstance(query, Gate):
        return covered_by(query.query)
    if isinstance(query, RateDifference):
        return tuple(dict.fromkeys((*covered_by(query.plus), *covered_by(query.minus))))
    if not isinstance(query, Rate | F1) or query.given is None:
        return ()
    return _tables_covering(query.given)


def _tables_covering(given: Expression) -> tuple[str, ...]:
    found = []
    for part in _conjuncts(given):
        match part:
            case Not(IsNull(Column(name))) if QUALIFIER in name:
                found.append(split(name)[0])
    return tuple(found)


def _conjuncts(given: Expression) -> tuple[Expression, ...]:
    if isinstance(given, Connective) and given.operator == "and":
        return given.parts
    return (given,)
