"""Statistics over all pairs of records, exactly and in O(t log t).

Each function returns a numerator and a denominator, in Python's integers: the *unit*, which lies in
[0, 1/2] and moves by at most 1/t if one of t records is replaced (statistics.md). Without a pair,
for t < 2, it is a quarter whatever the record: the middle of its range, so that a width that holds
for any statistic of one record holds for it.

No values make them raise. Their time depends on the number of records, on how many of those count
(have no null, are positive), and, as for any sorting, on their order.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ratio: TypeAlias = tuple[int, int]
Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Truths: TypeAlias = NDArray[np.bool_]

WITHOUT_PAIRS: Ratio = (1, 4)
"""What stands for the unit of less than two records."""

_RANK_BITS = np.uint64(32)
_LOWER = np.uint64((1 << 32) - 1)
# This many numbers of up to 2^32 add up to less than 2^63.
_MOST_SUMMED = 1 << 30
# Ranks below 2^15 times integers up to 2^32, and 2^15 of them: less than 2^62.
_RANKED = 1 << 15


def on_grid(values: Floats, known: Truths, low: float, high: float, bits: int) -> Integers:
    """Return the integers that a mean gives the records (language.md); 0 where unknown.

    >>> on_grid(np.array([10.0, 35, 99]), np.array([True, True, False]), 10, 60, bits=32)
    array([         0, 2147483648,          0])
    """
    scale = 2.0**bits / (high - low)
    cut = np.clip(np.where(known, values, low), low, high)
    steps: Integers = np.floor((cut - low) * scale + 0.5).astype(np.int64)
    return steps


# ------------------------------------------------------------------- one number a record


def variance(steps: Integers, bits: int) -> Ratio:
    """Return the unbiased variance (with t - 1) of integers from 0 to 2^bits, over 4^bits.

    It is (t sum x^2 - (sum x)^2) / (t (t - 1)).

    >>> variance(np.array([0, 0, 0, 1]), bits=0)  # 1/4, as moving the last one may move it so far
    (3, 12)
    """
    t = steps.size
    if t < 2:
        return WITHOUT_PAIRS
    total, squares = _sum(steps), 0
    for part in _parts(steps, _MOST_SUMMED):
        # x = 2^16 a + b, so that no product exceeds 2^32.
        upper, lower = part >> 16, part & 0xFFFF
        squares += int((upper * upper).sum()) << 32
        squares += int((upper * lower).sum()) << 17
        squares += int((lower * lower).sum())
    return t * squares - total * total, t * (t - 1) << 2 * bits


def gini(steps: Integers, bits: int) -> Ratio:
    """The mean of \\|x - y\\| over pairs of integers from 0 to 2^bits, over 2 * 2^bits.

    In order, x_(0) <= x_(1) <= ..., the differences add up to sum_i (2 i - t + 1) x_(i).

    >>> gini(np.array([0, 0, 0, 1]), bits=0)  # three pairs of six differ, by 1
    (3, 12)
    """
    t = steps.size
    if t < 2:
        return WITHOUT_PAIRS
    total, ranks = 0, np.arange(_RANKED)
    for i, part in enumerate(_parts(np.sort(steps), _RANKED)):
        first = i * _RANKED
        total += (2 * first - t + 1) * int(part.sum())
        total += 2 * int(np.dot(part, ranks[: part.size]))
    return total, t * (t - 1) << bits


# ------------------------------------------------------------------ two numbers a record


def concordance(x: Floats, y: Floats, size: int) -> Ratio:
    """Return half of the fraction of pairs in which the larger x has the larger y.

    The arguments are those of the ``size`` records that have both numbers; a pair with any other
    record counts as not concordant. No number is NaN.

    >>> concordance(np.array([1.0, 2, 3]), np.array([1.0, 3, 2]), size=3)  # two pairs of three
    (2, 6)
    """
    if size < 2:
        return WITHOUT_PAIRS
    concordant, _ = orders(x, y)
    return concordant, size * (size - 1)


def kendall(x: Floats, y: Floats, size: int) -> Ratio:
    """Return (tau + 1) / 4 for tau = (concordant - discordant) / pairs; see concordance.

    >>> kendall(np.array([1.0, 2, 3]), np.array([1.0, 3, 2]), size=3)  # tau = 1/3
    (4, 12)
    """
    if size < 2:
        return WITHOUT_PAIRS
    concordant, discordant = orders(x, y)
    pairs = size * (size - 1) // 2
    return pairs + concordant - discordant, 4 * pairs


def auc_pairs(positive: Floats, negative: Floats, size: int) -> Ratio:
    """Return how often a positive record has the larger score, over all ordered pairs.

    The arguments are the scores of the positive and of the negative ones among ``size`` records,
    none of them NaN; the remaining records count in no pair. A tie counts one half.

    >>> auc_pairs(np.array([1.0, 2]), np.array([1.0, 0]), size=4)  # 3.5 of 12
    (7, 24)
    """
    if size < 2:
        return WITHOUT_PAIRS
    positive, negative = np.sort(positive), np.sort(negative)
    if positive.size > negative.size:
        # Searching for the fewer is quicker: a pair seen from the other side.
        beaten = _beaten(positive, negative)
        return 2 * positive.size * negative.size - beaten, 2 * size * (size - 1)
    return _beaten(negative, positive), 2 * size * (size - 1)


def _beaten(among: Floats, scores: Floats) -> int:
    """Return twice the number of smaller scores for each, ties by half; both are sorted."""
    smaller = np.searchsorted(among, scores, side="left")
    not_larger = np.searchsorted(among, scores, side="right")
    return _sum(smaller) + _sum(not_larger)


def orders(x: Floats, y: Floats) -> tuple[int, int]:
    """Count the concordant and the discordant pairs; a tie in x or y is neither.

    Knight (1966): in the order of x, and of y where x is tied, the discordant pairs are those whose
    y is in the wrong order. Pairs that are neither discordant nor tied are concordant.

    >>> orders(np.array([1.0, 1, 2, 3]), np.array([1.0, 2, 2, 0]))
    (1, 3)
    """
    size = x.size
    if size < 2:
        return 0, 0
    both = np.sort(_ranks(x) << _RANK_BITS | _ranks(y))
    tied_x = _count_ties(both >> _RANK_BITS)
    tied_both = _count_ties(both)
    # In the order of y; where y is tied, in that of the places, for which no pair is wrong.
    by_y = np.sort((both & _LOWER) << _RANK_BITS | np.arange(size, dtype=np.uint64))
    tied_y = _count_ties(by_y >> _RANK_BITS)
    discordant = _inversions((by_y & _LOWER).astype(np.uint32))
    untied = size * (size - 1) // 2 - tied_x - tied_y + tied_both
    return untied - discordant, discordant


def _ranks(values: Floats) -> NDArray[np.uint64]:
    """Return 0 for the smallest, 1 for the next larger, and so on."""
    return np.unique(values, return_inverse=True)[1].astype(np.uint64)


def _count_ties(ordered: NDArray[np.uint64]) -> int:
    """Count the pairs that are equal."""
    starts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    lengths = np.diff(starts, prepend=0, append=ordered.size)
    return _sum(lengths * (lengths - 1) // 2)


def _inversions(places: NDArray[np.uint32]) -> int:
    """How many pairs of a permutation of 0, 1, ... are in the wrong order.

    A merge sort backwards, without a loop over records. Each row below holds the places of one
    block of 2^level, in the order of their values. Its left half are the places with a zero in
    the next bit, and a pair across the halves is wrong if the right one comes first: of the left
    halves' places the j-th, found at index i, has i - j from the right before it. Then each half
    becomes a row. As every block is full, all of this is done for all rows at once.
    """
    levels = (places.size - 1).bit_length()
    padding = np.arange(places.size, 1 << levels, dtype=np.uint32)  # in order: adds no pair
    places = np.concatenate([places, padding])
    wrong = 0
    for level in reversed(range(levels)):
        half = 1 << level
        is_left = places & np.uint32(half) == 0
        at = np.flatnonzero(is_left)
        rows = at.size >> level
        wrong += int((at & (2 * half - 1)).sum()) - rows * (half * (half - 1) // 2)
        halves = np.empty((rows, 2, half), np.uint32)
        halves[:, 0] = places[at].reshape(rows, half)
        halves[:, 1] = places[~is_left].reshape(rows, half)
        places = halves.ravel()
    return wrong


# --------------------------------------------------------------------------------- sums


def _parts(values: NDArray[Any], length: int) -> list[NDArray[Any]]:
    return [values[first : first + length] for first in range(0, values.size, length)]


def _sum(values: NDArray[Any]) -> int:
    """Sum integers up to 2^32 exactly or, if there are fewer, larger ones."""
    return sum(int(part.sum()) for part in _parts(values, _MOST_SUMMED))
