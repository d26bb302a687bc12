"""What the proof that rows do not mix says about the values of an ONNX graph.

A value is described by :class:`Rows`, :class:`Constant` and the two below, or not at all. ``Rows``
says: the first axis has exactly as many entries as there are records, in their order, and the i-th
depends on record i alone. Sizes come from constants and from what the runtime checks of its inputs,
never from what a file declares.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray


class NotProven(Exception):
    """Nothing is known about this; it may or may not mix rows."""


def require(holds: bool) -> None:
    """Refuse to say anything unless this holds."""
    if not holds:
        raise NotProven


@dataclass(frozen=True)
class Rows:
    """One entry for each record; ``dims`` are the sizes of the other axes, None if unknown."""

    dims: tuple[int | None, ...]

    @property
    def rank(self) -> int:
        """The number of axes."""
        return 1 + len(self.dims)

    @property
    def size(self) -> int | None:
        """Numbers for each record, None if unknown."""
        known = [dim for dim in self.dims if dim is not None]
        return math.prod(known) if len(known) == len(self.dims) else None

    def resized(self, axis: int, size: int | None) -> Rows:
        """With another size of an axis that is not the records'."""
        return Rows((*self.dims[: axis - 1], size, *self.dims[axis:]))


@dataclass(frozen=True)
class Constant:
    """What no record has a say in; ``value`` is None where it is not worked out."""

    value: NDArray[Any] | None


@dataclass(frozen=True)
class Lying:
    """Of shape [1, N], with an entry for each record: as ArrayFeatureExtractor leaves labels."""


@dataclass(frozen=True)
class Maps:
    """A sequence with a map for each record, fit to be an output only."""


Value: TypeAlias = Rows | Constant | Lying | Maps
Given: TypeAlias = Sequence[Value | None]


@dataclass(frozen=True)
class Call:
    """A node: its inputs (None: left out), attributes, opset, and how many outputs it names."""

    operator: str
    given: Given
    attributes: dict[str, Any]
    opset: int
    outputs: int

    def value(self, at: int) -> Value | None:
        """An input, None if it is left out."""
        return self.given[at] if at < len(self.given) else None

    def rows(self, at: int = 0, rank: int | None = None) -> Rows:
        """An input that must be rows."""
        value = self.value(at)
        if not isinstance(value, Rows) or (rank is not None and value.rank != rank):
            raise NotProven
        return value

    def array(self, at: int) -> NDArray[Any]:
        """An input that must be a known constant."""
        value = self.value(at)
        if not isinstance(value, Constant) or value.value is None:
            raise NotProven
        return value.value

    def whole(self, at: int) -> list[int]:
        """An input that must be a known list of whole numbers."""
        array = self.array(at)
        require(array.dtype.kind in "iu")
        return [int(number) for number in np.ravel(array)]

    def integers(self, name: str, at: int, since: int) -> list[int] | None:
        """A list that was an attribute in older opsets and is an input since; None if absent."""
        found: list[int] | None = self.attributes.get(name)
        if self.opset >= since:
            require(name not in self.attributes)
            return None if self.value(at) is None else self.whole(at)
        require(self.value(at) is None and isinstance(found, list | None))
        return found

    def axes(self, since: int, rank: int) -> set[int]:
        """The axes that are named in one of these two ways; never the records'."""
        axes = self.integers("axes", 1, since)
        require(bool(axes))
        return {axis_of(axis, rank) for axis in axes or ()}

    def integer(self, name: str, default: int) -> int:
        """An attribute."""
        found: int = self.attributes.get(name, default)
        require(isinstance(found, int))
        return found

    def only(self, count: int) -> None:
        """There are no more inputs than these."""
        require(all(value is None for value in self.given[count:]))


Rule: TypeAlias = Callable[[Call], list[Value]]


def axis_of(axis: int, rank: int) -> int:
    """The axis, counted from the front; never the one of the records."""
    found = axis + rank if axis < 0 else axis
    require(1 <= found < rank)
    return found
