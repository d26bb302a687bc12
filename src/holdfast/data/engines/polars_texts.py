"""Which of some texts a column holds, in a time that does not tell.

Polars keeps a text as 16 bytes: its length, and either all of it, if it has 12 bytes or fewer, or
its first four and where the rest is. So a text of up to 12 bytes is the same as another if and only
if the 16 bytes are, and those of any longer text differ by their length. They are looked up in a
table without collisions, with the same steps for every record. (Polars' cast to an Enum does the
same for texts of any length, but takes from no time at all to twice the usual, depending on which
are missing, known or repeated. It serves where a text that is looked for is longer than 12 bytes.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from holdfast.data.engines.polars_arrays import Cells, Truths, Words, kept, known_of, slice_of

LONGEST_INLINE = 12
"""Bytes of a text that Polars keeps in place."""

_SEEDS = 16
_MOST_TRIES = 1 << 10
_ODD = 0x9E3779B97F4A7C15
_FOLD, _SLOT_FROM = np.uint64(29), np.uint64(20)

Slots: TypeAlias = NDArray[np.int64]


class TextCells:
    """The number of each text among those given; how many there are for all others and nulls.

    >>> TextCells(["NO", "SE"]).of(pl.Series(["SE", None, "DK", "NO"])).tolist()
    [1, 2, 2, 0]
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._other = len(texts)
        self._enum = pl.Enum(texts)
        inline = all(len(text.encode()) <= LONGEST_INLINE for text in texts)
        self._table = _table_of(texts) if inline else None

    def of(self, column: pl.Series) -> Cells:
        """The cell of every record."""
        if self._table is None:
            return self._by_enum(column)
        array = column.to_arrow(compat_level=pl.CompatLevel.newest())
        words = slice_of(array, np.uint64, width=2).reshape(-1, 2)
        return self._table.find(words[:, 0].copy(), words[:, 1].copy(), known_of(array))

    def _by_enum(self, column: pl.Series) -> Cells:
        codes = column.cast(self._enum, strict=False).to_physical().cast(pl.Int64)
        array = codes.to_arrow()
        return kept(slice_of(array, np.int64), known_of(array), self._other)


class _Table:
    """A perfect hash: a bucket's displacement brings its keys to slots that nobody else has.

    (Hash and displace: Belazzougui, Botelho, Dietzfelbinger, ESA 2009.)
    """

    def __init__(self, keys: Words, seed: int) -> None:
        count = len(keys)
        bits = max((2 * count - 1).bit_length(), 4)
        self._mask, self._top = np.uint64((1 << bits) - 1), np.uint64(64 - (bits - 3))
        self._odd = [np.uint64((_ODD * (2 * (3 * seed + i) + 1)) % (1 << 64)) for i in range(3)]
        self._displacements = np.zeros(1 << (bits - 3), np.uint64)
        mixed = self._mixed(keys[:, 0], keys[:, 1])
        place = _placed(
            (mixed >> self._top).tolist(),
            ((mixed >> _SLOT_FROM) & self._mask).tolist(),
            1 << bits,
            self._displacements,
        )
        # Where nothing is, a key that no text has: its length would be 2^32 - 1.
        self._first = np.full(1 << bits, np.uint64((1 << 64) - 1))
        self._second = np.zeros(1 << bits, np.uint64)
        self._cell = np.full(1 << bits, count, np.int64)
        self._first[place], self._second[place] = keys[:, 0], keys[:, 1]
        self._cell[place] = np.arange(count)
        self._count = count

    def find(self, first: Words, second: Words, known: Truths) -> Cells:
        """The number of each key; how many there are for those that are none, or not known."""
        mixed = self._mixed(first, second)
        slot = mixed >> _SLOT_FROM
        slot ^= self._displacements.take((mixed >> self._top).view(np.int64))
        slot &= self._mask
        at = slot.view(np.int64)
        same = self._first.take(at) == first
        same &= self._second.take(at) == second
        same &= known
        return kept(self._cell.take(at), same, self._count)

    def _mixed(self, first: Words, second: Words) -> Words:
        one, two, three = self._odd
        mixed: Words = first * one
        mixed ^= second * two
        mixed ^= mixed >> _FOLD
        mixed *= three
        return mixed


def _table_of(texts: Sequence[str]) -> _Table | None:
    """A table for these texts; None for texts that were chosen so that there is none."""
    padded = [text.encode() for text in texts]
    inline = [len(one).to_bytes(4, "little") + one.ljust(LONGEST_INLINE, b"\0") for one in padded]
    keys = np.frombuffer(b"".join(inline), np.dtype("<u8")).astype(np.uint64).reshape(-1, 2)
    for seed in range(_SEEDS):
        try:
            return _Table(keys, seed)
        except _Collision:
            continue
    return None


class _Collision(Exception):
    """This seed does not do; never seen outside of this file."""


def _placed(buckets: list[int], slots: list[int], size: int, displacements: Words) -> Slots:
    """The slot of every key; the displacements that bring them there are filled in."""
    members: dict[int, list[int]] = {}
    for key, bucket in enumerate(buckets):
        members.setdefault(bucket, []).append(key)
    place, used = np.empty(len(slots), np.int64), bytearray(size)
    for bucket in sorted(members, key=lambda one: -len(members[one])):
        wanted = [slots[key] for key in members[bucket]]
        if len(set(wanted)) < len(wanted):
            raise _Collision
        for tried in range(min(size, _MOST_TRIES)):
            if not any(used[slot ^ tried] for slot in wanted):
                break
        else:
            raise _Collision
        displacements[bucket] = tried
        for key, slot in zip(members[bucket], wanted, strict=True):
            used[slot ^ tried] = 1
            place[key] = slot ^ tried
    return place
