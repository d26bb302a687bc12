"""Columns of dates and timestamps in the forms that they arrive in, as integers."""

from __future__ import annotations

import polars as pl

from surehold.queries import ColumnType
from surehold.queries.times import DAY, FIRST_DAY, LAST_DAY, TIME

_WHOLE = f"^{TIME}$"
_DATE_ONLY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_PER_SECOND = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def parse_times(text: pl.Series) -> pl.Series:
    """Return the microseconds of ISO texts, null for any other.

    The same as :func:`surehold.queries.times.read_time`, for a column.

    >>> parse_times(pl.Series(["1970-01-01 00:01", "1970-01-01T01:00+01:00", "soon"])).to_list()
    [60000000, 0, None]
    """
    days = text.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False).cast(pl.Int64)
    if text.str.contains(_DATE_ONLY).all():
        return _within(days * DAY)
    fields = text.str.extract_groups(_WHOLE).struct.unnest()
    hour, minute, second, part, sign, hours, minutes = (fields[str(at)] for at in range(2, 9))
    clock = [
        (_integer(hour), 3_600, 23),
        (_integer(minute), 60, 59),
        (_integer(second), 1, 59),
    ]
    offset = [(_integer(hours), 3_600, 23), (_integer(minutes), 60, 59)]
    fits = fields["1"].is_not_null()
    for number, _, most in [*clock, *offset]:
        fits &= number <= most
    of_day = sum((number * size for number, size, _ in clock), pl.Series([0]))
    ahead = sum((number * size for number, size, _ in offset), pl.Series([0]))
    ahead *= 1 - 2 * (sign == "-").fill_null(value=False).cast(pl.Int64)
    finer = _integer(part.str.slice(0, 6).str.pad_end(6, "0"))
    found = days * DAY + (of_day - ahead) * 1_000_000 + finer
    return _within(found.set(~fits, None))


def count_microseconds(column: pl.Series) -> pl.Series:
    """Return the microseconds of dates, or of timestamps of any unit and zone.

    Those without a zone are in UTC. What is finer than a microsecond is cut off. Null is what is
    not in the years 1 to 9999.
    """
    if column.dtype == pl.Date:
        days = column.cast(pl.Int64)
        return _within(days.set(~days.is_between(FIRST_DAY, LAST_DAY), None) * DAY)
    assert isinstance(column.dtype, pl.Datetime)
    per_second = _PER_SECOND[column.dtype.time_unit]
    ticks = column.to_physical()  # in UTC, whatever the zone
    if per_second < 1_000_000:
        # Before multiplying, which could overflow.
        ticks = ticks.set(~ticks.is_between(FIRST_DAY * DAY // 1_000, LAST_DAY * DAY // 500), None)
        return _within(ticks * 1_000)
    return _within(ticks // (per_second // 1_000_000))


def build_times(microseconds: pl.Series, kind: ColumnType) -> pl.Series:
    """Return a column as it is stored; of dates, null where the time is not midnight."""
    if kind is ColumnType.TIMESTAMP:
        return microseconds.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    days = microseconds // DAY
    return days.set(days * DAY != microseconds, None).cast(pl.Int32).cast(pl.Date)


def kind_of_texts(text: pl.Series) -> ColumnType | None:
    """Return the type of a sample of texts if every one is a date, or every one a time."""
    known = text.drop_nulls().str.strip_chars()
    if known.is_empty() or parse_times(known).null_count():
        return None
    return ColumnType.DATE if known.str.contains(_DATE_ONLY).all() else ColumnType.TIMESTAMP


def _integer(digits: pl.Series) -> pl.Series:
    return digits.cast(pl.Int64, strict=False).fill_null(0)


def _within(microseconds: pl.Series) -> pl.Series:
    first, last = FIRST_DAY * DAY, (LAST_DAY + 1) * DAY - 1
    return microseconds.set(~microseconds.is_between(first, last), None)
