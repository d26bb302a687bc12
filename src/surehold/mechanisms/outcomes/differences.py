"""Differences of two 0/1 values on the same records, and whether a new model is better.

Surprise, section 3e: the betting mixture K on (1 + d)/2 follows how often the two differ. Its ends
do not grow with one number, so both are reported on a grid (section 4, "ends").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from surehold.errors import InvalidInput
from surehold.mechanisms.outcomes.base import (
    Asking,
    Claim,
    Exact,
    Past,
    Report,
    read_menu,
    write_menu,
)
from surehold.queries import Source
from surehold.theory.surprise.claims.betting import BettingMixture
from surehold.theory.surprise.menus.lengths import MODEL_DIFFERENCE, EndsMenu, ends_menu


@dataclass(frozen=True)
class DifferenceAsking(Asking):
    """How much larger one fraction is than another, from -1 to 1, by where they differ.

    ``given`` are its sources: both fractions and that of the records that count for both, or
    how many records count only for the first, and only for the second.
    """

    given: tuple[Source, ...]

    def __post_init__(self) -> None:
        """Its interval is reported, not a cell of its value, so nothing can be expected."""
        if not self.asked.is_plain:
            hint = "ask for the gate of a difference, or for an improvement with expect='no'"
            required = "left out for a difference, whose ends are reported"
            raise InvalidInput("expect, within or doubt", required, "given", hint)

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.given

    @property
    def is_always(self) -> bool:
        return True

    @property
    def prices(self) -> int:
        return 2

    def only(self, exact: Sequence[Exact]) -> tuple[int, int]:
        """How many records count for the first alone, and for the second alone."""
        if len(exact) == 1:
            first, second = exact[0].numerators
            return first, second
        first, second, both = (one.numerators[0] for one in exact)
        return first - both, second - both

    def mixture(self, exact: Sequence[Exact], t: int) -> BettingMixture:
        """K of (1 + d)/2, which is 1, 0 or 1/2."""
        first, second = self.only(exact)
        counts = {Fraction(1): first, Fraction(0): second, Fraction(1, 2): t - first - second}
        return BettingMixture.of({z: n for z, n in counts.items() if n})

    def menu(self, past: Past) -> dict[str, Any]:
        assert past.claim is not None
        return write_menu(ends_menu(past.t, past.claim.level(past.t), MODEL_DIFFERENCE))

    def outcome(
        self, menu: Mapping[str, Any], claim: Claim | None, t: int, exact: Sequence[Exact]
    ) -> list[int]:
        assert claim is not None
        listed = read_menu(EndsMenu, menu)
        return list(listed.outcome(self.mixture(exact, t), claim.level(t)))

    def report(self, menu: Mapping[str, Any], claim: Claim | None, t: int, outcome: Any) -> Report:
        listed = read_menu(EndsMenu, menu)
        first, length = outcome
        found = listed.interval(first, length)
        ends = [float(2 * found.low - 1), float(2 * found.high - 1)]
        body = {
            "kind": "cell",
            "range": [-1.0, 1.0],
            "cell": None,
            "value": float(found.low + found.high - 1),
            "interval": ends,
        }
        return Report((listed.first_weight(first), listed.length_weight(length)), body)

    def extremes(
        self, menu: Mapping[str, Any], t: int, claim: Claim | None
    ) -> tuple[Fraction, Fraction]:
        listed = read_menu(EndsMenu, menu)
        first, longest = listed.first_weight(0), int(1 / listed.first_weight(0))
        weights = [listed.length_weight(n) for n in (listed.expected, 1, longest)]
        return first * max(weights), first * min(weights)

    def suffices(self, recorded: Mapping[str, Any]) -> bool:
        """Not if it is the steps of a ladder."""
        return bool(recorded["kind"] == "cell")

    def forecast(self, menu: Mapping[str, Any], claim: Claim | None, t: int) -> float | None:
        """Half of the length that is expected."""
        listed = read_menu(EndsMenu, menu)
        return float(min(listed.expected * listed.width, Fraction(1)))
