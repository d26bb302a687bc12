"""The surprise guard beside the certificates: what it would give for the same question."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

from surehold.errors import InvalidInput
from surehold.theory.certificates.base import NOWHERE, Certificate, Width, total_width
from surehold.theory.exposure import Design, statistical
from surehold.theory.surprise.forecasts import forecast_interval, forecast_spent
from surehold.theory.surprise.levels import LARGEST_BETA, Level, claim_level, question_levels
from surehold.theory.surprise.menus.cells import half_cell
from surehold.theory.surprise.prices import nats
from surehold.theory.surprise.shares import LARGEST_CLAIMS, default_share

HALF = Fraction(1, 2)


def usual_surprises(questions: int) -> int:
    """How many surprises to expect where nobody says: a tenth of the questions, rounded up."""
    return -(-questions // 10)


def create_command(beta: float, questions: int) -> str:
    """The command that creates a dataset under this guard."""
    claims = min(questions, LARGEST_CLAIMS)
    return f"surehold create NAME --beta {beta!r} --claims {claims} --like FILE"


def series_level(beta: float, claim: int, questions: int, spent: int) -> Level:
    """The level of one claim of a series, if as many claims are expected as there are questions."""
    share = default_share(claim, questions)
    first = question_levels(claim_level(Fraction(repr(beta)), share, spent), "both").first
    assert first is not None
    return first


def answer_width(mean: Fraction, t: int, level: Level) -> tuple[float, float]:
    """The half-widths of an answer's interval and of its cell, at that mean over t records."""
    cell = half_cell(t, level, always=False)
    return float(forecast_interval(mean, t, level, within=cell).half_width), float(cell)


class SurpriseGuard(Certificate):
    """The last of a series of guessed fractions, all asked at n, under the surprise guard.

    Not in the registry, as no plan has it. What is certain is each answer's own interval; how wide
    it will be depends on the guesses, so this is a forecast.
    """

    name: ClassVar[str] = "surprise"
    theorem: ClassVar[str] = "Surprise theorem"
    summary: ClassVar[str] = (
        "the other guard, no noise, no plan: its last answer at n, mean 1/2, few surprises"
    )
    mechanism: ClassVar[str] = "menu"

    def __init__(self, mean: Fraction = HALF, surprises: int | None = None) -> None:
        self.mean, self.surprises = mean, surprises

    def objection(self, design: Design) -> str | None:
        """The forecast is for fractions."""
        return None if design.sensitivity is statistical else "its forecast is for fractions only"

    def _width(self, design: Design, beta: float, sigma: float | None) -> Width:
        if sigma is not None:
            raise InvalidInput("sigma", "left out, since the surprise guard adds no noise", sigma)
        if beta > LARGEST_BETA:
            return NOWHERE
        questions, t = math.ceil(design.queries), int(design.n)
        surprises = usual_surprises(questions) if self.surprises is None else self.surprises
        spent = forecast_spent(questions - 1, surprises)
        level = series_level(beta, questions, questions, spent)
        half, cell = answer_width(self.mean, t, level)
        if half >= 0.5:
            return NOWHERE
        constants = {
            "mean": float(self.mean),
            "surprises": float(surprises),
            "spent": float(nats(spent)),
            "level": level.nats,
        }
        return total_width({"sampling": half - cell, "cell": cell}, constants, None)
