"""Records that were appended before, where no column identifies them.

Records of a few small columns repeat by themselves, so what is seen is compared with what
independent records would give. By Good and Turing, the next of many draws equals an earlier one
about as often as an earlier one is not the only one with its value. That is looked up twice, among
the records that are kept and within the append, as either may hold repeated records already. The
second is for as many earlier draws as the append has: k > 1 times as many give at most k times as
much.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import polars as pl

from surehold.data.sources import Batch, as_frame
from surehold.ledger.tables import Segment
from surehold.queries import Schema

SOME = 1 << 18
"""Records of an append that are looked up."""
END = 1 << 19
"""Records at either end of those that are kept, among which they are looked up."""
_FAR = 6.0  # standard deviations
_LARGE_PART = 0.1


class Sample:
    """The first records of an append."""

    def __init__(self) -> None:
        self._batches: list[Batch] = []
        self._count = 0

    def take(self, batch: Batch) -> None:
        """Take as many as are needed."""
        if self._count < SOME:
            self._batches.append(batch[: SOME - self._count])
            self._count += len(batch)

    def frame(self, schema: Schema) -> pl.DataFrame:
        """Return them as one frame."""
        return pl.concat([as_frame(batch, schema) for batch in self._batches], rechunk=False)


def end_segments(segments: Sequence[Segment]) -> list[Segment]:
    """Return the segments that hold the first records and the last ones."""
    chosen = set()
    for ordered in (segments, segments[::-1]):
        before = 0
        for segment in ordered:
            if before < END:
                chosen.add(segment.start)
            before += segment.count
    return [segment for segment in segments if segment.start in chosen]


def ends_of(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the first records and the last ones, as one frame."""
    frame = pl.concat(frames, rechunk=False)
    return frame if frame.height <= 2 * END else frame.head(END).vstack(frame.tail(END))


def remark_on(some: pl.DataFrame, kept: pl.DataFrame, size: int) -> str | None:
    """Return a note if too many of ``some`` new records equal ``kept`` ones, of ``size`` in all.

    >>> old = pl.DataFrame({"x": range(1000)})
    >>> remark_on(old.head(500).vstack(old.tail(300)), old, 1000).partition(",")[0]
    '100% of these records equal earlier ones'
    >>> remark_on(old + 1000, old, 1000), remark_on(old % 7, old % 7, 1000)
    (None, None)
    """
    new, old = (frame.hash_rows() for frame in (some, kept))
    here, there = new.len(), old.len()
    expected = min(_not_alone(old), _not_alone(new) * max(there / here, 1.0), 1.0)
    seen = int(new.is_in(old.unique().implode()).sum())
    by_chance = here * expected + _FAR * sqrt(here * expected * (1.0 - expected)) + _FAR**2
    part = (seen / here - expected) / (1.0 - expected) if expected < 1.0 else 0.0
    if seen <= by_chance or part < _LARGE_PART * there / size:
        return None
    return (
        f"{_percent(seen / here)} of these records equal earlier ones, where at most "
        f"{_percent(expected)} of independent records would. If they were appended before, they "
        "count twice now, and no interval of this dataset holds. Where one column identifies a "
        "record, create the dataset with it as id (--id): an append then adds new records only"
    )


def _not_alone(hashes: pl.Series) -> float:
    """Return the share of records whose values another one has too, with room for chance."""
    size = hashes.len()
    share = 1.0 - int(hashes.is_unique().sum()) / size
    return min(share + _FAR * sqrt(share * (1.0 - share) / size) + _FAR**2 / size, 1.0)


def _percent(share: float) -> str:
    return f"{share:.0%}" if share < 0.995 or share == 1.0 else "over 99%"
