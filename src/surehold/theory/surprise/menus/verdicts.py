"""Menus for decisions: gates, improvements, selections."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from surehold.errors import InvalidInput
from surehold.theory.surprise.claims.base import Statistic, rejects
from surehold.theory.surprise.levels import Level
from surehold.theory.surprise.prices import check_weights

Verdict = Literal["pass", "fail", "undecided", "not pass"]

TWO_SIDED: tuple[Verdict, ...] = ("pass", "fail", "undecided")
ONE_SIDED: tuple[Verdict, ...] = ("pass", "not pass")


@dataclass(frozen=True)
class GateMenu:
    """Three verdicts, or ``pass`` and ``not pass``, with their weights (Surprise, section 4)."""

    threshold: Fraction
    weights: tuple[tuple[Verdict, Fraction], ...]

    def __post_init__(self) -> None:
        """Refuse weights that are none, and verdicts that are left out."""
        check_weights(dict(self.weights))
        if [verdict for verdict, _ in self.weights] not in (list(TWO_SIDED), list(ONE_SIDED)):
            required = "for pass, fail and undecided, or for pass and not pass"
            raise InvalidInput("weights", required, [verdict for verdict, _ in self.weights])
        if not 0 < self.threshold < 1:
            raise InvalidInput("threshold", "strictly between 0 and 1", str(self.threshold))

    @property
    def is_one_sided(self) -> bool:
        """Whether only ``pass`` is claimed, which takes one side less."""
        return len(self.weights) == len(ONE_SIDED)

    def outcome(self, statistic: Statistic, level: Level) -> Verdict:
        """Pass or fail if the claim rejects the threshold; there is no root to be found."""
        is_above = statistic.centre >= self.threshold
        if self.is_one_sided:
            passes = is_above and rejects(statistic, self.threshold, level)
            return "pass" if passes else "not pass"
        if not rejects(statistic, self.threshold, level):
            return "undecided"
        return "pass" if is_above else "fail"

    def weight(self, verdict: Verdict) -> Fraction:
        """The weight of a verdict."""
        return dict(self.weights)[verdict]

    def to_dict(self) -> dict[str, Any]:
        """What the ledger keeps."""
        weights = {verdict: str(weight) for verdict, weight in self.weights}
        return {"kind": "gate", "threshold": str(self.threshold), "weights": weights}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> GateMenu:
        """Read what :meth:`to_dict` wrote."""
        weights = {verdict: Fraction(weight) for verdict, weight in given["weights"].items()}
        return gate_menu(Fraction(given["threshold"]), weights)


def gate_menu(threshold: Fraction, weights: Mapping[Verdict, Fraction]) -> GateMenu:
    """A gate with stated weights (Surprise, section 4, "gate")."""
    verdicts = ONE_SIDED if "not pass" in weights else TWO_SIDED
    if set(weights) != set(verdicts):
        raise InvalidInput("weights", f"for {', '.join(verdicts)}", sorted(weights))
    return GateMenu(threshold, tuple((verdict, weights[verdict]) for verdict in verdicts))


@lru_cache(maxsize=1024)
def expected_gate(
    threshold: Fraction, expect: Verdict | None, doubt: Fraction, *, one_sided: bool = False
) -> GateMenu:
    """A gate that is expected to give a verdict: 1 - d, the others share d; or equal weights.

    Surprise, section 4, "gate".

    >>> gate = expected_gate(Fraction(4, 5), "pass", Fraction(1, 10))
    >>> [str(gate.weight(verdict)) for verdict in TWO_SIDED]
    ['9/10', '1/20', '1/20']
    """
    verdicts = ONE_SIDED if one_sided else TWO_SIDED
    if expect is None:
        return gate_menu(threshold, dict.fromkeys(verdicts, Fraction(1, len(verdicts))))
    if expect not in verdicts:
        raise InvalidInput("expect", f"one of {', '.join(verdicts)}", expect)
    if not 0 < doubt < 1:
        raise InvalidInput("doubt", "strictly between 0 and 1", str(doubt))
    rest = doubt / (len(verdicts) - 1)
    return gate_menu(threshold, {v: 1 - doubt if v == expect else rest for v in verdicts})


@dataclass(frozen=True)
class ImprovementMenu:
    """Better than the best so far by k steps of b? 0 is "no" (Surprise, section 4, "improvement").

    It is about means over the records; a certified improvement is a gate. With ``only_better`` the
    menu is no or yes, of weights 1 - d and d: by how many steps is not said, and a yes costs less.

    >>> menu = ImprovementMenu(Fraction(1, 100), Fraction(1, 10))
    >>> [menu.outcome(Fraction(gain, 1000)) for gain in (-30, 9, 10, 35)]
    [0, 0, 1, 3]
    >>> shorter = ImprovementMenu(Fraction(1, 100), Fraction(1, 10), only_better=True)
    >>> shorter.outcome(Fraction(35, 1000)), shorter.weight(1), menu.weight(1)
    (1, Fraction(1, 10), Fraction(1, 20))
    """

    step: Fraction
    doubt: Fraction
    only_better: bool = False

    def __post_init__(self) -> None:
        """Refuse a step or a doubt that is none."""
        if self.step <= 0:
            raise InvalidInput("by", "above 0", str(self.step))
        if not 0 < self.doubt < 1:
            raise InvalidInput("doubt", "strictly between 0 and 1", str(self.doubt))

    def outcome(self, gain: Fraction) -> int:
        """The number of whole steps of an observed gain, 0 if there is none."""
        steps = max(0, math.floor(gain / self.step))
        return min(steps, 1) if self.only_better else steps

    def weight(self, k: int) -> Fraction:
        """1 - d for no, d/(k(k+1)) for k steps, or d for any number of them."""
        if self.only_better and k > 1:
            raise InvalidInput("outcome", "0 or 1: how many steps is not said", k)
        if self.only_better and k:
            return self.doubt
        return self.doubt / (k * (k + 1)) if k else 1 - self.doubt

    def to_dict(self) -> dict[str, Any]:
        """What the ledger keeps."""
        found = {"kind": "improvement", "step": str(self.step), "doubt": str(self.doubt)}
        return {**found, "only_better": True} if self.only_better else found

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> ImprovementMenu:
        """Read what :meth:`to_dict` wrote."""
        step, doubt = Fraction(given["step"]), Fraction(given["doubt"])
        return cls(step, doubt, given.get("only_better", False))


@dataclass(frozen=True)
class SelectionMenu:
    """The best of m by their means, the first of equals (Surprise, section 3c).

    >>> SelectionMenu.equal(4).outcome([1699, 1592, 1699, 1005])
    0
    """

    weights: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        """Refuse weights that are none."""
        check_weights(dict(enumerate(self.weights)))

    @classmethod
    def equal(cls, candidates: int) -> SelectionMenu:
        """Each has weight 1/m."""
        return cls((Fraction(1, candidates),) * candidates)

    def outcome(self, sums: Sequence[int | Fraction]) -> int:
        """The index of the largest."""
        if len(sums) != len(self.weights):
            raise InvalidInput("sums", f"{len(self.weights)} numbers", len(sums))
        return max(range(len(sums)), key=lambda i: sums[i])

    def weight(self, i: int) -> Fraction:
        """The weight of the i-th candidate."""
        return self.weights[i]

    def to_dict(self) -> dict[str, Any]:
        """What the ledger keeps."""
        return {"kind": "selection", "weights": [str(weight) for weight in self.weights]}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> SelectionMenu:
        """Read what :meth:`to_dict` wrote."""
        return cls(tuple(Fraction(weight) for weight in given["weights"]))
