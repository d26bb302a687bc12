"""Histograms, crosstabs and totals as users write them; declared categories."""

import contextlib
import json
import math
import pickle

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from queries.generators import (
    COLUMNS,
    booleans,
    literal_numbers,
    literal_texts,
    numbers,
    quoted,
    words,
    written,
)
from queries.pools import measured
from support.effort import calls_of
from support.soak import length
from surehold import open as open_dataset
from surehold import plan
from surehold.cli.create import _parse_column, create
from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries import GRID_BITS, Histogram, Schema, histogram, query_of, totals
from surehold.queries.axes import MOST_CELLS, Axis, axis_of
from surehold.queries.lexer import LONGEST_QUERY
from surehold.queries.parser import parse
from surehold.queries.schema import MOST_CATEGORIES

SCHEMA = Schema.of(
    {
        "age": "int",
        "bmi": "float",
        "smoker": "bool",
        "city": "str",
        "country": "str in ('NO', 'SE', 'other')",
        "grade": "int in (3, 1, 2)",
    }
)


def labels(text):
    return query_of(text).form(SCHEMA).labels


# ------------------------------------------------------------------------ what is said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("histogram(country)", ("NO", "SE", "'other'", "other")),
        ("histogram(grade)", ("3", "1", "2", "other")),
        ("histogram(smoker)", ("true", "false", "other")),
        ("histogram(age > 65)", ("true", "false", "other")),
        ("histogram(smoker in (false))", ("false", "other")),
        ("histogram(city in ('Oslo', ''))", ("Oslo", "''", "other")),
        ("histogram(city in ('a|b', ' a', '''a'))", ("'a|b'", "' a'", "'''a'", "other")),
        ("histogram(age in (1, -2.50, 1e20))", ("1", "-2.5", "1e+20", "other")),
        ("histogram(bins(age, 0, 18, 65))", ("[0, 18)", "[18, 65]", "other")),
        ("histogram(bins(bmi, 0.1 to 0.3 by 0.1))", ("[0.1, 0.2)", "[0.2, 0.3]", "other")),
        ("histogram((age in (1, 2)))", ("true", "false", "other")),
        (
            "histogram(city in ('Oslo'), smoker in (true))",
            ("Oslo | true", "Oslo | other", "other | true", "other | other"),
        ),
    ],
)
def test_labels(text, expected):
    assert labels(text) == expected


def test_the_form_of_a_histogram():
    form = query_of("histogram(country, smoker)").form(SCHEMA)
    assert (form.low, form.high, form.span, form.bits) == (0.0, 1.0, 1.0, 0)
    assert (form.price, form.slots, form.needs) == (2, 12, "statistical")
    assert form.source.cells == 12
    assert form.source.weight is None
    assert form.source.columns == {"country", "smoker"}
    assert form.canonical == form.source.canonical == "histogram(country, smoker)"


def test_the_form_of_totals():
    form = totals("bmi", low=10, high=60, by="country").form(SCHEMA)
    assert (form.low, form.high, form.span, form.bits) == (0.0, 50.0, 50.0, GRID_BITS)
    assert (form.price, form.slots) == (2, 4)
    assert form.source.bits == form.source.weight.bits == GRID_BITS
    assert form.source.columns == {"country", "bmi"}


def test_what_a_query_says():
    query = histogram("country", "smoker")
    assert query.to_dict() == {
        "text": "histogram(country, smoker)",
        "canonical": "histogram(country, smoker)",
    }
    assert str(query) == "histogram(country, smoker)"
    assert pickle.loads(pickle.dumps(query)) == query


# ------------------------------------------------------------------------- one text each


