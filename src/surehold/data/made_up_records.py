"""Made-up records of a schema, the same each time, for timing evaluations."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from surehold.data.engines.polars_arrays import STORED
from surehold.data.engines.polars_bytes import cut_texts
from surehold.data.engines.polars_engine import PolarsEngine
from surehold.queries import ColumnType, Schema
from surehold.queries.times import DAY, FIRST_DAY, LAST_DAY

_LONGEST = 1000
_SETS = 3
_TEXTS = 1 << 14


class MadeUp(PolarsEngine):
    """An engine of made-up records of every sort: missing, extreme, short and long values.

    Columns of one type share a few sets of values, so that thousands of them cost little.
    """

    def __init__(self, schema: Schema, rows: int) -> None:
        super().__init__()
        sets = _sets(schema, rows)
        self._joined = (_spread(sets, schema), _spread(cut_texts(sets), schema))
        self._size = rows


def _sets(schema: Schema, rows: int) -> pl.DataFrame:
    kinds = sorted({kind for _, kind in schema})
    return pl.DataFrame(
        [
            _values(kind, rows, salt).alias(f"{kind}{salt}")
            for kind in kinds
            for salt in range(_SETS)
        ]
    )


def _spread(sets: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    columns = (sets[f"{kind}{at % _SETS}"].alias(name) for at, (name, kind) in enumerate(schema))
    return pl.DataFrame(list(columns))


def _values(kind: ColumnType, rows: int, salt: int) -> pl.Series:
    share, other = _mix(rows, 3 * salt), _mix(rows, 3 * salt + 1)
    match kind:
        case ColumnType.BOOL:
            values = pl.Series(share < 0.5)
        case ColumnType.INT:
            large = ((other - 0.5) * 2.0**62).astype(np.int64)
            values = pl.Series(np.where(share < 0.75, large % 100, large))
        case ColumnType.FLOAT:
            values = pl.Series((share - 0.5) * 1e4)
        case ColumnType.DATE:
            days = (FIRST_DAY + other * (LAST_DAY - FIRST_DAY)).astype(np.int32)
            values = pl.Series(np.where(share < 0.75, days % 20_000, days))
        case ColumnType.TIMESTAMP:
            times = ((FIRST_DAY + other * (LAST_DAY - FIRST_DAY)) * DAY).astype(np.int64)
            values = pl.Series(np.where(share < 0.75, times % (20_000 * DAY), times))
        case ColumnType.STR:
            share, other = share[:_TEXTS], other[:_TEXTS]  # the others repeat these
            lengths = np.where(share < 0.125, _LONGEST, share * 24).astype(int).tolist()
            letters = "".join(map(chr, (97 + 26 * _mix(_LONGEST, salt)).astype(int).tolist()))
            starts = (26 * other).astype(int).tolist()
            texts = [letters[at:] + letters[:at] for at in range(26)]
            values = pl.Series([texts[at][:size] for at, size in zip(starts, lengths, strict=True)])
            values = values.gather(np.arange(rows) % _TEXTS)
    gaps = pl.Series(_mix(rows, 3 * salt + 2) < 0.05)
    return values.cast(STORED[kind]).set(gaps, None)


def made_up_ids(some: pl.Series, rows: int) -> pl.Series:
    """Return ids in no order, all different; every second one is one of some, as far as they go."""
    numbers = pl.Series((_mix(rows, 1000) * 2.0**53).astype(np.int64)) + (1 << 55)
    others = numbers.cast(pl.String) if some.dtype == pl.String else numbers
    known = some.head(rows // 2)
    ids = pl.concat([known.alias(""), others.head(rows - len(known)).cast(some.dtype).alias("")])
    return ids.gather(np.argsort(_mix(rows, 1001)))


def _mix(rows: int, salt: int) -> NDArray[np.float64]:
    """Return numbers from 0 to 1 in no order, the same each time, without drawing any."""
    numbers = np.arange(rows, dtype=np.uint64) + np.uint64((salt + 1) << 40)
    for factor in (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93):
        numbers *= np.uint64(factor)
        numbers ^= numbers >> np.uint64(32)
    return (numbers >> np.uint64(11)).astype(np.float64) * 2.0**-53
