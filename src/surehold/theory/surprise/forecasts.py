"""Forecasts: how wide answers will be and what a series of them costs, without any records."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from surehold.errors import InvalidInput
from surehold.theory.search import smallest_count
from surehold.theory.surprise.claims.chernoff import Chernoff
from surehold.theory.surprise.claims.mixtures import HalfMixture
from surehold.theory.surprise.ends import Interval
from surehold.theory.surprise.intervals import fraction_interval, mean_interval
from surehold.theory.surprise.levels import Level, Rounds, claim_level, question_levels
from surehold.theory.surprise.menus.cells import Cell, half_cell
from surehold.theory.surprise.menus.numbers import expected_menu, learned_doubt, plain_menu
from surehold.theory.surprise.prices import UNITS, price
from surehold.theory.surprise.shares import Shares


class ForecastClaim(NamedTuple):
    """The level of one claim of a series, and what the series has spent before it."""

    level: Level
    spent: int


def forecast_interval(
    mean: Fraction,
    t: int,
    level: Level,
    *,
    within: Fraction = Fraction(0),
    kappa: int | None = None,
) -> Interval:
    """The interval of a fraction if its mean over t records lies within that of ``mean``.

    Surprise, sections 3a and, with a kappa, 3b; section 5 has a table of its half-widths.

    >>> found = forecast_interval(Fraction(1, 2), 2000, Level(Fraction(6240), 0))
    >>> round(float(found.half_width), 4)
    0.0404
    """
    least = max(round(mean * t) - math.floor(within * t), 0)
    most = min(round(mean * t) + math.floor(within * t), t)
    cell = Cell(Fraction(least, t), Fraction(most, t), closed=True)
    return fraction_interval(cell, t, level, kappa)


def forecast_mean_interval(
    mean: Fraction, t: int, level: Level, *, always: bool, within: Fraction = Fraction(0)
) -> Interval:
    """The same for values in [0, 1], of which nothing but the mean is known; and for rates."""
    low, high = max(mean - within, Fraction(0)), min(mean + within, Fraction(1))
    return mean_interval(Cell(low, high, closed=True), t, level, always=always)


def forecast_series(
    t: int,
    beta: Fraction,
    claims: int,
    *,
    surprises: int | None = None,
    rounds: Rounds = "both",
    shares: Shares | None = None,
) -> Iterator[ForecastClaim]:
    """The claims of a series of first answers at one round, each registered when it is asked.

    Without ``surprises`` all are plain numbers. With them each is expected with a learned doubt,
    and that many, spread evenly, come out one cell beside (Surprise, section 4).

    >>> *_, last = forecast_series(1000, Fraction(1, 20), 10)
    >>> round(last.level.nats, 2)
    44.75
    """
    if surprises is not None and not 0 <= surprises <= claims:
        raise InvalidInput("surprises", f"from 0 to {claims}", surprises)
    shares, spent, seen = shares or Shares(), 0, 0
    for c in range(claims):
        share, shares = shares.default()
        levels = question_levels(claim_level(beta, share, spent), rounds)
        level = levels.at(is_first_round=True)
        assert level is not None
        yield ForecastClaim(level, spent)
        if surprises is None:
            e = half_cell(t, level, always=levels.first is None)
            spent += price(plain_menu(e).weight(0))
            continue
        doubt = learned_doubt(c, seen)
        is_surprise = (c + 1) * surprises // claims > seen
        seen += is_surprise
        menu = expected_menu(Fraction(1, 2), Fraction(1, 20), doubt)  # weights go by cells alone
        spent += price(menu.weight(1 if is_surprise else 0))


def forecast_spent(expectations: int, surprises: int) -> int:
    """The most that guesses with learned doubts cost, in units, with at most that many surprises.

    Surprise, section 4: a hit weighs 1 - d, a surprise one cell beside d/4. With d learned, the
    product of the weights does not depend on their order: it is a ratio of gamma functions. Beyond
    about four surprises in five, another one costs less than another hit.

    >>> round(forecast_spent(1000, 0) / UNITS, 2), round(forecast_spent(199, 10) / UNITS, 2)
    (2.35, 55.18)
    """
    dearest = -(-(8 * expectations + 67) // 10)
    s = min(surprises, dearest, expectations)
    hits = expectations - s
    logs = (math.lgamma(expectations + 10), -math.lgamma(10), math.lgamma(0.5), math.lgamma(9.5))
    nats = math.fsum((*logs, -math.lgamma(s + 0.5), -math.lgamma(hits + 9.5), s * math.log(4)))
    return math.ceil(max(nats, 0.0) * UNITS)


def records_to_decide(mean: Fraction, threshold: Fraction, level: Level, *, always: bool) -> int:
    """How many records a gate needs if the mean stays (Surprise, section 4).

    From widths alone, so it may be reported. By Chernoff's bound, or ``always`` by the mixture M;
    the exact tails and the centred mixture of a fraction often need somewhat fewer.

    >>> records_to_decide(
    ...     Fraction(93, 100), Fraction(85, 100), Level(Fraction(6240), 0), always=False
    ... )
    289
    """
    if mean == threshold:
        raise InvalidInput("mean", f"other than the threshold, {threshold}", str(mean))
    claim = HalfMixture if always else Chernoff
    p, q = float(threshold), float(1 - threshold)
    return smallest_count(lambda t: -claim(mean, t).rough(p, q).value, -level.nats)