@pytest.mark.parametrize(
    "spellings",
    [
        [
            histogram("country", cells=["NO", "SE"]),
            histogram("country in ('NO','SE')"),
            query_of("HISTOGRAM ( (country) IN ('NO' , 'SE') )"),
        ],
        [
            histogram("age", bins=[0, 10.0, 20, 30]),
            histogram("bins(age, 0 to 30 by 10)"),
            histogram("Bins((age), -0.0, 10, 2e1, 30)"),
        ],
        [histogram("age", bins=range(3)), histogram("bins(age, 0 TO 2 BY 1)")],
        [histogram("age", cells=(1, 2.5)), query_of("histogram(age in (1.0, 25e-1))")],
        [histogram("smoker", cells=[True]), histogram("smoker in (TRUE)")],
        [
            totals("bmi", low=0, high=60, by="country"),
            totals("(bmi)", 0.0, 6e1, ["country"]),
            query_of("totals(bmi,0,60,country)"),
        ],
        [
            totals("bmi", low=0, high=60, by="age", bins=[1, 2]),
            query_of("totals(bmi, 0, 60, bins(age, 1, 2))"),
        ],
        [histogram("(age in (1, 2))"), query_of("histogram( ( age in (1,2) ) )")],
    ],
)
def test_spellings_of_one_query(spellings):
    assert len({query.canonical for query in spellings}) == 1
    assert len(set(spellings)) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("histogram(age in (1, 2))", "histogram((age in (1, 2)))"),
        ("histogram(age in (1, 2))", "histogram(age in (2, 1))"),
        ("histogram(age in (1))", "histogram(age in (true))"),
        ("histogram(age in (1))", "histogram(age in ('1'))"),
        ("histogram(a, b)", "histogram(b, a)"),
        ("histogram(bins(a, 0, 1))", "histogram(bins(a, 0, 1, 2))"),
        ("totals(x, 0, 1, a)", "totals(x, 0, 2, a)"),
        ("totals(x, 0, 1, a)", "histogram(a)"),
    ],
)
def test_different_queries(one, other):
    assert query_of(one) != query_of(other)
    assert query_of(one).canonical != query_of(other).canonical


def lists_of(values):
    unique = st.lists(values, min_size=1, max_size=5, unique_by=lambda x: x if x else str(x))
    shown = lambda v: quoted(v) if isinstance(v, str) else repr(v).lower()  # noqa: E731
    return unique.map(lambda found: f"({', '.join(map(shown, found))})")


edges = st.lists(literal_numbers, min_size=2, max_size=6, unique_by=lambda x: x + 0.0).map(sorted)
progressions = st.tuples(
    st.integers(-1000, 1000), st.integers(1, 50), st.integers(1, 12), st.integers(0, 6)
).map(lambda t: [(t[0] + i * t[1]) / 10 ** t[3] for i in range(t[2] + 1)])
axes = st.one_of(
    booleans.map(written),
    st.tuples(numbers.map(written), lists_of(literal_numbers)).map(" in ".join),
    st.tuples(words.map(written), lists_of(literal_texts)).map(" in ".join),
    st.tuples(booleans.map(written), lists_of(st.booleans())).map(" in ".join),
    st.tuples(numbers.map(written), st.one_of(edges, progressions)).map(
        lambda t: f"bins({t[0]}, {', '.join(map(repr, t[1]))})"
    ),
)


@settings(max_examples=length(100, full=300))
@given(st.lists(axes, min_size=1, max_size=4), st.one_of(st.none(), numbers.map(written)))
def test_canonical_text_reads_back(parts, value):
    query = histogram(*parts) if value is None else totals(value, low=-0.5, high=1e3, by=parts)
    again = query_of(query.canonical)
    assert again == query == eval(repr(query))
    assert again.canonical == query.canonical
    assert hash(again) == hash(query)
    schema = Schema.of(COLUMNS)
    # Random axes may cost too much, which test_cost.py is about.
    assert measured(again) == measured(query)
    form = query.form(schema)
    assert len(set(form.labels)) == len(form.labels) == form.source.cells


@given(literal_numbers, st.integers(1, 10**6), st.integers(-9, 6), st.integers(3, 300))
def test_steps_are_decimal_and_read_back(first, width, exponent, count):
    # What decimals cannot say exactly is written as a list, and is the same all the same.
    low, step = round(math.fmod(first, 1e6), 3) + 0.0, float(f"{width}e{exponent}")
    axis = Axis(parse("x"), edges=tuple(low + i * step for i in range(count + 1)))
    if len(axis.canonical) <= LONGEST_QUERY and len(set(axis.edges)) == count + 1:
        assert axis_of(axis.canonical) == axis


