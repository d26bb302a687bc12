"""Look up a column's texts among given ones, in a time that does not depend on them.

Polars stores a text as 16 bytes: its length, and either the whole text, if it has 12 bytes or
fewer, or its first four bytes and a pointer to the rest. So a text of up to 12 bytes equals another
if and only if the 16 bytes are equal; a longer text differs in its length. If a given text is
longer, every record's length and first bytes are compared, as many as the longest given text has.
Either key is looked up in a table without collisions, with the same steps for every record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import count
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from surehold.data.engines.polars_arrays import Cells, Truths, Words, keep, known_of, slice_of
from surehold.data.engines.polars_bytes import Letters, Texts, fold_case, rounded_up
from surehold.queries.expressions import LONGEST_READ

LONGEST_INLINE = 12
"""Bytes of a text that Polars keeps in place."""

_MOST_TRIES = 1 << 10
_FOLD, _SLOT_FROM = np.uint64(29), np.uint64(20)

Slots: TypeAlias = NDArray[np.int64]


class TextCells:
    """The number of each text among those given; their count for all others and nulls.

    The column's texts are looked up in lower or upper case if one is set.

    >>> TextCells(["NO", "SE"]).of(pl.Series(["SE", None, "DK", "NO"])).tolist()
    [1, 2, 2, 0]
    >>> TextCells(["Bergen-Fana-Nesttun"]).of(pl.Series(["Bergen-Fana-Nesttun", "Oslo"])).tolist()
    [0, 1]
    """

    def __init__(self, texts: Sequence[str], letters: Letters = None) -> None:
        self._letters, self._other = letters, len(texts)
        numbers = {text.encode(): at for at, text in reversed(list(enumerate(texts)))}
        # A longer one is not the same as any text that is read.
        read = {text: at for text, at in numbers.items() if len(text) <= LONGEST_READ}
        longest = max(map(len, read), default=0)
        self._width = None if longest <= LONGEST_INLINE else rounded_up(longest)
        self._table = None
        if read:
            keys = np.array([_key(text, self._width) for text in read], np.uint64)
            self._table = _table_of(keys, list(read.values()), self._other)

    def of(self, column: pl.Series) -> Cells:
        """Return the cell of every record."""
        if self._table is None:
            return np.full(len(column), self._other)
        if self._width is None:
            return self._of_inline(self._table, column)
        texts, width = Texts(column), self._width
        cells = np.empty(len(texts), np.int64)
        for block in texts.blocks(4 * width):
            words = texts.fill(block, width, 0, self._letters).view(np.uint64)
            length = texts.length[block].view(np.uint64)
            cells[block] = self._table.find([length, *words.T], texts.known[block])
        return cells

    def _of_inline(self, table: _Table, column: pl.Series) -> Cells:
        array = column.to_arrow(compat_level=pl.CompatLevel.newest())
        kept_as = slice_of(array, np.uint64, width=2)
        if self._letters is not None:
            # Of a longer text this may change the length, but to none of 12 bytes or fewer.
            kept_as = fold_case(kept_as.copy().view(np.uint8), self._letters).view(np.uint64)
        words = kept_as.reshape(-1, 2)
        return table.find([words[:, 0].copy(), words[:, 1].copy()], known_of(array))


def _key(text: bytes, width: int | None) -> list[int]:
    """Return the words that identify a text: as Polars stores it, or its length and itself."""
    if width is None:
        whole = len(text).to_bytes(4, "little") + text.ljust(LONGEST_INLINE, b"\0")
    else:
        whole = len(text).to_bytes(8, "little") + text.ljust(width, b"\0")
    return [int(word) for word in np.frombuffer(whole, np.dtype("<u8"))]


class _Table:
    """A perfect hash: a bucket's displacement brings its keys to slots that nobody else has.

    (Hash and displace: Belazzougui, Botelho, Dietzfelbinger, ESA 2009.)
    """

    def __init__(self, keys: Words, numbers: Sequence[int], other: int, seed: int) -> None:
        many, width = keys.shape
        bits = max((2 * many - 1).bit_length(), 4)
        self._mask, self._top = np.uint64((1 << bits) - 1), np.uint64(64 - (bits - 3))
        # Of the keys themselves, so that nobody can choose keys that no seed does for.
        drawn = hashlib.shake_256(keys.tobytes() + seed.to_bytes(8)).digest(8 * (width + 1))
        self._odd = list(np.frombuffer(drawn, np.uint64) | np.uint64(1))
        self._displacements = np.zeros(1 << (bits - 3), np.uint64)
        mixed = self._mix(list(keys.T))
        place = _place(
            (mixed >> self._top).tolist(),
            ((mixed >> _SLOT_FROM) & self._mask).tolist(),
            1 << bits,
            self._displacements,
        )
        # Where nothing is, a key that no text has: its length would be 2^32 - 1 or more.
        self._keys = np.full((width, 1 << bits), np.uint64((1 << 64) - 1))
        self._keys[:, place] = keys.T
        self._cell = np.full(1 << bits, other, np.int64)
        self._cell[place] = numbers
        self._other = other

    def find(self, words: Sequence[Words], known: Truths) -> Cells:
        """Return the number of each key; the other one for keys that are missing or unknown."""
        mixed = self._mix(words)
        slot = mixed >> _SLOT_FROM
        slot ^= self._displacements.take((mixed >> self._top).view(np.int64))
        slot &= self._mask
        at = slot.view(np.int64)
        same: Truths = known.copy()
        for key, word in zip(self._keys, words, strict=True):
            same &= key.take(at) == word
        return keep(self._cell.take(at), same, self._other)

    def _mix(self, words: Sequence[Words]) -> Words:
        *each, last = self._odd
        mixed: Words = words[0] * each[0]
        for word, odd in zip(words[1:], each[1:], strict=True):
            mixed ^= word * odd
        mixed ^= mixed >> _FOLD
        mixed *= last
        return mixed


def _table_of(keys: Words, numbers: Sequence[int], other: int) -> _Table:
    """Build a table of distinct keys; most seeds work."""
    for seed in count():
        try:
            return _Table(keys, numbers, other, seed)
        except _Collision:
            continue
    raise AssertionError


class _Collision(Exception):
    """This seed does not work; only this module sees it."""


def _place(buckets: list[int], slots: list[int], size: int, displacements: Words) -> Slots:
    """Return the slot of every key, and fill in the displacements that lead there."""
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
