"""One text for all spellings, which reads back as the same query."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queries.generators import COLUMNS, booleans, deep_booleans, deep_numbers, numbers, written
from support.soak import length
from surehold.data.engines import PolarsEngine
from surehold.errors import InvalidQuery
from surehold.queries import Schema, fraction, mean, query_of
from surehold.queries.parser import parse
from surehold.queries.writer import write

SCHEMA = Schema.of(COLUMNS)


@settings(max_examples=length(100, full=300))
@given(st.one_of(booleans, deep_booleans, numbers, deep_numbers))
def test_a_text_reads_back_as_the_same_tree(expression):
    tree = parse(written(expression))
    text = write(tree)
    assert parse(text) == tree
    assert write(parse(text)) == text


@given(booleans, st.sampled_from([(0, 1), (-0.1, 1e20), (10, 60.5)]))
def test_queries_read_back(expression, bounds):
    query = fraction(written(expression))
    assert query_of(query.canonical) == query
    assert query_of(query.canonical).measure(SCHEMA) == query.measure(SCHEMA)
    of_number = mean(f"cast({written(expression)} as number)", low=bounds[0], high=bounds[1])
    assert query_of(of_number.canonical) == of_number == eval(repr(of_number))
    assert hash(query_of(of_number.canonical)) == hash(of_number)


@pytest.mark.parametrize(
    "spellings",
    [
        ["age>65", " age  >\n65.0 ", "((age)) > (65)", "age > 6.5e1", "age > 065", '"age" > 65'],
        ["a != 1", "a <> 1", "a<>1."],
        ["a AND b and c", "(a and b) and c", "a And (b AND c)"],
        ["a is not null", "not a is null", "not (a IS NULL)"],
        ["a between 1 and 2", "a >= 1 and a <= 2"],
        ["a not in (1, 2)", "not a in (1.0, 2)"],
        ["a like 'x%'", "starts_with(a, 'x')", "STARTS_WITH(a,'x')"],
        ["case when a then 1 end", "case when a then 1 else null end"],
        ["case a when 1 then 2 end", "case when a = 1 then 2 end"],
        ["-(1) < a", "-1 < a", "- 1.0 < a", "-1e0 < a"],
        ["a = -0.0", "a = 0", "a = 0e5", "a = -0"],
        ["ceiling(a) = 1", "ceil(a) = 1"],
        ["round(a) = 1", "floor(a + .5) = 1"],
    ],
)
def test_spellings_of_one_query(spellings):
    assert len({fraction(spelling).canonical for spelling in spellings}) == 1
    assert len({fraction(spelling) for spelling in spellings}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a and b", "a or b"),
        ("a > 1", "1 > a"),
        ("Age > 1", "age > 1"),
        ("a - (b - c) = 0", "a - b - c = 0"),
        ("a = '1'", "a = 1"),
        ("a = 'x'", "a = 'x '"),
        ('a = "x"', "a = 'x'"),
        ("not (a and b)", "not a and b"),
        ("-(a + b) = 1", "-a + b = 1"),
        ("(a or b) and c", "a or b and c"),
    ],
)
def test_different_queries(one, other):
    assert fraction(one) != fraction(other)
    assert fraction(one).canonical != fraction(other).canonical


def test_different_bounds_are_different_queries():
    assert len({mean("a", low=0, high=high) for high in (1, 1.0, 2)}) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NOT a AND b OR c", "not a and b or c"),
        ("- (- a) = (1 - -2)", "-(-a) = 1 - -2"),
        ('"In" and "größe" > 1', '"In" and "größe" > 1'),
        ("a * (b + c) % 2 = 0", "a * (b + c) % 2 = 0"),
        ("(a > 1) = (b > 1)", "(a > 1) = (b > 1)"),
        ("it = 'it''s'", "it = 'it''s'"),
        ("a in (1e15, 1e16, 0.1)", "a in (1000000000000000.0, 1e+16, 0.1)"),
    ],
)
def test_printed(text, expected):
    assert write(parse(text)) == expected


def test_a_long_chain_is_one_level_and_a_linear_model_can_be_asked():
    terms = " + ".join(f"cast(c{i} as number) * 0.{i + 1}" for i in range(90))
    query = fraction(f"{terms} - 1 > 3.5")
    assert query_of(query.canonical) == query
    columns = {f"c{i}": "bool" for i in range(90)}
    measure = query.measure(Schema.of(columns))
    engine = PolarsEngine()
    engine.extend(pl.DataFrame({name: [True, False] for name in columns}))
    assert engine.sums([measure], 0, 2) == [1]


@pytest.mark.parametrize("operator", ["-", "/"])
def test_brackets_to_the_right_are_levels(operator):
    text = f"1 {operator} (" * 60 + "1" + ")" * 60
    with pytest.raises(InvalidQuery, match="50 levels"):
        mean(text, low=0, high=1)