def test_steps_are_short_to_write():
    query = query_of("histogram(bins(bmi, 0 to 1999.8 by 0.1))")
    assert len(query.canonical) < 50
    assert query.form(SCHEMA).slots == 19_999
    assert query.axes[0].edges[3] == 0.3 != 3 * 0.1
    assert query_of(query.canonical) == query


# ----------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("text", "position", "hint"),
    [
        ("histogram()", 10, "histogram(country in ('NO', 'SE'))"),
        ("histogram(city)", 10, "never taken from the records"),
        ("histogram(smoker, bmi + 1)", 18, "bins(age, 0, 18, 65)"),
        ("histogram(cuontry)", 10, "did you mean 'country'?"),
        ("histogram(country in (1, 2))", 10, "cast(x as number)"),
        ("histogram(age in ('1'))", 10, ""),
        ("histogram(age in (1, null))", 21, "'other'"),
        ("histogram(age in (1, bmi))", 21, ""),
        ("histogram(age in (1, '2'))", 21, ""),
        ("histogram(age in (1, 2, 1.0))", 24, ""),
        ("histogram(age in ())", 18, ""),
        ("histogram(age in (1, 2)", 23, ""),
        ("histogram(age in 1)", 17, ""),
        ("histogram(age in (select 1))", 18, ""),
        ("histogram(bins(age))", 18, "bins(age, 0, 18, 65, 120)"),
        ("histogram(bins(age, 1))", 10, "bins(age, 0, 18)"),
        ("histogram(bins(age, 1, 1))", 23, ""),
        ("histogram(bins(age, 1, bmi))", 23, ""),
        ("histogram(bins(city, 1, 2))", 15, "cast(x as number)"),
        ("histogram(bins(age, 0 to 10))", 27, "0 to 120 by 10"),
        ("histogram(bins(age, 0 to 10 by 3))", 20, "0 to 120 by 10"),
        ("histogram(bins(age, 0 to 10 by 0))", 20, "0 to 120 by 10"),
        ("histogram(bins(age, 0 to 10 by 5, 12))", 32, ""),
        ("histogram(bins(age, 1e150 to 1e150 by 1))", 20, ""),
        ("histogram(bins(age, 1e15 to 1000000000000001 by 0.01))", 20, "edges would be equal"),
        ("histogram(smoker, smoker, smoker, smoker, smoker)", 42, ""),
        ("histogram(smoker) > 3", 18, ""),
        ("totals(bmi, 0, country)", 15, ""),
        ("totals(bmi, 0, 10)", 17, "totals(spend, 0, 100, country in ('NO', 'SE'))"),
        ("totals(bmi, 10, 0, country)", 10, ""),
        ("totals(city, 0, 10, country)", 7, "cast(x as number)"),
        ("difference(histogram(smoker), smoker)", 11, ""),
    ],
)
def test_errors_point_to_the_place_and_say_what_to_do(text, position, hint):
    with pytest.raises(InvalidQuery) as caught:
        query_of(text).form(SCHEMA)
    assert caught.value.position == position
    assert hint in f"{caught.value.reason} {caught.value.hint}"


@pytest.mark.parametrize(
    "text",
    [
        "histogram(bins(age, 0 to 19999 by 1), smoker)",
        "histogram(bins(age, 0 to 20000 by 1))",
        "histogram(bins(age, 0 to 1e150 by 1e-150))",
        "histogram(bins(age, 0 to 200 by 1), bins(bmi, 0 to 200 by 1))",
        "histogram(country, bins(age, 0 to 9999 by 1))",
    ],
)
def test_there_is_a_most_of_cells(text):
    with pytest.raises(InvalidQuery, match=f"{MOST_CELLS:,} is the most"):
        query_of(text).form(SCHEMA)


def test_a_thousand_cells_fit_and_longer_lists_say_what_does():
    codes = [f"c{i:03d}" for i in range(1000)]
    query = histogram("city", cells=codes)
    assert query_of(query.canonical).form(SCHEMA).labels == (*codes, "other")
    assert histogram("age", cells=range(1000)).form(SCHEMA).slots == 1001
    with pytest.raises(InvalidQuery, match="longer than 10,000 characters") as caught:
        histogram("city", cells=[f"a longer text {i}" for i in range(1000)])
    assert "categories" in caught.value.hint


