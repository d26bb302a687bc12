"""What each record is exposed to: rounds and counts, or a filter's budget, to mu^2 = 2 rho.

A query of sensitivity Delta_tau at round tau with noise sigma adds ``Delta_tau^2 / sigma^2`` to the
mu^2 of every record s <= tau (Lemma 4.2; a statistical query has Delta_tau = 1/tau). Exposure is
therefore piecewise constant in s, and one :class:`Exposure` with a piece per round, or per level of
a budget profile, is all that a certificate needs to know of a design. It is kept for sigma = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from scipy.special import digamma

from surehold.checks import LARGEST_BATCHES, LARGEST_COUNT, check_count, check_growth, check_number
from surehold.errors import InvalidInput
from surehold.theory.arrays import WIDEST_RANGE, FloatArray, IntArray, Numbers, as_floats

Sensitivity: TypeAlias = Callable[[FloatArray], FloatArray]

_MOST_ROUNDS_LISTED = 5_000_000
_COARSE_PIECES = 512


def statistical(rounds: FloatArray) -> FloatArray:
    """Delta_t = 1/t: the sensitivity of a statistical query with values in [0, 1]."""
    return 1.0 / rounds


def reciprocal(rounds: FloatArray) -> FloatArray:
    """Delta_t = 1/t for functions of a snapshot that need not be means over its records.

    Any low-sensitivity query is one, divided by its own t Delta_t (sharp-bound.md, section
    15). The sharp theorem gives it the width of a statistical query; the paper's Theorem 3.6, on
    which its certificates rest then, loses a factor 2 in one term.
    """
    return 1.0 / rounds


@dataclass(frozen=True)
class Extremes:
    """Of a sensitivity profile over the rounds: the largest Delta_t, and the range of t Delta_t."""

    is_statistical: bool
    delta_high: float
    t_delta_low: float
    t_delta_high: float

    @classmethod
    def over(cls, rounds: FloatArray, delta: FloatArray, sensitivity: Sensitivity) -> Extremes:
        """The extremes over given rounds; exactly 1 where t Delta_t = 1 by definition."""
        if sensitivity in (statistical, reciprocal):
            return cls(sensitivity is statistical, float(delta.max()), 1.0, 1.0)
        t_delta = rounds * delta
        return cls(False, float(delta.max()), float(t_delta.min()), float(t_delta.max()))


@dataclass(frozen=True, eq=False)
class Exposure:
    """Pieces of records with the same exposure, in order of arrival.

    ``unit`` is mu^2 sigma^2 of each record of a piece, ``records`` their number, and ``reach`` the
    sum over them of ``max Delta_t`` over the rounds t >= s at which a query may be asked (for a
    statistical query 1/m_s, m_s the next such round). ``noise_low`` and ``noise_high`` bound
    sigma_t / sigma.
    """

    records: FloatArray
    unit: FloatArray
    reach: FloatArray
    queries: float
    first_round: float
    extremes: Extremes
    noise_low: float = 1.0
    noise_high: float = 1.0

    @property
    def most(self) -> float:
        """The unit exposure of the most exposed record."""
        return float(self.unit.max())

    def mu(self, sigma: float) -> FloatArray:
        """The Gaussian privacy level of each piece at noise ``sigma``."""
        return as_floats(np.sqrt(self.unit) / sigma)

    def rho(self, sigma: float) -> FloatArray:
        """The zCDP level of each piece at noise ``sigma``: rho = mu^2 / 2."""
        return as_floats(0.5 * self.unit / sigma**2)

    def coarse(self) -> Exposure:
        """Approximate by a few hundred pieces: for finding constants, never for a result."""
        if self.unit.size <= 2 * _COARSE_PIECES:
            return self
        logs = np.log(self.unit)
        span = np.ptp(logs) or 1.0
        bins = ((logs.max() - logs) / span * (_COARSE_PIECES - 1)).astype(np.int64)
        records = np.bincount(bins, weights=self.records)
        reach = np.bincount(bins, weights=self.reach)
        unit = np.bincount(bins, weights=self.reach * self.unit)
        kept = reach > 0.0
        return replace(
            self,
            records=as_floats(records[kept]),
            unit=np.minimum(unit[kept] / reach[kept], self.most),
            reach=as_floats(reach[kept]),
        )

    def uniform(self) -> Exposure:
        """Every record counted as the most exposed one."""
        return replace(
            self,
            records=as_floats([self.records.sum()]),
            unit=as_floats([self.most]),
            reach=as_floats([self.reach.sum()]),
        )


@dataclass(frozen=True, eq=False)
class Schedule:
    """Rounds and numbers of queries that are fixed before the first answer.

    ``noise`` gives rounds their own noise, relative to the sigma that a certificate chooses.
    Rounds without queries are dropped, but the last round given stays the horizon ``n``.

    >>> schedule = Schedule(rounds=[100, 200], counts=[3, 4])
    >>> schedule.exposure().unit * 200**2  # records 1-100 meet 3 queries at 100 and 4 at 200
    array([16.,  4.])
    """

    rounds: IntArray
    counts: FloatArray
    sensitivity: Sensitivity = statistical
    noise: FloatArray | None = None
    queries: float = field(init=False)
    n: int = field(init=False)

    def __init__(
        self,
        rounds: Numbers,
        counts: Numbers,
        sensitivity: Sensitivity = statistical,
        noise: Numbers | None = None,
    ) -> None:
        rounds, counts = _check_rounds("rounds", rounds), as_floats(counts)
        if counts.shape != rounds.shape or not np.all((counts >= 0.0) & (counts < np.inf)):
            raise InvalidInput("counts", "one finite number >= 0 for each round", _shown(counts))
        asked = counts > 0.0
        if not counts.sum() >= 1.0:
            raise InvalidInput("counts", "of at least one query in all", _shown(counts))
        if noise is not None:
            noise = as_floats(noise)
            if noise.shape != rounds.shape or not np.all((noise > 0.0) & (noise < np.inf)):
                raise InvalidInput("noise", "one positive number for each round", _shown(noise))
            if noise.max() > WIDEST_RANGE * noise.min():
                raise InvalidInput("noise", f"within a factor of {WIDEST_RANGE:g}", _shown(noise))
            noise = noise[asked]
        object.__setattr__(self, "rounds", rounds[asked])
        object.__setattr__(self, "counts", counts[asked])
        object.__setattr__(self, "sensitivity", sensitivity)
        object.__setattr__(self, "noise", noise)
        object.__setattr__(self, "queries", float(self.counts.sum()))
        object.__setattr__(self, "n", int(rounds[-1]))

    @classmethod
    def batches(
        cls, n0: int, n: int, b: int, queries: int, sensitivity: Sensitivity = statistical
    ) -> Schedule:
        """``queries`` in b batches at whole rounds evenly from n0 to n; b = 1 asks all at n.

        The first batches get one query more when b does not divide their number.

        >>> Schedule.batches(10, 30, 3, 7).counts
        array([3., 2., 2.])
        """
        n0, n = check_growth(n0, n)
        b = check_count("batches", b, LARGEST_BATCHES)
        queries = check_count("queries", queries)
        if b == 1:
            return cls([n], [queries], sensitivity)
        stride, rest = divmod(n - n0, b - 1)
        step = np.arange(b, dtype=np.int64)
        rounds = n0 + step * stride + step * rest // (b - 1)
        counts = np.full(b, queries // b, dtype=np.float64)
        counts[: queries % b] += 1.0
        rounds, where = np.unique(rounds, return_inverse=True)  # b may exceed the rounds there are
        return cls(rounds, np.bincount(where, weights=counts), sensitivity)

    @property
    def fresh_batches(self) -> tuple[FloatArray, FloatArray] | None:
        """Sizes of the batches of records new at each round, and the queries asked of each."""
        return as_floats(np.diff(self.rounds, prepend=0)), self.counts

    def exposure(self) -> Exposure:
        """O(rounds) in time and memory."""
        rounds = as_floats(self.rounds)
        delta = _check_delta(self.sensitivity, rounds)
        noise = np.ones_like(rounds) if self.noise is None else self.noise
        charges = self.counts * (delta / noise) ** 2
        records = np.diff(rounds, prepend=0.0)
        return Exposure(
            records=records,
            unit=np.cumsum(charges[::-1])[::-1],
            reach=records * np.maximum.accumulate(delta[::-1])[::-1],
            queries=self.queries,
            first_round=float(rounds[0]),
            extremes=Extremes.over(rounds, delta, self.sensitivity),
            noise_low=float(noise.min()),
            noise_high=float(noise.max()),
        )


@dataclass(frozen=True, eq=False)
class BudgetProfile:
    """Relative budgets: records up to ``ends[0]`` get ``levels[0]``, up to ``ends[1]`` the next.

    The last end must reach the horizon n. Records that arrive late can only meet late queries, so
    they may be given less, which narrows every width.
    """

    ends: Sequence[int]
    levels: Sequence[float]

    def __post_init__(self) -> None:
        _check_rounds("ends", self.ends)
        levels = as_floats(self.levels)
        if levels.shape != (len(self.ends),) or not np.all((levels > 0.0) & (levels < np.inf)):
            raise InvalidInput("levels", "one positive number for each end", self.levels)


@dataclass(frozen=True, eq=False)
class Adaptive:
    """An analyst who decides as they go when to ask and how often, held by a per-record filter.

    The filter admits a query at round tau while ``mu_s^2 + Delta_tau^2 / sigma^2 <= B_s`` for every
    record s <= tau. ``queries`` is the cap that this puts on the number of answers; it is reached
    by waiting for the cheapest rounds, for a uniform budget by asking all at n: B sigma^2 n^2.
    """

    n0: int
    n: int
    queries: float
    profile: BudgetProfile | None = None
    sensitivity: Sensitivity = statistical

    def __post_init__(self) -> None:
        check_growth(self.n0, self.n)
        required = "a finite number of at least 1"
        check_number("queries", self.queries, required, lambda x: 1.0 <= x < np.inf)
        if self.profile is not None and self.profile.ends[-1] < self.n:
            raise InvalidInput("profile", f"given up to n = {self.n}", self.profile.ends[-1])

    @property
    def fresh_batches(self) -> tuple[FloatArray, FloatArray] | None:
        """Known beforehand only when the data does not grow."""
        return (as_floats([self.n]), as_floats([self.queries])) if self.n0 == self.n else None

    def exposure(self) -> Exposure:
        """The exposure once every record's budget is spent."""
        if self.sensitivity in (statistical, reciprocal):
            edges, levels = self._pieces()
            low, high = edges[:-1], edges[1:]
            waiting = np.maximum(np.minimum(high, self.n0) - low, 0.0) / self.n0
            arriving = digamma(np.maximum(high, self.n0) + 1.0) - digamma(
                np.maximum(low, self.n0) + 1.0
            )
            return Exposure(
                records=high - low,
                unit=levels * (self.queries / _capacity(edges, levels)),
                reach=waiting + arriving,
                queries=self.queries,
                first_round=float(self.n0),
                extremes=Extremes(self.sensitivity is statistical, 1.0 / self.n0, 1.0, 1.0),
            )
        return self._low_sensitivity_exposure()

    def _pieces(self) -> tuple[FloatArray, FloatArray]:
        """Edges between records with different budgets, and the budgets that can be spent."""
        if self.profile is None:
            return as_floats([0.0, self.n]), as_floats([1.0])
        ends = as_floats(self.profile.ends)
        # A query charges every record up to its round, and so at least the first n0: no record can
        # be exposed to more than an earlier one's budget, nor one of the first n0 than another's.
        levels = np.minimum.accumulate(as_floats(self.profile.levels))
        first, last = np.searchsorted(ends, [self.n0, self.n])
        edges = np.concatenate(([0.0], ends[first:last], [self.n]))
        return edges, levels[first : last + 1]

    def _low_sensitivity_exposure(self) -> Exposure:
        if self.profile is not None:
            raise InvalidInput("profile", "left out for low-sensitivity queries", self.profile)
        if self.n - self.n0 >= _MOST_ROUNDS_LISTED:
            raise InvalidInput(
                "n", f"less than {_MOST_ROUNDS_LISTED:,} above n0 for a sensitivity profile", self.n
            )
        rounds = np.arange(self.n0, self.n + 1, dtype=np.float64)
        delta = _check_delta(self.sensitivity, rounds)
        furthest = np.maximum.accumulate(delta[::-1])[::-1]
        return Exposure(
            records=as_floats([self.n]),
            unit=as_floats([self.queries * delta.min() ** 2]),
            reach=as_floats([self.n0 * furthest[0] + furthest[1:].sum()]),
            queries=self.queries,
            first_round=float(self.n0),
            extremes=Extremes.over(rounds, delta, self.sensitivity),
        )


