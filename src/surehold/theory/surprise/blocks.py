"""Blocks of records: a claim about some records pays only for what read them.

Surprise, section 3f. Blocks come from a list with weights u that add up to at most 1. The block of
a checkpoint is all records after the last one that was read when it was declared.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple


class Step(NamedTuple):
    """A step that cost something: the last record that it read, and its price in units."""

    last_read: int
    price: int


def block_weight(checkpoint: int, *, has_checkpoints: bool = True) -> Fraction:
    """u_0 = 4/5 for everything, u_j = 1/(5j(j+1)) for the j-th checkpoint (Surprise, section 3f).

    u_0 is for all ordinary claims of a guard that may have checkpoints, and 1 for one without.

    >>> block_weight(0), block_weight(1), block_weight(0, has_checkpoints=False)
    (Fraction(4, 5), Fraction(1, 10), Fraction(1, 1))
    """
    if checkpoint == 0:
        return Fraction(4, 5) if has_checkpoints else Fraction(1)
    return Fraction(1, 5 * checkpoint * (checkpoint + 1))


def spent_on(steps: Iterable[Step], after: int) -> int:
    """What was spent by steps that read a record after that one (Surprise, section 3f).

    >>> spent_on([Step(2000, 7), Step(3000, 5)], after=2000)
    5
    """
    return sum(step.price for step in steps if step.last_read > after)