@pytest.mark.parametrize(
    "make",
    [
        lambda: histogram(),
        lambda: histogram(3),
        lambda: histogram("age", cells="NO"),
        lambda: histogram("age", cells={1, 2}),
        lambda: histogram("age", cells=[]),
        lambda: histogram("age", cells=[None]),
        lambda: histogram("age", cells=[math.nan]),
        lambda: histogram("age", cells=[1e151]),
        lambda: histogram("age", cells=3),
        lambda: histogram("age", bins=["0", 1]),
        lambda: histogram("age", bins=[True, 2]),
        lambda: histogram("age", cells=[1], bins=[0, 1]),
        lambda: histogram("age", "smoker", cells=[1]),
        lambda: histogram("age in (1)", cells=[1]),
        lambda: totals("bmi", low=1, high=0, by="smoker"),
        lambda: totals("bmi", low=0, high=1, by=[]),
        lambda: totals("bmi", low=0, high=1, by=3),
        lambda: totals(3, low=0, high=1, by="smoker"),
    ],
)
def test_what_cannot_be_meant(make):
    with pytest.raises((InvalidInput, TypeError)):
        make()


@pytest.mark.parametrize(
    "part",
    ["a), (b", "a, b", "a) in (1", "histogram(a)", "a;", "bins(a, 0, 1) + b", "a in (1) in (2)"],
)
def test_each_part_is_read_by_itself(part):
    with pytest.raises(InvalidQuery):
        histogram(part)
    with pytest.raises(InvalidQuery):
        totals("x", low=0, high=1, by=["a", part])
    with pytest.raises(InvalidQuery):
        totals(part, low=0, high=1, by="a")


