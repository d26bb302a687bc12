"""Sums by cell: the oracle's integers, for every axis, range and cut into frames."""

import itertools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from queries import oracle
from queries.generators import (
    COLUMNS,
    FLOATS,
    INTEGERS,
    TEXTS,
    booleans,
    numbers,
    quoted,
    records,
    words,
    written,
)
from queries.pools import POOL, engine_of
from support.engines import ROWS, filled
from support.engines import SCHEMA as CONTRACT_SCHEMA
from support.soak import length
from surehold.data.engines import PolarsEngine, polars_arrays, polars_cells
from surehold.data.engines import polars_texts as texts_of_polars
from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries import Schema, histogram, query_of, totals

SCHEMA = Schema.of(COLUMNS)

# --------------------------------------------------------------------------- the oracle


def cell_of(axis, record):
    """An axis is ("values", expression, values) or ("edges", expression, edges)."""
    kind, expression, marks = axis
    x = oracle.value_of(expression, record)
    if kind == "values":
        equal = [at for at, value in enumerate(marks) if oracle.compare("=", x, value)]
        return equal[0] if equal else len(marks)
    for at, (low, high) in enumerate(itertools.pairwise(marks)):
        if x is not None and (low <= x < high or (at == len(marks) - 2 and x == high)):
            return at
    return len(marks) - 1


def size_of(axis):
    return len(axis[2]) + (axis[0] == "values")


def expected_sums(axes, weight, rows):
    found = [0] * math.prod(map(size_of, axes))
    for record in rows:
        flat = 0
        for axis in axes:
            flat = flat * size_of(axis) + cell_of(axis, record)
        found[flat] += 1 if weight is None else oracle.mean_integer(*weight, record)
    return found


def axis_text(axis):
    kind, expression, marks = axis
    listed = ", ".join(
        quoted(mark) if isinstance(mark, str) else repr(mark).lower() for mark in marks
    )
    if kind == "edges":
        return f"bins({written(expression)}, {listed})"
    return f"{written(expression)} in ({listed})"


def measure_of(axes, weight):
    parts = [axis_text(axis) for axis in axes]
    try:
        if weight is None:
            return histogram(*parts).measure(SCHEMA)
        expression, low, high = weight
        return totals(written(expression), low=low, high=high, by=parts).measure(SCHEMA)
    except InvalidQuery as error:
        assume("is the most" not in error.reason)  # few of those drawn cost too much to be asked
        raise


def column(name):
    return ("column", name)


# --------------------------------------------------------------------------- strategies

_finite = [x + 0.0 for x in FLOATS if math.isfinite(x) and abs(x) <= 1e150]
marks = st.one_of(
    st.sampled_from([*_finite, *(float(n) for n in INTEGERS), 17.5, -3.0]),
    st.integers(0, 99).map(float),
    st.floats(-1e3, 1e3).map(lambda x: x + 0.0),
)
visible = st.sampled_from([text for text in TEXTS if text.isprintable()])


def unique(values, least=1, most=6):
    return st.lists(values, min_size=least, max_size=most, unique=True)


def axes_of(numeric, textual, boolean):
    return st.one_of(
        st.tuples(st.just("values"), numeric, unique(marks)),
        st.tuples(st.just("edges"), numeric, unique(marks, 2).map(sorted)),
        st.tuples(st.just("values"), textual, unique(visible)),
        st.tuples(st.just("values"), boolean, unique(st.booleans(), most=2)),
    )


plain = axes_of(
    st.sampled_from([column("age"), column("id"), column("bmi"), column("weight of")]),
    st.sampled_from([column("city"), column("length")]),
    st.sampled_from([column("smoker"), column("In")]),
)
axes = st.one_of(plain, plain, axes_of(numbers, words, booleans))
bounds = st.sampled_from([(0.0, 1.0), (10.0, 60.0), (-1e150, 1e150), (-0.1, 0.3)])
weights = st.one_of(
    st.none(),
    st.tuples(st.one_of(st.just(column("bmi")), st.just(column("age")), numbers), bounds).map(
        lambda t: (t[0], *t[1])
    ),
)

ENGINES = [engine_of(POOL), engine_of(POOL, (1, 2, 60, 61)), engine_of(POOL, (40,), True)]


