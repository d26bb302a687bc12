"""Shares of beta: each claim has one, and on every path they add up to at most 1."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from surehold.checks import check_fraction, check_whole
from surehold.errors import InvalidInput

EXPECTED_CLAIMS = 20
"""The number of claims that is expected unless the custodian says another."""

LARGEST_CLAIMS = 10**9


def default_share(claim: int, expected: int = EXPECTED_CLAIMS) -> Fraction:
    """The share ``v_c = k/((c+k-1)(c+k))`` of the c-th claim (Surprise, section 1).

    They add up to 1. k is the number of claims that one expects.

    >>> default_share(1), default_share(20)
    (Fraction(1, 21), Fraction(1, 78))
    """
    return Fraction(expected, (claim + expected - 1) * (claim + expected))


@dataclass(frozen=True)
class Shares:
    """What is left to share out; a value, so each of its methods returns the next one as well.

    The n-th default claim takes 1/(n + k) of what is left, which is v_n as long as nothing was
    declared (Surprise, section 1). Declared shares are taken from what is left at that time, so
    whatever the order, all add up to at most 1.

    >>> share, rest = Shares().default()
    >>> share, rest.left
    (Fraction(1, 21), Fraction(20, 21))
    >>> declared, rest = Shares().declare(Fraction(1, 2), claims=50)
    >>> declared, rest.default()[0]
    (Fraction(1, 100), Fraction(1, 42))
    """

    expected: int = EXPECTED_CLAIMS
    defaults: int = 0
    left: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        """Refuse a number of claims that is none."""
        check_whole("claims", self.expected, 1, LARGEST_CLAIMS)

    def default(self) -> tuple[Fraction, Shares]:
        """The share of the next claim that has none declared, and what is left then."""
        if not self.left:
            hint = "all of beta was declared for other claims; ask what was registered"
            raise InvalidInput("share", "declared for this claim", "not declared", hint)
        parts, (top, bottom) = self.defaults + 1 + self.expected, self.left.as_integer_ratio()
        rest = Fraction(top * (parts - 1), bottom * parts)
        return Fraction(top, bottom * parts), Shares(self.expected, self.defaults + 1, rest)

    def declare(self, total: Fraction, claims: int) -> tuple[Fraction, Shares]:
        """The share of each of ``claims`` that have ``total`` together, and what is left."""
        check_whole("claims", claims, 1, LARGEST_CLAIMS)
        required = f"above 0 and at most what is left, {float(self.left):.6g}"
        check_fraction("share", total, required, lambda v: 0 < v <= self.left)
        return total / claims, Shares(self.expected, self.defaults, self.left - total)