HOSTILE = [
    "histogram(" * 500,
    "histogram(" + "(" * 2_000 + "a" + ")" * 2_000 + ")",
    "histogram(a in (" + "1," * 4_000 + "1))",
    "histogram(a in (" + "'" * 5_000 + "))",
    "histogram(bins(a, 0 to 1 by 1e-999999999))",
    "histogram(bins(a, 0 to 1e150 by 5e-324))",
    "histogram(bins(a, 0." + "1" * 5_000 + " to 1 by 0.1))",
    "histogram(bins(a, 0, 1e-999999999))",
    "histogram(bins(a, " + "9" * 5_000 + ", 1))",
    "histogram(a in ('\u202e'))",
    "histogram(a in (a in (a in (1))))",
    "histogram(not " * 400 + ")" * 400,
    "totals(" * 300 + ")" * 300,
    "histogram(bins(bins(a, 0, 1), 0, 1))",
    "histogram(a in ('" + "x" * 1_001 + "'))",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_refused_quickly(text):
    def refused():
        with pytest.raises(InvalidQuery) as caught:
            query_of(text).form(Schema.of({"a": "int"}))
        assert len(str(caught.value)) < 500

    assert calls_of(refused) < 1_000_000


PIECES = ["histogram(", "totals(", "bins(", "bins", "in", "(", ")", ")", ",", ",", "to", "by", "-"]
PIECES += ["1", "0.5", "2", "1e3", "'NO'", "country", "age", "smoker", "true", "not", "and", "null"]


@settings(max_examples=length(180, full=500))
@given(st.lists(st.sampled_from(PIECES), max_size=15).map(" ".join), st.booleans())
def test_any_words(text, whole):
    with contextlib.suppress(InvalidQuery):
        query = query_of(f"histogram({text})" if whole else text)
        assert query_of(query.canonical) == query
        if isinstance(query, Histogram):
            assert len(set(query.form(SCHEMA).labels)) == query.measure(SCHEMA).cells


def test_words_of_axes_may_be_columns():
    schema = Schema.of({"bins": "int", "to": "int", "by": "bool", "histogram": "bool"})
    query = query_of("histogram(bins(to, 0 to 3 by 1), bins in (1), by, histogram)")
    assert query.form(schema).slots == 4 * 2 * 3 * 3
    assert query_of(query.canonical) == query


# ------------------------------------------------------------------------- categories


def test_categories_are_kept_and_read_back():
    given_ = {"a": "str in('NO','it''s', '')", "b": " int in ( 2,-1 ) ", "c": "str", "d": "int"}
    schema = Schema.of(given_)
    assert schema.categories("a") == ("NO", "it's", "")
    assert schema.categories("b") == (2, -1)
    assert schema.categories("c") is schema.categories("nowhere") is None
    assert schema.to_dict() == {
        "a": "str in ('NO', 'it''s', '')",
        "b": "int in (2, -1)",
        "c": "str",
        "d": "int",
    }
    assert Schema.of(schema.to_dict()) == schema
    assert schema["a"] == "str"
    assert Schema.of({"a": "str"}) != Schema.of({"a": "str in ('x')"})


def test_columns_without_categories_are_written_as_ever():
    assert Schema.of(COLUMNS).to_dict() == COLUMNS
    assert Schema.of(COLUMNS).columns == tuple(COLUMNS.items())


@given(st.lists(literal_texts, min_size=1, max_size=9, unique=True))
def test_any_texts_are_categories(texts):
    schema = Schema.of({"x": f"str in ({','.join(map(quoted, texts))})"})
    assert schema.categories("x") == tuple(texts)
    assert Schema.of(schema.to_dict()) == schema


@pytest.mark.parametrize(
    "kind",
    [
        "str in ()",
        "str in",
        "str in (NO)",
        "str in ('a' 'b')",
        "str in ('a',)",
        "str in (,'a')",
        "str in ('a', 'a')",
        "str in (1)",
        "int in ('1')",
        "int in (1.5)",
        "int in (1, 1)",
        "int in (9007199254740992)",
        "int in (99999999999999999999)",
        "float in (1, 2)",
        "bool in (true)",
        "str in ('a'",
        "str in ('a')) ",
        "str in ('\u202e')",
        "str in ('a\x00')",
        "str in ('" + "x" * 1_001 + "')",
        "str in (" + ",".join(f"'{i}'" for i in range(MOST_CATEGORIES + 1)) + ")",
        "str in ('" + "'" * 500_001 + ")",
        "text",
        3,
    ],
)
def test_types_that_are_none(kind):
    def refused():
        with pytest.raises(InvalidInput) as caught:
            Schema.of({"x": kind})
        assert len(str(caught.value)) < 400

    assert calls_of(refused) < 1_000_000


def test_the_most_categories_can_be_asked_about():
    listed = ", ".join(f"'category number {i}'" for i in range(MOST_CATEGORIES))
    form = histogram("x").form(Schema.of({"x": f"str in ({listed})"}))
    assert form.slots == MOST_CELLS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age:int", ("age", "int")),
        ("a:b:int", ("a:b", "int")),
        ("a=b:int", ("a=b", "int")),
        ("x:int:str", ("x:int", "str")),
        ("country:str in ('NO','SE')", ("country", "str in ('NO','SE')")),
        ("country=str in ('NO','SE')", ("country", "str in ('NO','SE')")),
        ("c:str in ('a:int', ':str in (1)')", ("c", "str in ('a:int', ':str in (1)')")),
        ("a:b:int in (1)", ("a:b", "int in (1)")),
        ("a:text", ("a", "text")),
    ],
)
def test_columns_of_the_command(text, expected):
    assert _parse_column(text) == expected


def test_a_command_creates_a_dataset_with_categories(tmp_path):
    file = tmp_path / "plan.json"
    file.write_text(plan(n0=2_000, n=20_000, alpha=0.2, beta=0.05).to_json())
    options = ["--column", "country:str in ('NO','SE')", "--column", "age:int", "--json"]
    done = CliRunner().invoke(create, [str(tmp_path / "d"), "--plan", str(file), *options])
    assert done.exit_code == 0, done.output
    columns = {"country": "str in ('NO', 'SE')", "age": "int"}
    assert json.loads(done.output)["columns"] == columns
    with open_dataset(tmp_path / "d") as dataset:
        assert dataset.columns == columns
        dataset.append([{"country": "DK", "age": 3}, {"country": None, "age": 4}])