@settings(max_examples=length(100, full=300))
@given(st.lists(axes, min_size=1, max_size=3), weights, st.integers(0, 120), st.integers(0, 120))
def test_sums_of_any_range(found, weight, one, other):
    start, stop = min(one, other), max(one, other)
    measure = measure_of(found, weight)
    expected = expected_sums(found, weight, POOL[start:stop])
    assert measure.cells == len(expected)
    for engine in ENGINES:
        sums = engine.cell_sums(measure, start, stop)
        assert sums == expected
        assert all(type(total) is int for total in sums)


@settings(max_examples=100)
@given(
    st.lists(axes, min_size=1, max_size=4),
    weights,
    # Also records that are all alike: Polars takes other ways where a column is constant.
    st.one_of(st.lists(records, min_size=1, max_size=6), records.map(lambda row: [row] * 5)),
    st.lists(st.integers(0, 6), max_size=3),
)
def test_records_of_any_kind(found, weight, rows, cuts):
    expected = expected_sums(found, weight, rows)
    engine = engine_of(rows, cuts)
    assert engine.cell_sums(measure_of(found, weight), 0, len(rows)) == expected


@settings(max_examples=50)
@given(plain, plain, weights, st.integers(1, 5), st.integers(1, 40))
def test_blocks_and_batches_make_no_difference(one, other, weight, block, batch):
    measure = measure_of([one, other], weight)
    expected = ENGINES[0].cell_sums(measure, 3, 118)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polars_cells, "_BLOCK", block)
        patch.setattr(polars_cells, "_BATCH", batch)
        for pooled in ENGINES:
            engine = PolarsEngine(most=50)
            engine.extend(pooled.frame(0, pooled.size))
            assert engine.cell_sums(measure, 3, 118) == expected


# ------------------------------------------------------------------------- the odd ones


def counted(text, **columns):
    """The cells of the records, all at once and one at a time."""
    frame = pl.DataFrame(columns)
    kinds = {pl.Int64: "int", pl.Float64: "float", pl.Boolean: "bool", pl.String: "str"}
    schema = Schema.of({name: kinds[type(dtype)] for name, dtype in frame.schema.items()})
    measure = query_of(text).measure(schema)
    engine = PolarsEngine()
    engine.extend(frame)
    whole = engine.cell_sums(measure, 0, frame.height)
    alone = [engine.cell_sums(measure, at, at + 1) for at in range(frame.height)]
    assert whole == [sum(cells) for cells in zip(*alone, strict=True)]
    return whole


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("histogram(n in (9007199254740992, 9007199254740991))", [2, 1, 5]),
        ("histogram(n in (9223372036854775807, -9223372036854775808))", [1, 1, 6]),
        ("histogram(n in (65, 65.5, 64))", [1, 0, 0, 7]),
        ("histogram(bins(n, 64.5, 65.5))", [1, 7]),
        ("histogram(bins(n, 65, 9007199254740991))", [2, 6]),
        ("histogram(bins(n, 65, 9007199254740992))", [4, 4]),
        ("histogram(bins(n, 66, 9007199254740992, 1e19))", [1, 4, 3]),
        ("histogram(bins(n, -1e150, -9223372036854775808, 1e150))", [0, 7, 1]),
        ("histogram(bins(n, -9007199254740992, 0))", [0, 8]),
        ("histogram(bins(n, 0 to 66 by 1))", [0] * 65 + [1, 7]),
    ],
)
def test_integers_are_read_as_the_nearest_doubles(text, expected):
    n = [2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1, -(2**63), 65, None]
    assert counted(text, n=n) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("histogram(x in (0))", [2, 8]),
        ("histogram(bins(x, 0, 1))", [4, 6]),
        ("histogram(bins(x, -1, 0, 5e-324, 1))", [1, 2, 2, 5]),
        ("histogram(x in (1e150, -1e150))", [2, 1, 7]),
        ("histogram(bins(x, 1e149, 1e150))", [2, 8]),
        ("histogram(bins(x, -1e150, 1e150))", [9, 1]),
        ("histogram(x in (0.1, 0.30000000000000004))", [0, 1, 9]),
    ],
)
def test_floats(text, expected):
    x = [0.0, -0.0, 5e-324, 0.1 + 0.2, 1e150, 1.7e308, -1.7e308, 1.5, None, -0.5]
    assert counted(text, x=x) == expected


