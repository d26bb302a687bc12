"""Is a sample from the discrete Gaussian? Chi-square against its exact probability mass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from mpmath import mp, mpf
from scipy.stats import chi2

FEWEST = 25.0  # expected in a cell, so that the statistic is chi-square to a good approximation


def mass(scale: int, reach: int) -> list[float]:
    """P(|Z| = 0), P(|Z| = 1), ..., with 30 digits until the end."""
    with mp.workdps(30):
        weights = [mp.exp(-mpf(z * z) / (2 * scale * scale)) for z in range(40 * scale)]
        total = weights[0] + 2 * mp.fsum(weights[1:])
        return [float(weight / total) for weight in weights[:reach]]


def gaussian_p_value(sample: Sequence[int], scale: int) -> float:
    """Chi-square of the counts of ..., -1, 0, 1, ..., with both tails in cells of their own."""
    one_side = mass(scale, 12 * scale)
    last = max(z for z, p in enumerate(one_side) if p * len(sample) >= FEWEST)
    tail = (1.0 - one_side[0] - 2 * sum(one_side[1 : last + 1])) / 2
    counts = Counter(min(max(z, -last - 1), last + 1) for z in sample)
    expected = {z: one_side[abs(z)] * len(sample) for z in range(-last, last + 1)}
    if tail * len(sample) >= FEWEST:
        expected |= {z: tail * len(sample) for z in (-last - 1, last + 1)}
    else:  # too few for cells of their own
        for side in (-1, 1):
            expected[side * last] += tail * len(sample)
            counts[side * last] += counts.pop(side * (last + 1), 0)
    assert set(counts) <= set(expected)
    return chi_square([counts[z] for z in expected], list(expected.values()))


def chi_square(counts: Iterable[float], expected: Iterable[float]) -> float:
    """The p-value when the expected counts add up to the number of draws."""
    seen, due = np.asarray(list(counts)), np.asarray(list(expected))
    assert np.isclose(seen.sum(), due.sum())
    return float(chi2.sf(np.sum((seen - due) ** 2 / due), seen.size - 1))


def two_sample_p_value(first: Sequence[int], second: Sequence[int]) -> float:
    """Chi-square of homogeneity; values that are rare in both together share a cell per side."""
    both = Counter(first) + Counter(second)
    common = [z for z, count in both.items() if count >= 2 * FEWEST]
    low, high = min(common), max(common)
    rows = np.asarray(
        [
            [Counter(np.clip(sample, low, high).tolist())[z] for z in range(low, high + 1)]
            for sample in (first, second)
        ],
        dtype=float,
    )
    due = np.outer(rows.sum(axis=1), rows.sum(axis=0)) / rows.sum()
    return float(chi2.sf(np.sum((rows - due) ** 2 / due), rows.shape[1] - 1))
