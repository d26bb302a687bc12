"""What every certificate offers: a width with its terms, and the two inverse problems."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from surehold.checks import LARGEST_COUNT, check_beta, check_count, check_number, check_probability
from surehold.errors import NotApplicable
from surehold.theory.arrays import FloatArray
from surehold.theory.exposure import Design, Schedule, statistical
from surehold.theory.noise import OUTWARD
from surehold.theory.search import largest_count, smallest_count
from surehold.theory.settings import Setting


@dataclass(frozen=True)
class Width:
    """A half-width that holds for all answers together, and where it comes from.

    ``value`` is the sum of ``terms``, rounded outwards; ``constants`` are the chosen values of the
    theorem's free constants. ``sigma`` is the noise (None where none is added). With rounds that
    have their own noise, ``value`` is the widest round's and ``per_round`` has one for each round
    at which a query is asked. With fresh records for every batch, everything is the widest batch's,
    and every other batch has a sigma of its own.
    """

    value: float
    terms: Mapping[str, float]
    constants: Mapping[str, float]
    sigma: float | None
    per_round: FloatArray | None = None


def total_width(
    terms: Mapping[str, float],
    constants: Mapping[str, float],
    sigma: float | None,
    noise: FloatArray | None = None,
) -> Width:
    """Add up the terms of the widest round, rounding outwards."""
    value = sum(terms.values()) * OUTWARD
    per_round = None
    if noise is not None:
        rest = sum(term for name, term in terms.items() if name != "noise")
        per_round = (terms["noise"] * (noise / noise.max()) + rest) * OUTWARD
    return Width(value, dict(terms), dict(constants), sigma, per_round)


NOWHERE = Width(np.inf, {}, {}, None)
"""The width of a bound that says nothing."""


class Certificate(ABC):
    """A theorem turned into a number."""

    name: ClassVar[str]
    theorem: ClassVar[str]
    summary: ClassVar[str]
    mechanism: ClassVar[str] = "gaussian"
    is_prompt: ClassVar[bool] = True
    """Whether every query is answered at once, from all records that are there."""

    def objection(self, design: Design) -> str | None:
        """Why the theorem does not hold for this design; None if it does."""
        return None

    def width(self, design: Design, beta: float, *, sigma: float | None = None) -> Width:
        """The width at confidence 1 - beta, at the given noise or, left out, at the best one."""
        beta = check_beta(beta)
        if sigma is not None:
            sigma = check_number("sigma", sigma, "from 1e-30 to 1e30", lambda x: 1e-30 <= x <= 1e30)
        objection = self.objection(design)
        if objection is not None:
            raise NotApplicable(self.name, objection)
        return self._width(design, beta, sigma)

    @abstractmethod
    def _width(self, design: Design, beta: float, sigma: float | None) -> Width: ...

    def queries(self, setting: Setting, alpha: float, beta: float) -> int:
        """Most queries whose width is at most alpha; 0 if not even one fits."""
        alpha = check_probability("alpha", alpha)
        guess = max(1, int(0.04 * alpha**4 * setting.n0 * setting.n))
        return largest_count(lambda k: self.width(setting.at(k), beta).value, alpha, guess)

    def records(
        self, setting: Setting, queries: int, alpha: float, beta: float, growth: Fraction
    ) -> Setting:
        """The smallest setting of that growth in which ``queries`` queries have width <= alpha."""
        alpha = check_probability("alpha", alpha)
        queries = check_count("queries", queries)
        guess = int(min(max(1.0, 5.0 * queries**0.5 / max(alpha, 1e-9) ** 2), LARGEST_COUNT))

        def cost(n0: int) -> float:
            return self.width(setting.sized(n0, growth).at(queries), beta).value

        most = int(LARGEST_COUNT / growth)
        return setting.sized(smallest_count(cost, alpha, guess, most), growth)


def round_noise(design: Design) -> FloatArray | None:
    """The relative noise of a schedule whose rounds have their own."""
    return design.noise if isinstance(design, Schedule) else None


def needs_statistical(design: Design) -> str | None:
    """The objection of the baselines that know only statistical queries and one noise."""
    if design.sensitivity is not statistical:
        return "it covers statistical queries only"
    if round_noise(design) is not None:
        return "it needs the same noise in every round"
    return None


def needs_fresh_batches(design: Design) -> str | None:
    """The objection of the baselines that answer each batch of queries from new records."""
    if design.fresh_batches is None:
        return "it needs a schedule that is fixed in advance"
    return needs_statistical(design)
