"""Dates and timestamps in the language: against the datetime module, over edge cases."""

from __future__ import annotations

import datetime as dt
import re
from itertools import product

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.soak import length
from surehold.data.engines import PolarsEngine
from surehold.data.made_up_records import MadeUp
from surehold.data.time_columns import parse_times
from surehold.errors import InvalidQuery
from surehold.queries import Schema, fraction, histogram, mean, query_of
from surehold.queries.times import microseconds_of, read_time, write_time

COLUMNS = {"d": "date", "e": "date", "t": "timestamp", "u": "datetime", "s": "str", "n": "int"}
SCHEMA = Schema.of(COLUMNS)
DATES = [dt.date(*day) for day in ((1, 1, 1), (1600, 2, 29), (1900, 2, 28), (1969, 12, 31))]
DATES += [dt.date(*day) for day in ((1970, 1, 1), (2000, 2, 29), (2024, 2, 29), (2026, 11, 8))]
DATES += [dt.date(2100, 3, 1), dt.date(9999, 12, 31)]
TIMES = [dt.datetime.combine(day, dt.time(0), dt.UTC) for day in DATES]
TIMES += [dt.datetime.combine(day, dt.time(23, 59, 59, 999_999), dt.UTC) for day in DATES]
TIMES += [dt.datetime(2026, 11, 8, 12, 30, tzinfo=dt.UTC)]


def engine_of(dates, times):
    pairs = [*product(dates, repeat=2), (None, None)]
    stamps = [*product(times, repeat=2), (None, times[0]), (times[0], None)]
    rows = max(len(pairs), len(stamps))
    pairs += [pairs[0]] * (rows - len(pairs))
    stamps += [stamps[0]] * (rows - len(stamps))
    engine = PolarsEngine()
    frame = pl.DataFrame(
        {
            "d": pl.Series([one for one, _ in pairs], dtype=pl.Date()),
            "e": pl.Series([other for _, other in pairs], dtype=pl.Date()),
            "t": pl.Series([one for one, _ in stamps], dtype=pl.Datetime("us", "UTC")),
            "u": pl.Series([other for _, other in stamps], dtype=pl.Datetime("us", "UTC")),
        }
    )
    engine.extend(frame)
    return engine, pairs, stamps


ENGINE, PAIRS, STAMPS = engine_of(DATES, TIMES)


def counted(text):
    return ENGINE.sums([fraction(text).measure(SCHEMA)], 0, ENGINE.size)[0]


def spelled(moment):
    """By the datetime module, not by ours."""
    if not isinstance(moment, dt.datetime):
        return moment.isoformat()
    if moment.time() == dt.time(0):
        return moment.date().isoformat()
    text = moment.replace(tzinfo=None).isoformat()
    return text.rstrip("0") if "." in text else text.removesuffix(":00")


