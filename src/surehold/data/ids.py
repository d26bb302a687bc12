"""Ids: which records of an append are new, which are known, and which contradict what is kept."""

from __future__ import annotations

import operator
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, reduce
from itertools import count
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from surehold.data.frames import compact
from surehold.errors import InvalidInput
from surehold.formatting import Finding, several

Records: TypeAlias = Callable[[], pl.DataFrame]
Positions: TypeAlias = NDArray[np.integer[Any]]


class IdFilter:
    """Separates the new records of one append from known ones, by the column that identifies them.

    A known id must come with the values that are kept. The same id twice in one append counts once,
    if all values are the same. Ids that break this are counted, so that all can be named at once.

    >>> kept = pl.DataFrame({"user": [1, 2], "age": [30, 40]})
    >>> ids = IdFilter("user", lambda: kept, pl.DataFrame)
    >>> (
    ...     ids.take(pl.DataFrame({"user": [3, 2, 3], "age": [50, 40, 50]}))["user"].to_list(),
    ...     ids.known,
    ... )
    ([3], 2)
    """

    def __init__(self, id: str, kept: Records, own: Records) -> None:
        """``own`` returns the new records of this append so far, in order."""
        self.id, self._load_kept, self._own = id, kept, own
        self._own_ids: list[pl.Series] = []
        self._changed: list[pl.Series] = []
        self._twice: list[pl.Series] = []
        self.known = 0
        """Records that were passed over, as they are kept already."""

    def take(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the new records of a frame, in their order."""
        rest = self._drop(frame, self._kept, self._kept_ids, self._changed)
        if self._own_ids:
            # Values are fetched only if an id repeats, and ids are all that stays in memory.
            ids = pl.concat(self._own_ids, rechunk=False)
            rest = self._drop(rest, self._own, ids, self._twice)
        rest = self._drop_repeated(rest)
        if rest.height < frame.height:
            self.known += frame.height - rest.height
            rest = compact(rest)
        self._own_ids.append(rest[self.id])
        return rest

    @cached_property
    def _kept(self) -> pl.DataFrame:
        return self._load_kept()

    @property
    def _kept_ids(self) -> pl.Series:
        return self._kept[self.id] if self._kept.height else pl.Series()

    def check(self) -> None:
        """Refuse an append with ids whose values are not those that are kept."""
        changed, twice = (_count(ids) for ids in (self._changed, self._twice))
        if not changed and not twice:
            return
        found = [f"{several(changed, 'known id')} with other values"] if changed else []
        if twice:
            found.append(f"{several(twice, 'id')} twice in it, with different values")
        hint = (
            "nothing of this append was kept. A record never changes once it is kept: leave those "
            "out, or change them in a successor (surehold succeed)"
        )
        required = "of new ids, and known ones with the values that are kept"
        raise InvalidInput("an append", required, Finding(f"has {' and '.join(found)}"), hint)

    def _drop(
        self,
        frame: pl.DataFrame,
        others: pl.DataFrame | Records,
        ids: pl.Series,
        wrong: list[pl.Series],
    ) -> pl.DataFrame:
        """Leave out records whose id is among ``ids``, those of the ``others``."""
        if not (frame.height and ids.len()):
            return frame
        at = _match(frame[self.id], ids)
        if (at < 0).all():
            return frame
        differs = _differs(frame, others if isinstance(others, pl.DataFrame) else others(), at)
        if differs.any():
            wrong.append(frame[self.id].filter(differs))
        return frame.filter(pl.Series(at < 0))

    def _drop_repeated(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Leave out all but the first record of every id of a frame."""
        if not _has_repeated(frame[self.id]):
            return frame
        is_first = frame[self.id].is_first_distinct()
        first, rest = frame.filter(is_first), frame.filter(~is_first)
        self._drop(rest, first, first[self.id], self._twice)
        return first


def count_repeated(ids: pl.Series) -> int:
    """Return how many ids are missing, or there before."""
    return ids.len() - ids.drop_nulls().n_unique()


def _match(new: pl.Series, old: pl.Series) -> Positions:
    """Return where in the second series each id of the first is, -1 if it is not there.

    Every id of the second, which are unique, has one slot of a table, in which the last one that
    comes stays. Those that were put out have another table, and so on: on random ids this takes a
    fraction of the time of a join.
    """
    old = old.rechunk()
    found = np.full(new.len(), -1)
    of_new, of_old = np.arange(new.len()), np.arange(old.len())
    for seed in count():
        if not of_new.size or not of_old.size or _are_apart(new, old):
            break
        table = _Table(old, seed)
        at = table.look_up(new, seed)
        is_same = (at >= 0) & (new == old.gather(pl.Series(np.maximum(at, 0)))).to_numpy()
        found[of_new[is_same]] = of_old[at[is_same]]
        left = np.flatnonzero(~is_same)
        new, of_new = new.gather(left), of_new[left]
        old, of_old = old.gather(table.put_out), of_old[table.put_out]
    return found


class _Table:
    """One slot for every hash of an id, with the position of the last id that has it."""

    def __init__(self, ids: pl.Series, seed: int) -> None:
        self._bits = (2 * ids.len()).bit_length()
        self.slots = self._slots(ids, seed)
        positions = np.arange(ids.len(), dtype=np.int32)  # half the memory to jump about in
        self.last = np.full(1 << self._bits, -1, np.int32)
        self.last[self.slots] = positions
        self.put_out: Positions = np.flatnonzero(self.last.take(self.slots) != positions)

    def look_up(self, ids: pl.Series, seed: int) -> Positions:
        """Return what is in the slot of each id, -1 if nothing is."""
        return self.last.take(self._slots(ids, seed))

    def _slots(self, ids: pl.Series, seed: int) -> NDArray[np.int64]:
        hashes: NDArray[np.uint64] = ids.hash(seed).to_numpy()
        slots = hashes >> np.uint64(64 - self._bits)
        return slots.view(np.int64)  # as NumPy would convert any other index


def _has_repeated(ids: pl.Series) -> bool:
    """Whether an id is there twice."""
    if ids.dtype == pl.String and ids.hash().n_unique() == ids.len():  # a quarter of the time
        return False
    return ids.n_unique() < ids.len()


def _are_apart(new: pl.Series, old: pl.Series) -> bool:
    """Whether all numbers of one are above those of the other, as if ids are counted up."""
    if new.dtype != pl.Int64:
        return False
    return bool(new.min() > old.max() or new.max() < old.min())  # type: ignore[operator]


def _differs(left: pl.DataFrame, right: pl.DataFrame, at: Positions) -> pl.Series:
    """Return whether any value of a record is not that of the other, missing ones included.

    The other is at a position in ``right``; -1 stands for none, from which no record differs.
    """
    there = pl.Series(np.maximum(at, 0)).cast(pl.UInt32)

    def differs(name: str) -> pl.Series:
        # In one piece it is read several times as fast, in whatever order.
        return left[name].ne_missing(right[name].rechunk().gather(there))

    with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
        found = reduce(operator.or_, pool.map(differs, left.columns))
    return found & pl.Series(at >= 0)


def _count(ids: list[pl.Series]) -> int:
    return pl.concat(ids).n_unique() if ids else 0