Design: TypeAlias = Schedule | Adaptive


def _capacity(edges: FloatArray, levels: FloatArray) -> float:
    """Most answers that falling budgets ``levels`` (for sigma = 1) admit at rounds from n0 on.

    The exposure y_s that all queries at rounds >= s add up to stays below the budget of s, and the
    answers are n0^2 y_n0 + sum over s > n0 of (2 s - 1) y_s (sharp-bound.md, section 9). The
    first piece holds the first n0 records, so this is a sum of squares' differences.
    """
    return float(np.sum(levels * np.diff(edges**2)))


def _check_rounds(name: str, rounds: Numbers) -> IntArray:
    given = np.asarray(rounds)
    required = "a list of whole numbers from 1 to 10^18 in increasing order"
    is_list = given.ndim == 1 and given.size > 0 and given.dtype.kind in "iuf"
    if not is_list or not np.all((given >= 1) & (given <= LARGEST_COUNT)):
        raise InvalidInput(name, required, _shown(given))
    whole = given.astype(np.int64)
    if np.any(np.diff(whole) <= 0) or np.any(whole != given):
        raise InvalidInput(name, required, _shown(given))
    return whole


def _check_delta(sensitivity: Sensitivity, rounds: FloatArray) -> FloatArray:
    delta = as_floats(sensitivity(rounds))
    if delta.shape != rounds.shape or not np.all((delta > 0.0) & (delta <= 1.0)):
        raise InvalidInput(
            "sensitivity", "a function that gives Delta_t in (0, 1] for every round", _shown(delta)
        )
    return delta


def _shown(values: object) -> object:
    """Short enough for one line of an error."""
    array = np.asarray(values)
    return array.tolist() if array.size <= 8 else f"{array.size} values"
