"""Records of the lab: a label and many signs each, eight signs to a byte.

An attack asks thousands of questions of hundreds of thousands of records, so records are kept as a
table of bytes, one row for each eight features. How often each of the eight is true is read off one
histogram of 256 bins, and a vote of thousands of features is one lookup for each eight of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Counts: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Flags: TypeAlias = npt.NDArray[np.bool_]
Indices: TypeAlias = npt.NDArray[np.intp]
Weights: TypeAlias = npt.NDArray[np.int32]

CELL_BITS = 12
CELLS = 2**CELL_BITS
"""The first twelve features of a record, read as a number, are its cell."""

# Row v has the eight bits of the byte v, lowest first.
_BITS = (np.arange(256)[:, None] >> np.arange(8) & 1).astype(np.int64)
_SIGNS = (2 * _BITS - 1).astype(np.int32)


class Records:
    """Some records in their order.

    ``features`` has a row of bytes for each eight features and a column for each record; ``label``
    one truth value for each record. What was counted once is remembered, as several defenders are
    asked the same.

    >>> records = Records.of([[True, False], [True, True], [False, True]], [True, True, False])
    >>> len(records), records.true_counts(np.arange(2), slice(0, 3)).tolist()
    (3, [2, 2])
    >>> records.agree_counts(np.arange(2), slice(0, 3)).tolist()
    [3, 1]
    """

    def __init__(self, features: Bytes, label: Flags) -> None:
        self._features = features
        self._label = label
        self._known: dict[tuple[object, ...], Counts] = {}

    @classmethod
    def of(cls, signs: npt.ArrayLike, label: npt.ArrayLike) -> Records:
        """Records from one row of truth values each."""
        rows = np.asarray(signs, dtype=bool)
        return cls(np.packbits(rows.T, axis=0, bitorder="little"), np.asarray(label, dtype=bool))

    def __len__(self) -> int:
        return len(self._label)

    @property
    def features(self) -> int:
        """How many features each record has, filled up to whole bytes."""
        return 8 * len(self._features)

    @property
    def label(self) -> Flags:
        return self._label

    def feature(self, index: int) -> Flags:
        return np.asarray(self._features[index // 8] >> index % 8 & 1, dtype=bool)

    def take(self, index: Indices) -> Records:
        """The records at some places, in that order; one may be there several times."""
        return Records(np.take(self._features, index, axis=1), self._label[index])

    # ------------------------------------------------------------------ counting

    def true_counts(self, features: Indices, part: slice) -> Counts:
        """For each feature, how many records of a part have it."""
        return self._counts(features, part, "true")

    def agree_counts(self, features: Indices, part: slice) -> Counts:
        """For each feature, in how many records of a part it equals the label."""
        return self._counts(features, part, "agree")

    def _counts(self, features: Indices, part: slice, kind: str) -> Counts:
        rows = np.unique(features // 8)
        flip = np.where(self._label[part], 0, 255).astype(np.uint8) if kind == "agree" else 0
        counted = np.empty((len(rows), 8), dtype=np.int64)
        for place, row in enumerate(rows.tolist()):
            counted[place] = self._count_once(
                (kind, row, *_key(part)),
                lambda row=row: (  # type: ignore[misc]
                    np.bincount(self._features[row, part] ^ flip, minlength=256) @ _BITS
                ),
            )
        return counted[np.searchsorted(rows, features // 8), features % 8]

    def vote_counts(self, weights: Weights, part: slice, beyond: int | None = None) -> Counts:
        """For each row of weights, how many records of a part it is right about.

        A record's score is the sum of the weights of the features it has, less that of the others.
        The row says that the label is true if the score is positive, and is right if it is.
        With ``beyond`` the label does not matter: counted is whose score is larger than that.
        """
        counted = np.empty(len(weights), dtype=np.int64)
        for place, row in enumerate(weights):
            digest = hashlib.blake2b(row.tobytes(), digest_size=16).digest()
            counted[place] = self._count_once(
                ("vote", digest, beyond, *_key(part)),
                lambda row=row: self._vote_count(row, part, beyond),  # type: ignore[misc]
            )
        return counted

    def _vote_count(self, weights: Weights, part: slice, beyond: int | None) -> Counts:
        scores = self.scores(weights, part)
        if beyond is not None:
            return np.asarray(np.count_nonzero(scores > beyond))
        return np.asarray(np.count_nonzero((scores > 0) == self._label[part]))

    def scores(self, weights: Weights, part: slice) -> npt.NDArray[np.int32]:
        by_row = self._by_row(weights)
        found = np.zeros(len(self._label[part]), dtype=np.int32)
        looked_up = np.empty_like(found)
        for row in np.flatnonzero(by_row.any(axis=1)):
            np.take(_SIGNS @ by_row[row], self._features[row, part], out=looked_up, mode="clip")
            found += looked_up
        return found

    def ablated_counts(self, weights: Weights, rows: Indices, part: slice) -> Counts:
        """For each row of eight features, how many records the vote without them is right about."""
        whole = self.scores(weights, part)
        by_row = self._by_row(weights)
        label = self._label[part]
        counted = np.empty(len(rows), dtype=np.int64)
        for place, row in enumerate(rows.tolist()):
            left = whole - (_SIGNS @ by_row[row])[self._features[row, part]]
            counted[place] = np.count_nonzero((left > 0) == label)
        return counted

    def joint_counts(self, weights: Weights, features: Indices, part: slice) -> Counts:
        """For each feature, in how many records it agrees with the label and the vote is right."""
        label = self._label[part]
        right = (self.scores(weights, part) > 0) == label
        flip = np.where(label[right], 0, 255).astype(np.uint8)
        rows = np.unique(features // 8)
        counted = [
            np.bincount(self._features[row, part][right] ^ flip, minlength=256) for row in rows
        ]
        found = np.reshape(counted, (-1, 256)).astype(np.int64) @ _BITS
        return found[np.searchsorted(rows, features // 8), features % 8]

    def _by_row(self, weights: Weights) -> Weights:
        padded = np.zeros(self.features, dtype=np.int32)
        padded[: len(weights)] = weights
        return padded.reshape(-1, 8)

    def lookup_counts(self, predictions: Flags, part: slice) -> Counts:
        """For each row of predictions, one for each cell, how many records it is right about."""
        by_cell = self._count_once(("cells", *_key(part)), lambda: self._cells(part))
        without, having = by_cell.reshape(2, CELLS)
        chosen = np.where(predictions, having, without)
        return np.asarray(chosen.sum(axis=1), dtype=np.int64)

    def _cells(self, part: slice) -> Counts:
        """How many records of a part are in each cell, first those without the label."""
        cell = self._features[0, part].astype(np.intp)
        if len(self._features) > 1:
            cell |= (self._features[1, part] & 15).astype(np.intp) << 8
        return np.bincount(cell + CELLS * self._label[part], minlength=2 * CELLS)

    def _count_once(self, key: tuple[object, ...], counted: Callable[[], Counts]) -> Counts:
        if key not in self._known:
            self._known[key] = counted()
        return self._known[key]


def _key(part: slice) -> tuple[int, int, int]:
    return part.start or 0, part.stop, part.step or 1