def test_what_should_not_be_there_is_in_other_and_raises_nothing():
    x = [math.nan, math.inf, -math.inf, 0.5, None]
    assert counted("histogram(bins(x, 0, 1))", x=x) == [1, 4]
    assert counted("histogram(x in (0.5, 1))", x=x) == [1, 0, 4]
    [inside, outside] = counted("totals(x, 0, 1, bins(x, 0, 1))", x=x)
    assert inside == 2**31
    assert 0 <= outside <= 4 * 2**32


LONG = "Trondheim-Heimdal-Nord"


@pytest.mark.parametrize("more", [[], [LONG]])
@pytest.mark.parametrize("chunks", [1, 3])
def test_texts(more, chunks):
    declared = ["", "a", "A", "ä", "a\u0308", "other", "it's", "12 bytes....", "x" * 12, *more]
    rows = [*declared, None, "b", "\x00", "a\x00", "12 bytes", "x" * 13, "12 bytes....."]
    rows += ["x" * 11, LONG, LONG + "!", LONG[:-1], "\U0001f600", "a", None]
    whole = pl.Series("s", rows, dtype=pl.String())
    series = pl.concat([whole[i::chunks] for i in range(chunks)], rechunk=False)
    text = f"histogram(s in ({', '.join(map(quoted, declared))}))"
    found = counted(text, s=series)
    expected = [rows.count(one) for one in declared]
    assert found == [*expected, len(rows) - sum(expected)]


@pytest.mark.parametrize("length", [4, 30])
def test_thousands_of_texts(length):
    texts = [f"{i:0{length}d}" for i in range(15_000)]
    schema = Schema.of({"s": f"str in ({', '.join(map(quoted, texts))})"})
    rows = [*texts, *(f"x{text}" for text in texts), *texts[:7]]
    engine = PolarsEngine()
    engine.extend(pl.DataFrame({"s": rows}))
    found = engine.cell_sums(histogram("s").measure(schema), 0, len(rows))
    assert found == [2] * 7 + [1] * (15_000 - 7) + [15_000]


def test_a_seed_that_does_not_do_is_followed_by_another(monkeypatch):
    placed, tried = texts_of_polars._place, []

    def placed_at_last(*given):
        tried.append(given)
        if len(tried) < 4:
            raise texts_of_polars._Collision
        return placed(*given)

    monkeypatch.setattr(texts_of_polars, "_place", placed_at_last)
    assert counted("histogram(s in ('a', 'b'))", s=["a", None, "b", "c", "b"]) == [1, 2, 2]
    assert len({tuple(buckets) for buckets, *_ in tried}) > 1


def test_nulls_hide_what_lies_below_them():
    # A null keeps bytes that a cast or a choice left there; none of them may count.
    frame = pl.DataFrame({"n": [1, 2, 3], "x": [1.0, 2.0, 3.0], "s": ["a", "b", "c"]})
    frame = frame.with_columns(pl.when(pl.col("n") != 2).then(pl.all()))
    assert counted("histogram(n in (1, 2, 3))", **frame.to_dict()) == [1, 0, 1, 1]
    assert counted("histogram(x in (1, 2, 3))", **frame.to_dict()) == [1, 0, 1, 1]
    assert counted("histogram(s in ('a', 'b', 'c'))", **frame.to_dict()) == [1, 0, 1, 1]
    assert counted("totals(x, 0, 4, n in (1))", **frame.to_dict()) == [2**30, 3 * 2**30]


@pytest.mark.parametrize("before", range(10))
def test_bits_of_slices(before):
    truths = [(i * i) % 7 < 3 for i in range(30)]
    values = [truth if i % 5 else None for i, truth in enumerate(truths)]
    array = pl.Series(values, dtype=pl.Boolean()).slice(before, 13).to_arrow()
    known = polars_arrays.known_of(array)
    assert known.tolist() == [i % 5 > 0 for i in range(before, before + 13)]
    found = polars_arrays.truths_of(array)[known]
    assert found.tolist() == [one for one in values[before : before + 13] if one is not None]


