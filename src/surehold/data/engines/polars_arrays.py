"""Columns as NumPy arrays: values and nulls separately, the same way for every column."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Cells: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]
Truths: TypeAlias = NDArray[np.bool_]
Item = TypeVar("Item", bound=np.generic)


def slice_of(array: Any, kind: type[Item], width: int = 1) -> NDArray[Item]:
    """Return the values of an Arrow array of numbers; those of nulls are arbitrary."""
    first, stop = width * array.offset, width * (array.offset + len(array))
    return np.frombuffer(array.buffers()[1], kind)[first:stop]


def known_of(array: Any) -> Truths:
    """Return where an Arrow array is not null; the same work if it has no nulls."""
    return _bits_of(array, 0)


def truths_of(array: Any) -> Truths:
    """Return the values of an Arrow array of booleans."""
    return _bits_of(array, 1)


def _bits_of(array: Any, which: int) -> Truths:
    bits = array.buffers()[which]
    # From the byte in which it begins: a slice of a long column begins far behind its first.
    first, before = divmod(array.offset, 8)
    count = before + len(array)
    if bits is None:
        packed = np.full(count // 8 + 1, 255, np.uint8)
    else:
        packed = np.frombuffer(bits, np.uint8)[first : first + count // 8 + 1]
    # As booleans without a copy: the bits are unpacked to bytes of 0 and 1.
    return np.unpackbits(packed, count=count, bitorder="little")[before:].view(np.bool_)


def keep(cells: Cells, wanted: Truths, last: int) -> Cells:
    """Return the last cell where not wanted, without a branch, whose time would vary."""
    chosen: Cells = cells - last
    chosen *= wanted
    chosen += last
    return chosen
