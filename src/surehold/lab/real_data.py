"""Real records as a population of the lab: a label and many features of each, natural and made up.

The *label* is a condition of the query language. *Natural* features are such conditions too, drawn
at random: a number of the record is larger than that of a record drawn, a text is the same as that
of a record drawn, a truth value. They may know something of the label. There are at most 64 of
them; all others are *made up*: fair coins that are a function of the whole record, so that equal
records have equal ones. They are what an attack by thousands of questions needs, as any analyst
could ask them: "is the 17th bit of a hash of the record set?".
"""

from __future__ import annotations

import hashlib
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from surehold.checks import check_whole
from surehold.data.engines.polars_records import steps_of
from surehold.errors import InvalidInput, InvalidQuery
from surehold.lab.populations import ORDERS, Listed
from surehold.lab.records import CELL_BITS, Bytes, Flags, Records
from surehold.lab.tables import KNOWN, Known, Table, read
from surehold.queries import ColumnType, fraction
from surehold.queries.expressions import Column, Compare, Expression, Number, Text
from surehold.queries.writer import write

__all__ = ["KNOWN", "Known", "natural_questions", "population"]

Words: TypeAlias = npt.NDArray[np.uint64]

NATURAL = 64
"""The most natural features there are."""

_TRIES = 8 * NATURAL
_MOST_BYTES = 4 * 2**30

# Of splitmix64 (Steele, Lea and Flood 2014). Other than Polars' hash of a row it is the same on
# every machine and with every version, so that anyone can repeat a contest.
_STEP = 0x9E3779B97F4A7C15
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_NULL = 0x6E756C6C