def test_sums_beyond_what_doubles_hold():
    count = (1 << 20) + 3
    n = np.zeros(count, np.int64)
    n[0] = 1
    frame = pl.DataFrame({"n": n, "x": np.where(n == 1, 2.0**-32, 1.0)})
    engine = PolarsEngine()
    for _ in range(4):
        engine.extend(frame)
    schema = Schema.of({"n": "int", "x": "float"})
    measure = totals("x", low=0, high=1, by="bins(n, 0, 5)").measure(schema)
    expected = 4 * ((count - 1) * 2**32 + 1)
    assert expected > 2**53
    assert expected % 2**10
    assert engine.cell_sums(measure, 0, 4 * count) == [expected, 0]


def test_without_a_column():
    assert counted("histogram(1 + 1 in (1, 2), true)", n=[1, 2, None])[3:5] == [3, 0]
    assert counted("totals(1 / 4, 0, 1, n in (1))", n=[1, 2, None]) == [2**30, 2**31]
    assert counted("histogram(null in ('a'))", n=[1, 2, None]) == [0, 3]


# ------------------------------------------------------------------------ every engine


CELLS = [
    histogram("bins(age, 20, 66)", "smoker").measure(CONTRACT_SCHEMA),
    histogram("city in ('Oslo', 'oslo', 'Paris')").measure(CONTRACT_SCHEMA),
    totals("bmi", low=10, high=60, by="smoker in (true)").measure(CONTRACT_SCHEMA),
    histogram("lower(city) in ('oslo')").measure(CONTRACT_SCHEMA),
]
PLACES = [
    [(3, 1), (0, 1), (0, round(2**32 * 0.2)), (0, 1)],
    [(2, 1), (3, 1), (1, 2**31), (1, 1)],
    [(4, 1), (3, 1), (1, 0), (1, 1)],
    [(0, 1), (1, 1), (0, 2**32), (0, 1)],
]


def contract(which, start, stop):
    found = [0] * CELLS[which].cells
    for places in PLACES[start:stop]:
        cell, value = places[which]
        found[cell] += value
    return found


@given(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4))
def test_the_engine_gives_these_sums(cut, one, other):
    start, stop = min(one, other), max(one, other)
    engine = filled([ROWS[:cut], ROWS[cut:]])
    found = [engine.cell_sums(measure, start, stop) for measure in CELLS]
    assert found == [contract(which, start, stop) for which in range(len(CELLS))]


def test_nothing_there():
    assert filled([]).cell_sums(CELLS[1], 0, 0) == [0] * 4


@pytest.mark.parametrize("where", [(-1, 2), (0, 5), (3, 2), (5, 5)])
def test_ranges_that_are_not_there(where):
    with pytest.raises(InvalidInput):
        filled([ROWS]).cell_sums(CELLS[0], *where)


# ------------------------------------------------------------------------- sensitivity

UNIVERSE = [
    {"c": None, "x": None},
    {"c": "a", "x": 0.0},
    {"c": "a", "x": 1.0},
    {"c": "b", "x": 0.25},
    {"c": "b", "x": 7.0},
    {"c": "z", "x": 1.0},
    {"c": None, "x": 0.75},
]


@pytest.mark.parametrize(
    "text",
    [
        "histogram(c in ('a', 'b'))",
        "histogram(c in ('a', 'b'), bins(x, 0, 0.5, 1))",
        "histogram(x > 0.5, c in ('b'))",
        "totals(x, 0, 1, c in ('a', 'b'))",
        "totals(x, -1, 0.5, c in ('a'), x is null)",
    ],
)
def test_neighbours_are_as_near_as_the_price_says(text):
    """All pairs of datasets of three records that differ in one; some are as far as they may be."""
    form = query_of(text).form(Schema.of({"c": "str", "x": "float"}))
    engine = PolarsEngine()
    datasets = list(itertools.product(range(len(UNIVERSE)), repeat=3))
    rows = [UNIVERSE[at] for dataset in datasets for at in dataset]
    engine.extend(pl.DataFrame(rows, schema={"c": pl.String(), "x": pl.Float64()}))
    vectors = {
        dataset: engine.cell_sums(form.source, 3 * at, 3 * at + 3)
        for at, dataset in enumerate(datasets)
    }
    furthest = 0
    for dataset, place, other in itertools.product(datasets, range(3), range(len(UNIVERSE))):
        neighbour = (*dataset[:place], other, *dataset[place + 1 :])
        pairs = zip(vectors[dataset], vectors[neighbour], strict=True)
        furthest = max(furthest, sum((one - two) ** 2 for one, two in pairs))
    assert furthest == form.price * (2**form.bits) ** 2
