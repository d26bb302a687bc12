"""Where the records of the lab come from, and what is true there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from surehold.errors import InvalidInput
from surehold.lab.questions import Questions
from surehold.lab.records import Bytes, Flags, Records

Order: TypeAlias = Literal["resampled", "shuffled", "arrival"]
_BLOCK = 65_536  # records

ORDERS: tuple[Order, ...] = get_args(Order)


class Population(ABC):
    """Gives records, and knows what is true of it: so a miss is a fact, not an estimate."""

    features: int

    @abstractmethod
    def draw(self, count: int, random: np.random.Generator) -> Records:
        """``count`` records in the order of their arrival."""

    @abstractmethod
    def truth(self, questions: Questions) -> npt.NDArray[np.float64]:
        """The probability of each question in the population, exactly."""


@dataclass(frozen=True)
class Coins(Population):
    """A fair label and features that are coins, the first ones a little bent towards the label.

    Given the label features are independent, and feature j equals it with probability
    1/2 + edges[j]; those beyond the edges know nothing of it.

    >>> Coins(features=100).draw(5, np.random.default_rng(1)).features
    104
    """

    features: int
    edges: tuple[float, ...] = ()

    def draw(self, count: int, random: np.random.Generator) -> Records:
        rows = -(-self.features // 8)
        drawn = np.frombuffer(random.bytes(rows * count), dtype=np.uint8).reshape(rows, count)
        label = random.integers(2, size=count, dtype=np.int8) == 1
        if self.edges:
            blocks = (label[i : i + _BLOCK] for i in range(0, count, _BLOCK))
            bent = np.concatenate([self._draw_bent(block, random) for block in blocks], axis=1)
            drawn = np.concatenate([bent, drawn[len(bent) :]])
        return Records(drawn, label)

    def _draw_bent(self, label: Flags, random: np.random.Generator) -> Bytes:
        """The features that know something of the labels, filled up to whole bytes."""
        edges = np.zeros(8 * -(-len(self.edges) // 8))
        edges[: len(self.edges)] = self.edges
        agree = random.random((len(label), len(edges))) < 0.5 + edges
        return np.packbits((agree == label[:, None]).T, axis=0, bitorder="little")

    def truth(self, questions: Questions) -> npt.NDArray[np.float64]:
        edges = np.zeros(max(8 * -(-self.features // 8), len(self.edges)))
        edges[: len(self.edges)] = self.edges
        return questions.probabilities(edges)


@dataclass(frozen=True)
class Listed(Population):
    """The records of a table: what is true of all of them is the truth.

    How they arrive is the ``order``. ``resampled``: each is drawn from the whole table, whatever
    came before, so they are independent draws from one population, as the promise asks.
    ``shuffled``: all in random order; none comes twice, so they are not quite independent.
    ``arrival``: as they stand in the table, and nothing is promised of that.
    """

    table: Records
    order: Order = "resampled"

    @property
    def features(self) -> int:  # type: ignore[override]
        return self.table.features

    def draw(self, count: int, random: np.random.Generator) -> Records:
        size = len(self.table)
        if self.order == "resampled":
            return self.table.take(random.integers(size, size=count))
        if count > size:
            required = f"at most {size:,} records, as many as the table has"
            hint = "draw them with replacement: --order resampled"
            raise InvalidInput("n", required, count, hint)
        places = random.permutation(size) if self.order == "shuffled" else np.arange(size)
        return self.table.take(places[:count])

    def truth(self, questions: Questions) -> npt.NDArray[np.float64]:
        whole = slice(0, len(self.table))
        return questions.counts(self.table, whole) / len(self.table)