@pytest.mark.parametrize("operator", ["=", "<>", "<", "<=", ">", ">="])
@pytest.mark.parametrize("moment", [DATES[0], DATES[3], DATES[6], DATES[-1]], ids=str)
def test_dates_compare_with_literals(operator, moment):
    compare = {"=": "__eq__", "<>": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__"}
    method = compare.get(operator, "__ge__")
    expected = sum(one is not None and getattr(one, method)(moment) for one, _ in PAIRS)
    assert counted(f"d {operator} '{spelled(moment)}'") == expected


@pytest.mark.parametrize("moment", TIMES, ids=spelled)
def test_timestamps_compare_to_the_microsecond(moment):
    expected = sum(one is not None and one < moment for one, _ in STAMPS)
    assert counted(f"t < '{spelled(moment)}'") == expected
    assert counted(f"'{spelled(moment)}' > t") == expected
    assert counted(f"not t >= '{spelled(moment)}'") == expected


def test_columns_compare_with_each_other():
    known = [(one, other) for one, other in STAMPS if one and other]
    assert counted("t < u") == sum(one < other for one, other in known)
    assert counted("t = u") == sum(one == other for one, other in known)
    assert counted("date(t) = date(u)") == sum(a.date() == b.date() for a, b in known)
    assert counted("d > e") == sum(one > other for one, other in PAIRS if one and other)


@pytest.mark.parametrize("function", ["year", "month", "day", "weekday"])
def test_calendar(function):
    of = {"weekday": dt.date.isoweekday}.get(function, lambda day: getattr(day, function))
    for value in sorted({of(day) for day in DATES}):
        expected = sum(one is not None and of(one) == value for one, _ in PAIRS)
        assert counted(f"{function}(d) = {value}") == expected
        expected = sum(one is not None and of(one) == value for one, _ in STAMPS)
        assert counted(f"{function}(t) = {value}") == expected
        assert counted(f"{function}(date(t)) = {value}") == expected


def test_every_day_of_all_years():
    days = pl.Series(range(-719_162, 2_932_897), dtype=pl.Int32()).cast(pl.Date)
    engine = PolarsEngine()
    engine.extend(pl.DataFrame({"d": days}))
    parts = {"year": days.dt.year(), "month": days.dt.month(), "day": days.dt.day()}
    for function, values in (parts | {"weekday": days.dt.weekday()}).items():
        measure = mean(f"{function}(d)", low=0, high=2**32).measure(SCHEMA)
        # Blocks, so that no two errors cancel.
        for start in range(0, len(days), 400_000):
            stop = min(start + 400_000, len(days))
            assert engine.sums([measure], start, stop) == [values[start:stop].cast(int).sum()]


def test_hours_and_differences():
    hours = [one.hour for one, _ in STAMPS if one]
    assert all(counted(f"hour(t) = {hour}") == hours.count(hour) for hour in (0, 12, 23))
    for days in (-146_097, -1, 0, 1, 366):
        expected = sum((a - b).days == days for a, b in PAIRS if a and b)
        assert counted(f"d - e = {days}") == expected
    exact = [(a - b) // dt.timedelta(microseconds=1) / 86_400_000_000 for a, b in STAMPS if a and b]
    for days in sorted(set(exact))[::40]:
        assert counted(f"t - u = {days!r}") == exact.count(days)
    assert counted("d - '2026-11-08' = -1") == 0
    assert counted("'2026-11-08' - d = 0") == sum(one == DATES[7] for one, _ in PAIRS)


@pytest.mark.parametrize(
    ("text", "test"),
    [
        ("d in ('2026-11-08', '0001-01-01')", lambda a, b: a in (DATES[7], DATES[0])),
        ("d between '1970-01-01' and '2024-02-29'", lambda a, b: a and DATES[4] <= a <= DATES[6]),
        ("least(d, e) = d", lambda a, b: a and a <= b),
        (
            "greatest(d, e, '2000-02-29') = '2000-02-29'",
            lambda a, b: not a or max(a, b) <= DATES[5],
        ),
        ("coalesce(d, '2000-02-29') = '2000-02-29'", lambda a, b: a in (None, DATES[5])),
        ("nullif(d, e) is null", lambda a, b: a == b),
        ("case when d < e then d else '2024-02-29' end = e", lambda a, b: b == DATES[6] <= a),
        ("case d when e then 1 end = 1", lambda a, b: a and a == b),
        ("d is null", lambda a, b: a is None),
        ("d = null", lambda a, b: False),
        ("(d - null) is null", lambda a, b: True),
    ],
)
def test_choice(text, test):
    def holds(one, other):
        return bool(test(one, other))

    skipped = "coalesce(d" in text or "greatest" in text or "null" in text
    expected = sum(holds(a, b) for a, b in PAIRS if skipped or (a and b))
    assert counted(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("d > 5", "in single quotes"),
        ("d >= 2026-11-08", "in single quotes"),
        ("d > t", "date(x)"),
        ("t = d", "no time of day"),
        ("t = '2026-11-08'", "write date(t) = '2026-11-08'"),
        ("t in ('2026-11-08')", "write date(t) = '2026-11-08'"),
        ("t <> '2026-11-08'", "write date(t) <> '2026-11-08'"),
        ("d = 'soon'", "'soon' is not a date"),
        ("d = '2026-02-29'", "is not a date"),
        ("d in ('2026-11-08', 'x')", "'x' is not a date"),
        ("d = '2026-11-08T12:00'", "has a time of day"),
        ("t > '2026-11-08T12:00:00Z'", "write '2026-11-08T12:00'"),
        ("t > '2026-11-08T12:00+02:00'", "write '2026-11-08T10:00'"),
        ("t > '2026-11-08 12:00'", "write '2026-11-08T12:00'"),
        ("d like '2026%'", "compare it"),
        ("cast(d as number) > 1", "year(x)"),
        ("d + 1 > e", "in days"),
        ("d - 1 > e", "in single quotes"),
        ("hour(d) = 1", "no time of day"),
        ("year(s) = 1", "expected a date"),
        ("year(n) = 1", "expected a date"),
        ("least(d, 5) = d", "expected a date"),
        ("d", "compare it"),
        ("now() > d", "mean the same for ever"),
        ("d > today", "mean the same for ever"),
        ("d > current_date", "mean the same for ever"),
        ("d > x - interval '8 days'", "the days between two"),
        ("datediff(d, e) > 1", "a - b"),
        ("dayofweek(d) = 1", "weekday(x)"),
        ("histogram(bins(d, 1, 2))", "expected a number"),
        ("histogram(bins(n, '2026-11-08', '2026-11-09'))", "expected a date"),
        ("histogram(bins(d, '2026-11-08', 5))", "all numbers or all dates"),
        ("histogram(bins(d, '2026-11-08', '2026-11-09T12:00'))", "no time of day"),
        ("histogram(bins(d, '2026-11-08', '2026-11-08'))", "must increase"),
        ("histogram(bins(d, '1600-01-01', '2026-11-08'))", "years 1700 and 2200"),
        ("histogram(bins(d, '2026-11-08' to '2026-11-10' by 3))", "whole number of steps"),
        ("histogram(t in ('1600-01-01T12:00'))", "years 1700 and 2200"),
        ("histogram(d)", "not declared"),
        ("mean(d, 0, 1)", "x - '2026-01-01'"),
    ],
)
def test_what_is_refused_says_what_to_write(text, said):
    with pytest.raises(InvalidQuery) as refused:
        query_of(text).form(SCHEMA)
    assert said in str(refused.value)


LATE = "2024-02-29T23:59:59.999999"


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        (
            "bins(d, '1900-01-01', '1970-01-01', '2024-02-29')",
            ["d >= '1900-01-01' and d < '1970-01-01'", "d between '1970-01-01' and '2024-02-29'"],
        ),
        (f"bins(t, '1970-01-01', '{LATE}')", [f"t between '1970-01-01' and '{LATE}'"]),
        (
            "bins(date(t), '2026-11-01' to '2026-11-15' by 7)",
            [
                "date(t) >= '2026-11-01' and date(t) < '2026-11-08'",
                "date(t) between '2026-11-08' and '2026-11-15'",
            ],
        ),
        ("d in ('1969-12-31', '2026-11-08')", ["d = '1969-12-31'", "d = '2026-11-08'"]),
        (f"t in ('{LATE}')", [f"t = '{LATE}'"]),
        ("coalesce(d, e) in ('2026-11-08')", ["coalesce(d, e) = '2026-11-08'"]),
        ("weekday(t)", [f"weekday(t) = {day}" for day in range(1, 8)]),
        ("month(d)", [f"month(d) = {month}" for month in range(1, 13)]),
        ("hour(t)", [f"hour(t) = {hour}" for hour in range(24)]),
        ("day(d)", [f"day(d) = {day}" for day in range(1, 32)]),
    ],
)
def test_cells(text, cells):
    measure = histogram(text).measure(SCHEMA)
    found = ENGINE.cell_sums(measure, 0, ENGINE.size)
    expected = [counted(cell) for cell in cells]
    assert found == [*expected, ENGINE.size - sum(expected)]
    assert query_of(histogram(text).canonical) == histogram(text)