def population(
    data: Any,
    *,
    target: str | None = None,
    features: int = 2_000,
    order: str = "resampled",
    seed: int = 1,
) -> Listed:
    """The records of a table, each with that many features (filled up to whole bytes).

    ``data`` is the name of a dataset of :data:`KNOWN`, the path of a file, or a table (Polars,
    pandas, Arrow). ``target`` is what is to be predicted, a condition of the query language; it may
    be left out for datasets that have a name. ``order`` is how records arrive, see
    :class:`~surehold.lab.Listed`; the rows of a file are taken to be in the order of their arrival.
    The same table, target and seed give the same features.

    >>> digits = population("digits", features=100)
    >>> len(digits.table), digits.features, round(float(digits.table.label.mean()), 3)
    (1797, 104, 0.499)
    """
    if order not in ORDERS:
        raise InvalidInput("order", f"one of {', '.join(ORDERS)}", order)
    seed, features = check_whole("seed", seed, 0), check_whole("features", features, 1)
    table = read(data, target)
    rows = -(-max(features, CELL_BITS) // 8)  # at least a cell of its own for a lookup
    if rows * table.frame.height > _MOST_BYTES:
        most = 8 * (_MOST_BYTES // table.frame.height)
        required = f"at most {most:,} for {table.frame.height:,} records, held in memory"
        raise InvalidInput("features", required, features)
    label = _truths(table.target, table)
    natural = [truths for _, truths in _natural(table, min(NATURAL, features), seed)]
    keys = _keys(table.frame, seed)
    del table  # its memory is wanted for the features
    return Listed(Records(_pack(natural, keys, rows), label), order)


def natural_questions(data: Any, *, target: str | None = None, seed: int = 1) -> tuple[str, ...]:
    """The natural features that :func:`population` makes, in words of the query language.

    >>> natural_questions("breast-cancer")[:2]
    ('smoothness_error > 0.005332', 'worst_perimeter > 78.78')
    """
    return tuple(text for text, _ in _natural(read(data, target), NATURAL, seed))


def _truths(condition: str, table: Table) -> Flags:
    """For each record whether a condition is true; false if that is unknown, as in a session."""
    measure = fraction(condition).measure(table.schema)
    return np.asarray(steps_of(measure, table.frame) > 0.0)


# ---------------------------------------------------------------------------- natural


def _natural(table: Table, count: int, seed: int) -> list[tuple[str, Flags]]:
    """Up to ``count`` conditions, no two the same, each true of some records and not of others."""
    reads = fraction(table.target).measure(table.schema).expression.columns
    columns = [one for one in table.schema if one[0] not in reads | table.withheld]
    random = np.random.default_rng(seed)
    found: dict[str, Flags] = {}
    for _ in range(_TRIES if columns else 0):
        name, kind = columns[int(random.integers(len(columns)))]
        value = table.frame.item(int(random.integers(table.frame.height)), name)
        if value is None:
            continue
        text = write(_condition(name, kind, value))
        if text in found:
            continue
        try:
            truths = _truths(text, table)
        except InvalidQuery:
            continue  # a text that the language can't write: too long, or with hidden characters
        if 0 < np.count_nonzero(truths) < len(truths):
            found[text] = truths
        if len(found) == count:
            break
    return list(found.items())


def _condition(name: str, kind: ColumnType, value: Any) -> Expression:
    match kind:
        case ColumnType.BOOL:
            return Column(name)
        case ColumnType.STR:
            return Compare("=", Column(name), Text(value))
        case _:
            return Compare(">", Column(name), Number(float(value)))


# ---------------------------------------------------------------------------- made up


def _pack(natural: list[Flags], keys: Words, rows: int) -> Bytes:
    """The features, eight to a byte: first the natural ones, then coins."""
    packed = np.empty((rows, len(keys)), dtype=np.uint8)
    for start in range(0, rows, 8):
        coins = _stream(keys, start // 8 + 1)
        for row in range(start, min(start + 8, rows)):
            packed[row] = coins >> np.uint64(8 * (row - start))  # the lowest byte of it
    for place, truths in enumerate(natural):
        row, bit = divmod(place, 8)
        packed[row] &= ~np.uint8(1 << bit)
        packed[row] |= truths.astype(np.uint8) << np.uint8(bit)
    return packed


def _keys(frame: pl.DataFrame, seed: int) -> Words:
    """A number for each record: of all that it holds, and of the seed."""
    keys = np.full(frame.height, _hash(str(seed)), dtype=np.uint64)
    for column in frame.iter_columns():
        keys = _stream(keys ^ _words(column), 1)
    return keys


def _words(column: pl.Series) -> Words:
    """A number for each value of a column, and one for null."""
    if column.dtype == pl.Float64:
        words = _number_words(column.fill_null(0.0).to_numpy())
    elif column.dtype == pl.String:
        # Each text is hashed once, however many records have it.
        texts = column.drop_nulls().unique()
        hashes = pl.Series([_hash(text) for text in texts], dtype=pl.UInt64)
        found = column.replace_strict(texts, hashes, default=None, return_dtype=pl.UInt64)
        words = _stream(found.fill_null(0).to_numpy(), 1)
    else:
        words = _stream(column.cast(pl.Int64).fill_null(0).to_numpy().view(np.uint64), 1)
    null = _stream(np.full(1, _NULL, dtype=np.uint64), 2)
    return np.where(column.is_null().to_numpy(), null, words)


def _number_words(floats: npt.NDArray[np.float64]) -> Words:
    """A whole one has that of the integer: beside missing values pandas makes floats of those."""
    whole = (np.floor(floats) == floats) & (np.abs(floats) < 2.0**63)
    integers = np.where(whole, floats, 0.0).astype(np.int64)
    return np.where(whole, _stream(integers.view(np.uint64), 1), _stream(floats.view(np.uint64), 3))


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _stream(seeds: Words, place: int) -> Words:
    """The number at a place of the stream of each seed, modulo 2^64."""
    words = seeds + np.uint64(place * _STEP % 2**64)
    words = (words ^ (words >> np.uint64(30))) * _FACTORS[0]
    words = (words ^ (words >> np.uint64(27))) * _FACTORS[1]
    return words ^ (words >> np.uint64(31))
