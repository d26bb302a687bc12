"""What the attackers of the lab ask: batches of fractions of the records.

Each question is true or false of a record, so that its sum over records is a whole number and its
answer a fraction, as `fraction("...")` is in a session.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from surehold.lab.records import CELL_BITS, CELLS, Counts, Flags, Indices, Records, Weights


class Questions(ABC):
    """A batch of questions, each of which is a set of possible records.

    A dataclass whose field ``each`` has one item for each question.
    """

    each: ClassVar[str] = "features"

    def __len__(self) -> int:
        return len(getattr(self, self.each))

    def __getitem__(self, places: slice) -> Self:
        return replace(self, **{self.each: getattr(self, self.each)[places]})  # type: ignore[type-var]

    def names(self) -> list[bytes]:
        """A name for each question, by what it asks: the same question has the same name."""
        common = hashlib.blake2b(type(self).__name__.encode(), digest_size=16)
        for one in fields(self):  # type: ignore[arg-type]
            if one.name != self.each:
                value = getattr(self, one.name)
                common.update(value.tobytes() if isinstance(value, np.ndarray) else b"%r" % value)
        found = []
        for item in getattr(self, self.each):
            name = common.copy()
            name.update(np.asarray(item).tobytes())
            found.append(name.digest())
        return found

    @abstractmethod
    def counts(self, records: Records, part: slice) -> Counts:
        """For each question, of how many records of a part it is true."""

    @abstractmethod
    def probabilities(self, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The probability of each if the label is fair and features agree with it by their edges.

        Given the label, features are independent, and feature j equals it with probability
        1/2 + edges[j].
        """


@dataclass(frozen=True)
class Agreements(Questions):
    """Is this feature equal to the label? One question a feature."""

    features: Indices

    def counts(self, records: Records, part: slice) -> Counts:
        return records.agree_counts(self.features, part)

    def probabilities(self, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return 0.5 + edges[self.features]


@dataclass(frozen=True)
class Memberships(Questions):
    """Has the record this feature? One question a feature; the label does not matter."""

    features: Indices

    def counts(self, records: Records, part: slice) -> Counts:
        return records.true_counts(self.features, part)

    def probabilities(self, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Even, whatever the edges, as the label is fair."""
        return np.full(len(self), 0.5)


@dataclass(frozen=True)
class Votes(Questions):
    """Is this vote of the features right about the label? One question a row of weights.

    With ``beyond`` the question is instead whether the score is larger than that.
    """

    each: ClassVar[str] = "weights"
    weights: Weights
    beyond: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", np.atleast_2d(np.asarray(self.weights, dtype=np.int32)))

    def counts(self, records: Records, part: slice) -> Counts:
        return records.vote_counts(self.weights, part, self.beyond)

    def probabilities(self, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Exactly: the law of a score, given the label, is a convolution over the features."""
        edges = edges[: self.weights.shape[1]]
        if self.beyond is None and not edges.any():
            return np.full(len(self), 0.5)  # the label is a coin that features know nothing of
        having, without = (_score_laws(self.weights, 0.5 + side * edges) for side in (1, -1))
        scores = np.arange(having.shape[1]) - having.shape[1] // 2
        if self.beyond is None:
            right = having[:, scores > 0].sum(axis=1) + without[:, scores <= 0].sum(axis=1)
        else:
            right = (having + without)[:, scores > self.beyond].sum(axis=1)
        return np.asarray(right / 2.0)


@dataclass(frozen=True)
class Ablations(Questions):
    """Is a vote still right without the eight features of a row? One question a row."""

    each: ClassVar[str] = "rows"
    weights: Weights
    rows: Indices

    def counts(self, records: Records, part: slice) -> Counts:
        return records.ablated_counts(self.weights, self.rows, part)

    def probabilities(self, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        padded = np.zeros((len(self.rows), 8 * -(-len(self.weights) // 8)), dtype=np.int32)
        padded[:, : len(self.weights)] = self.weights
        for left, row in zip(padded, self.rows.tolist(), strict=True):
            left[8 * row : 8 * row + 8] = 0
        return Votes(padded).probabilities(edges)


@dataclass(frozen=True)
class Joints(Questions):
    """Is a vote right, and does a feature that has no part in it agree? One question a feature."""

    weights: Weights
    features: Indices

    def __post_init__(self) -> None:
        if self.weights[self.features[self.features < len(self.weights)]].any():
            raise ValueError("a feature that has a part in the vote")

    def counts(self, records: Records, part: slice) -> Counts:
        return records.joint_counts(self.weights, self.features, part)

    def probabilities(self, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """A product: given the label, the feature and the vote are independent."""
        return Votes(self.weights).probabilities(edges) * (0.5 + edges[self.features])


@dataclass(frozen=True)
class Lookups(Questions):
    """Does this table know the label? One question a row, with a prediction for each cell."""

    each: ClassVar[str] = "predictions"
    predictions: Flags

    def counts(self, records: Records, part: slice) -> Counts:
        return records.lookup_counts(self.predictions, part)

    def probabilities(self, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The sum over the cells of what the label predicted there has."""
        edges = edges[:CELL_BITS]
        cells = np.arange(CELLS)
        chances = 0.5 + (2 * (cells[:, None] >> np.arange(len(edges)) & 1) - 1) * edges
        there = cells < 2 ** len(edges)  # records with fewer features are in the first cells only
        having, without = there * chances.prod(axis=1), there * (1.0 - chances).prod(axis=1)
        return np.asarray(np.where(self.predictions, having, without).sum(axis=1) / 2.0)


@dataclass(frozen=True)
class Expected(Questions):
    """Other questions, each with a guess of its answer and how far off that may be.

    Only a defender that takes guesses looks at them.
    """

    each: ClassVar[str] = "guesses"
    questions: Questions
    guesses: npt.NDArray[np.float64]
    within: float

    def __getitem__(self, places: slice) -> Self:
        return replace(self, questions=self.questions[places], guesses=self.guesses[places])

    def names(self) -> list[bytes]:
        return self.questions.names()

    def counts(self, records: Records, part: slice) -> Counts:
        return self.questions.counts(records, part)

    def probabilities(self, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return self.questions.probabilities(edges)


def _score_laws(weights: Weights, chances: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """For each row, probabilities of the scores -top to top; a feature is there by its chance."""
    top = int(np.abs(weights).sum(axis=1).max())
    laws = np.zeros((len(weights), 2 * top + 1))
    laws[:, top] = 1.0
    for column, chance in zip(weights.T, chances.tolist(), strict=True):
        for weight in {*column.tolist()} - {0}:
            rows = laws[column == weight]
            # The larger scores come from those with the feature if its weight is positive.
            up, down = (chance, 1.0 - chance) if weight > 0 else (1.0 - chance, chance)
            moved, size = np.zeros_like(rows), abs(weight)
            moved[:, size:] = up * rows[:, :-size]
            moved[:, :-size] += down * rows[:, size:]
            laws[column == weight] = moved
    return laws