def test_labels_and_lists():
    by = histogram("d", bins=[dt.date(2026, 11, 1), "2026-11-08", dt.datetime(2026, 11, 15)])
    assert by.canonical == "histogram(bins(d, '2026-11-01', '2026-11-08', '2026-11-15'))"
    labels = ("[2026-11-01, 2026-11-08)", "[2026-11-08, 2026-11-15]", "other")
    assert by.form(SCHEMA).labels == labels
    weekly = "histogram(bins(d, '2026-11-01' to '2026-11-29' by 7))"
    assert query_of(weekly).canonical == weekly
    assert histogram("d", cells=[dt.date(2026, 11, 1)]).form(SCHEMA).labels == (
        "2026-11-01",
        "other",
    )


def test_made_up_records_have_times():
    measures = [fraction(text).measure(SCHEMA) for text in ("year(d) > 1970", "t > u", "d is null")]
    found = MadeUp(SCHEMA, 10_000).sums(measures, 0, 10_000)
    assert all(0 < count < 10_000 for count in found)


# ---------------------------------------------------------------------------- reading

PIECES = st.sampled_from(
    ["2026-11-08", "T", " ", "12:30", ":05", ".25", "Z", "+02:00", "-2330", "x"]
)
NEARLY = st.lists(PIECES, max_size=6).map("".join)
MOMENTS = st.datetimes(timezones=st.none() | st.timezones())
ISO = st.builds(lambda when, mark: when.isoformat(mark), MOMENTS, st.sampled_from("T "))


