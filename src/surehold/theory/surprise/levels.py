"""Levels: how improbable a claim's miss must be, as ``l`` in e^-l.

Surprise, section 2: a claim with share v, registered when ``spent`` had been spent, needs
``Pr[miss] <= beta v exp(-spent)``, and in a block of weight u that times u. So l is the logarithm
of a fraction plus a whole number of units, and this is how it is kept: exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, Literal

from surehold.errors import InvalidInput
from surehold.theory.surprise.digits import CONTEXT, text_of
from surehold.theory.surprise.prices import UNITS

LARGEST_BETA = Fraction(1, 2)
"""Ends of the centred mixture grow with the count from a level of 0.39 on (Surprise, section 3)."""

Rounds = Literal["once", "always", "both"]
_SHORT = Context(prec=28, Emin=MIN_EMIN, Emax=MAX_EMAX)
_UNITS = Decimal(UNITS)


@dataclass(frozen=True)
class Level:
    """l = ln(factor) + spent, with spent in units of 2^-64 nat.

    >>> print(Level(Fraction(1680), 0))
    7.4265490723973046088
    """

    factor: Fraction
    spent: int

    def __post_init__(self) -> None:
        """A level below 0 would claim nothing."""
        if self.factor.numerator < self.factor.denominator or self.spent < 0:
            raise InvalidInput("level", "at least 0", f"ln({self.factor}) + {self.spent} units")

    @cached_property
    def exact(self) -> Decimal:
        """To fifty digits."""
        return _logarithm(self.factor, self.spent, CONTEXT)

    @cached_property
    def _near(self) -> tuple[Decimal, Decimal]:
        """What it lies between, to 25 digits or so: quick, and nearly always enough."""
        found = _logarithm(self.factor, self.spent, _SHORT)
        margin = Decimal(f"1e{max(found.adjusted(), 0) - 25}")
        return _SHORT.subtract(found, margin), _SHORT.add(found, margin)

    @cached_property
    def nats(self) -> float:
        """As a double."""
        low, high = map(float, self._near)
        return low if low == high else float(self.exact)

    def times(self, factor: Fraction | int) -> Level:
        """The level with another factor in the logarithm."""
        (top, bottom), (more, less) = self.factor.as_integer_ratio(), factor.as_integer_ratio()
        return Level(Fraction(top * more, bottom * less), self.spent)

    def to_dict(self) -> dict[str, Any]:
        """What the ledger keeps: text, as the numbers are exact."""
        return {"factor": str(self.factor), "spent": str(self.spent)}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Level:
        """Read what :meth:`to_dict` wrote."""
        return cls(Fraction(given["factor"]), int(given["spent"]))

    @cached_property
    def text(self) -> str:
        """To twenty digits."""
        low, high = map(text_of, self._near)
        return low if low == high else text_of(self.exact)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class ClaimLevels:
    """The two levels of a question: of its claim (a) at its first round, and (b) at all others.

    A question that claims only one of them has None for the other. It keeps them for good.
    """

    first: Level | None
    other: Level | None

    def at(self, is_first_round: bool) -> Level | None:
        """The level for an answer at the round of the first answer, or at another one."""
        return self.first if is_first_round and self.first else self.other


def claim_level(
    beta: Fraction, share: Fraction, spent: int, block_weight: Fraction = Fraction(1)
) -> Level:
    """L = ln(1/(beta v u)) + spent (Surprise, sections 2, 3 and 3f).

    >>> print(claim_level(Fraction(1, 20), Fraction(1, 21), 0))
    6.0402547112774139899
    """
    for name, number in (("beta", beta), ("share", share), ("block_weight", block_weight)):
        if not 0 < number.numerator <= number.denominator:
            raise InvalidInput(name, "above 0 and at most 1", str(number))
    parts = (beta, share, block_weight)
    top = prod(part.denominator for part in parts)
    return Level(Fraction(top, prod(part.numerator for part in parts)), spent)


def question_levels(level: Level, rounds: Rounds, *, one_sided: bool = False) -> ClaimLevels:
    """What a question with the level L of its whole share claims (Surprise, section 3).

    ``once`` puts all of the share on claim (a), which has two sides unless it is ``one_sided``:
    l = L + ln 2. ``always`` puts all of it on (b): l = L. ``both`` halves it.

    >>> both = question_levels(claim_level(Fraction(1, 20), Fraction(1, 21), 0), "both")
    >>> print(both.first, both.other)
    7.4265490723973046088 6.7334018918373592994
    """
    sides = 1 if one_sided else 2
    if rounds == "once":
        return ClaimLevels(level.times(sides), None)
    if rounds == "always":
        return ClaimLevels(None, level)
    return ClaimLevels(level.times(2 * sides), level.times(2))


def selection_level(level: Level, candidates: int) -> Level:
    """l = L + ln(m - 1) for the best of m at equal weights (Surprise, section 3c)."""
    return level.times(max(candidates - 1, 1))


def selection_level_at(level: Level, weight: Fraction) -> Level:
    """l = L + ln(1/pi_i) for the chosen candidate at unequal weights (Surprise, section 3c)."""
    return level.times(1 / weight)


def _logarithm(factor: Fraction, spent: int, context: Context) -> Decimal:
    ratio = context.divide(Decimal(factor.numerator), Decimal(factor.denominator))
    return context.add(context.ln(ratio), context.divide(Decimal(spent), _UNITS))
