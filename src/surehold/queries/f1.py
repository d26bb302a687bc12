"""F1: the harmonic mean of precision and recall, from the Jaccard index.

Of the records that are positive by the prediction or in truth, the Jaccard index j is the share
that are so by both, a rate. F1 is 2j/(1 + j), which grows with j, so an interval of one is exactly
an interval of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from surehold.queries.base import Query
from surehold.queries.derived import (
    UNDETERMINED,
    DerivedNumber,
    Rate,
    Reading,
    between,
    check_parts,
    down,
    up,
)
from surehold.queries.expressions import Expression
from surehold.queries.normal_form import canonical
from surehold.queries.parser import Parser, join
from surehold.queries.statistical import Statistical, build
from surehold.queries.writer import write


def f1_of(jaccard: Fraction) -> Fraction:
    """The F1 of a Jaccard index.

    >>> f1_of(Fraction(2, 3))
    Fraction(4, 5)
    """
    return 2 * jaccard / (1 + jaccard)


def jaccard_of(score: Fraction) -> Fraction:
    """The Jaccard index of an F1.

    >>> jaccard_of(Fraction(4, 5))
    Fraction(2, 3)
    """
    return score / (2 - score)


@dataclass(frozen=True, repr=False, eq=False)
class F1(DerivedNumber):
    """The F1 of two conditions, among the records that meet a third if there is one.

    >>> f1("label = 'spam'", "answer = 'spam'").canonical
    "f1(answer = 'spam', label = 'spam')"
    """

    predicted: Expression
    actual: Expression
    given: Expression | None
    text: str = field(compare=False)

    low = 0.0
    high = 1.0

    @cached_property
    def canonical(self) -> str:
        """It is the same if the two change places."""
        both = sorted(canonical(one, counts_true=True) for one in (self.predicted, self.actual))
        given = [] if self.given is None else [canonical(self.given, counts_true=True)]
        return f"f1({', '.join([*both, *given])})"

    @cached_property
    def jaccard(self) -> Rate:
        """The rate that it follows from."""
        both = join("and", self.predicted, self.actual)
        either = join("or", self.predicted, self.actual)
        given = either if self.given is None else join("and", either, self.given)
        return check_parts(
            Rate(Statistical("fraction", both, 0.0, 1.0, self.text), given, self.text)
        )

    @property
    def parts(self) -> tuple[Query, ...]:
        return (self.jaccard,)

    def estimate(self, parts: Sequence[Reading]) -> Reading:
        """Worked out exactly, and rounded outwards."""
        [found] = parts
        if found.interval is None:
            return UNDETERMINED
        low, high = (float(f1_of(Fraction(end))) for end in found.interval)
        value = None if found.value is None else float(f1_of(Fraction(found.value)))
        return between(max(down(low), 0.0), min(up(high), 1.0), value)

    def __repr__(self) -> str:
        given = "" if self.given is None else f", given={write(self.given)!r}"
        return f"f1({write(self.predicted)!r}, {write(self.actual)!r}{given})"


def f1(predicted: str, actual: str, given: str | None = None) -> F1:
    """The F1 of a prediction: the harmonic mean of its precision and its recall.

    ``predicted`` and ``actual`` are conditions that a record is positive, ``given`` one that it
    counts at all. Two answers and one interval, as a rate; undetermined when there may be no
    positives.

    >>> f1("answer = 'spam'", "label = 'spam'")
    f1("answer = 'spam'", "label = 'spam'")
    """
    parts = (predicted, actual) if given is None else (predicted, actual, given)
    return build(read_f1, "f1", parts)


def read_f1(parser: Parser, name: str) -> F1:
    """What follows ``f1(``: two conditions and, if only some records count, a third."""
    predicted = parser.expression()
    if not parser.accept(","):
        parser.refuse("f1 needs two conditions", "for instance f1(flagged, fraud)")
    actual = parser.expression()
    given = parser.expression() if parser.accept(",") else None
    return check_parts(F1(predicted, actual, given, parser.text))