@settings(max_examples=length(100, full=300))
@given(st.one_of(NEARLY, ISO, st.dates().map(str), st.text(max_size=12)))
def test_texts_are_read_as_the_datetime_module_does(text):
    found = read_time(text)
    assert parse_times(pl.Series([text, "2026-11-08T00:00"]))[0] == found
    assert parse_times(pl.Series([text]))[0] == found
    if found is None:
        return
    # A blank before the offset, as Ruby and Go write it, is ours only.
    expected = dt.datetime.fromisoformat(re.sub(r" (?=[Z+-])", "", text))
    expected = expected if expected.tzinfo else expected.replace(tzinfo=dt.UTC)
    assert found == (expected - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(0, 0, 1)
    assert read_time(write_time(found)) == found


@given(MOMENTS)
def test_what_the_datetime_module_writes_is_read(when):
    inside = dt.datetime(1, 1, 2) <= when.replace(tzinfo=None) <= dt.datetime(9999, 12, 30)
    if inside and (when.utcoffset() or dt.timedelta()).seconds % 60 == 0:
        assert read_time(when.isoformat()) == microseconds_of(when)
        assert read_time(write_time(microseconds_of(when))) == microseconds_of(when)


@pytest.mark.parametrize(
    "text",
    [
        *("", "2026", "2026-11", "20261108", "2026-11-8", "2026-13-01", "2026-02-29", "0000-01-01"),
        *("2026-11-08T", "2026-11-08T24:00", "2026-11-08T12", "2026-11-08T12:60", "8/11/2026"),
        *("2026-11-08T12:00:60", "2026-11-08T12:00+24:00", "2026-11-08T12:00+02:", "2026-11-08Z"),
        *("0001-01-01T00:00+00:01", "9999-12-31T23:59-00:01", "2026-11-08T12:00Z ", "-026-11-08"),
        "\u0662\u0660\u0662\u0666-11-08",
    ],
)
def test_texts_that_are_no_time(text):
    assert read_time(text) is None
    assert parse_times(pl.Series([text, "2026-11-08 12:00"])).to_list()[0] is None
