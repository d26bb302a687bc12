"""One form for the same question: whatever has one form has one value on every record."""

from itertools import product

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queries import oracle
from queries.generators import (
    booleans,
    deep_booleans,
    deep_numbers,
    numbers,
    records,
    written,
)
from queries.pools import POOL
from support.soak import length
from surehold.data.engines import PolarsEngine
from surehold.queries import (
    Schema,
    auc,
    difference,
    fraction,
    gate,
    histogram,
    mean,
    means,
    query_of,
    rate,
    select,
    variance,
)
from surehold.queries import expressions as ex
from surehold.queries.normal_form import canonical, normal_form, recorded
from surehold.queries.parser import LARGEST_DEPTH, LARGEST_SIZE, parse
from surehold.queries.writer import write


def as_oracle(node):
    """A tree as the oracle takes it, which shares no code with the normal form."""
    match node:
        case ex.Number(value):
            return ("number", value)
        case ex.Text(value):
            return ("text", value)
        case ex.Truth(value):
            return ("truth", value)
        case ex.Null():
            return ("null",)
        case ex.Column(name):
            return ("column", name)
        case ex.In(operand, values):
            return ("in", as_oracle(operand), values)
        case ex.TextTest(operand, function, value):
            return (function, as_oracle(operand), value)
    name = {
        ex.Negate: "negate",
        ex.Not: "not",
        ex.IsNull: "is null",
        ex.ToNumber: "cast",
        ex.Case: "case",
    }.get(type(node)) or getattr(node, "operator", None)
    return (name or node.function, *map(as_oracle, node.children))


def check(expression, rows):
    """The canonical text is read back as its own form, and means the same on every record."""
    text = written(expression)
    tree = parse(text)
    for counts_true in (False, True):
        said = canonical(tree, counts_true)
        again = parse(said)
        assert canonical(again, counts_true) == said, text
        other = as_oracle(again)
        for row in rows:
            one, two = (oracle.value_of(form, row) for form in (expression, other))
            same = (one is True) == (two is True) if counts_true else one == two
            assert same, (text, said, row)
            assert counts_true or (one is None) == (two is None), (text, said, row)


@settings(max_examples=length(100, full=300))
@given(
    st.one_of(booleans, deep_booleans),
    st.lists(records, min_size=1, max_size=8),
)
def test_booleans(expression, rows):
    check(expression, [*rows, *POOL[::7]])


@settings(max_examples=length(70, full=200))
@given(st.one_of(numbers, deep_numbers), st.lists(records, min_size=1, max_size=8))
def test_numbers(expression, rows):
    tree = parse(written(expression))
    said = write(normal_form(tree))
    assert write(normal_form(parse(said))) == said
    other = as_oracle(parse(said))
    for row in [*rows, *POOL[::7]]:
        assert oracle.value_of(expression, row) == oracle.value_of(other, row), (said, row)


# ------------------------------------------------------------------- all small expressions

ODD = [None, float("nan"), float("inf"), -0.0, 0.0, 1.0, -1.0, 5e-324, 1e150, -1e308]
TRUTHS = [None, False, True]
X, Y = ("column", "x"), ("column", "y")
B, C = ("column", "b"), ("column", "c")
ZERO, ONE = ("number", 0.0), ("number", 1.0)
ORDERS = ["=", "<>", "<", "<=", ">", ">="]


def small():
    """Every boolean of two levels over two numbers and two booleans, and every sum and product."""
    amounts = [X, Y, ONE, ("negate", X), ("number", -1.0)]
    amounts += [(o, a, b) for o in "+-*/" for a in amounts[:4] for b in amounts[:5]]
    leaves = [B, C, ("truth", True), ("truth", False), ("null",)]
    leaves += [(order, a, b) for order in ORDERS for a in (X, ONE) for b in (X, ONE, ("negate", Y))]
    leaves += [("in", X, [1.0]), ("in", X, [1.0, 0.0, 1.0])]
    leaves += [("is true", B), ("is false", B), ("is null", B)]
    yield from (("<", amount, Y) for amount in amounts)
    yield from (("negate", amount) for amount in amounts)
    yield from leaves
    yield from (("not", leaf) for leaf in leaves)
    for operator, one, two in product(("and", "or"), leaves, leaves):
        yield (operator, one, two)
        yield ("not", (operator, ("not", one), two))
    for operator, one, two in product(("=", "<>"), leaves[:4], leaves):
        yield (operator, one, two)
        yield ("not", (operator, two, ("not", one)))


def test_every_small_expression_on_every_small_record():
    rows = [{"x": x, "y": y, "b": None, "c": None} for x, y in product(ODD, ODD)]
    truths = [
        {"x": x, "y": 1.0, "b": b, "c": c} for x, b, c in product((None, 0.0, 1.0), TRUTHS, TRUTHS)
    ]
    by_form: dict[str, list] = {}
    for expression in small():
        chosen = truths if "b" in str(expression) or "c" in str(expression) else rows
        values = [oracle.value_of(expression, row) for row in chosen]
        by_form.setdefault(canonical(parse(written(expression))), []).append((expression, values))
    for form, alike in by_form.items():
        first = alike[0]
        other = as_oracle(parse(form))
        chosen = truths if "b" in str(first[0]) or "c" in str(first[0]) else rows
        assert [oracle.value_of(other, row) for row in chosen] == first[1], form
        for expression, values in alike:
            if len(values) == len(first[1]):
                assert values == first[1], (form, expression)
    assert len(by_form) < sum(map(len, by_form.values())) / 3  # many are the same


# ------------------------------------------------------------------------ what people write


@pytest.mark.parametrize(
    "spellings",
    [
        ["x > 5", "5 < x", "not (x <= 5)", "not x <= 5", "not not x > 5", "(x) > (5.0)", "-x < -5"],
        ["b", "b = true", "true = b", "b <> false", "not not b", "b is true", "not (b = false)"],
        ["not b", "b = false", "b <> true", "not b = true", "b is false", "(not b) = true"],
        ["a and b and c", "c and (b and a)", "b and c and a and b", "not (not a or not (b and c))"],
        ["a or b", "b or a", "not (not a and not b)", "a or false or b", "b or (a and true) or a"],
        ["x + y > 1", "1 < y + x", "not 1 >= x + y"],
        ["x * y = 2", "2 = y * x", "-x * -y = 2", "not x * y <> 2"],
        ["x - y < 3", "x + -y < 3", "-y + x < 3", "3 > -(y - x)", "-3 < y - x"],
        ["x + y + z > 1", "y + x + z > 1", "z + (x + y) > 1"],
        ["x in (1, 2, 3)", "x in (3, 1, 2)", "x in (1, 1, 2, 3, 2)", "x = 3 or x in (2, 1)"],
        ["x = 1 or x = 2", "2 = x or 1 = x", "x in (1, 2)", "not (x <> 2 and x <> 1)"],
        ["x not in (1, 2)", "not x in (2, 1)", "x <> 1 and x <> 2"],
        ["x in (1)", "x = 1", "1 = x", "x in (1, 1)"],
        ["x between 1 and 2", "x >= 1 and x <= 2", "2 >= x and not x < 1"],
        ["x not between 1 and 2", "x < 1 or x > 2", "not (1 <= x and 2 >= x)"],
        ["x <> 5", "x != 5", "not x = 5", "not (5 = x)", "not not 5 != x"],
        ["city = 'a'", "'a' = city", "city in ('a')", "city like 'a'", "not city <> 'a'"],
        ["city < 'a'", "'a' > city", "not city >= 'a'"],
        ["a <> b", "b <> a", "not a = b", "(not a) = b", "a = (not b)"],
        ["greatest(x, y) > 0", "greatest(y, x, y) > 0", "greatest(x, greatest(x, y)) > 0"],
        ["coalesce(x, y, 0) > 1", "coalesce(x, coalesce(y, 0)) > 1", "1 < coalesce(x, y, x, 0)"],
        ["abs(x - y) < 1", "abs(y - x) < 1", "1 > abs(-(x + -y))"],
        ["case when not x <= 5 then 1 else 0 end = 1", "1 = case when x > 5 then 1 else 0 end"],
        ["true", "not false", "b or true"],
    ],
)
def test_one_form(spellings):
    asked = [fraction(one) for one in spellings]
    assert len({one.canonical for one in asked}) == 1, [one.canonical for one in asked]
    assert len(set(asked)) == 1
    for other in asked:
        assert query_of(other.canonical) == other


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x - y > 0", "x > y"),  # a difference may be rounded to zero
        ("x + y + z > 1", "x + (y + z) > 1"),  # sums do not associate
        ("x * 2 > 1", "x > 0.5"),
        ("coalesce(x, y) > 0", "coalesce(y, x) > 0"),
        ("x / y > 0", "y / x > 0"),
        ("x % y > 0", "x % -y > 0"),
        ("not (b is true)", "not b"),  # it is true where b is unknown
        ("b or x is null", "b"),
        ("city = '1'", "city = 1"),
        ("x > 5", "x >= 5"),
    ],
)
def test_different_forms(one, other):
    assert fraction(one) != fraction(other)


SAME = "not x <= 5", "x > 5"


@pytest.mark.parametrize(
    "build",
    [
        fraction,
        lambda text: mean(f"case when {text} then y + x else 0 end", low=0, high=1),
        lambda text: rate("b", given=text),
        lambda text: rate(text, given="b"),
        lambda text: rate("x", given=text, low=0, high=9),
        lambda text: gate(text, at_least=0.5),
        lambda text: gate(rate("b", given=text), at_most=0.5),
        lambda text: difference(text, "b"),
        lambda text: histogram(text),
        lambda text: histogram(f"({text}) in (true)", "bins(y, 0, 1)"),
        lambda text: means("y", low=0, high=1, by=text),
        lambda text: auc("y", target=text),
        lambda text: select([text, "b"]),
        lambda text: variance(f"cast({text} as number)", low=0, high=1),
    ],
)
def test_every_kind_of_query(build):
    one, other = map(build, SAME)
    assert one == other
    assert one.canonical == other.canonical
    assert hash(one) == hash(other)
    assert query_of(one.canonical) == one


def test_a_list_as_a_condition_is_not_a_list_of_cells():
    condition = histogram("x = 1 or x = 2")
    assert condition.canonical == "histogram((x in (1, 2)))"
    assert query_of(condition.canonical) == condition != histogram("x in (1, 2)")
    assert histogram("(x in (1))").canonical == "histogram(x = 1)"


def test_what_would_outgrow_the_limits_stays_as_it_is():
    leaves = " and ".join(f"contains(c{i}, 'a')" for i in range(200))
    tree = parse(f"not ({leaves})")
    assert tree.size <= LARGEST_SIZE
    assert write(normal_form(tree)) == write(tree)
    deep = "x"
    for _ in range(LARGEST_DEPTH - 2):
        deep = f"abs({deep})"
    assert parse(canonical(parse(deep))).depth <= LARGEST_DEPTH


def test_long_chains_keep_their_depth():
    terms = " + ".join(f"{i + 1} * c{i} * d{i}" for i in range(60))
    tree = normal_form(parse(f"3 < {terms}"))
    assert tree.depth <= parse(f"3 < {terms}").depth
    assert canonical(parse(write(tree))) == write(tree)


def test_types_are_checked_of_what_was_written():
    schema = Schema.of({"x": "float", "b": "bool"})
    for text in ("(x = true) is null", "x = true", "least(b, b) is null", "not not x"):
        with pytest.raises(ValueError, match=r"number|boolean"):
            fraction(text).form(schema)


def test_recorded_texts_are_read_as_they_are():
    with recorded():
        assert canonical(parse("5 < x and a")) == "5 < x and a"
    assert canonical(parse("5 < x and a")) == "a and x > 5"


@pytest.mark.parametrize(
    "spellings",
    [
        ["day >= '2026-11-08'", "'2026-11-08' <= day", "not day < '2026-11-08'"],
        ["day = '2026-11-08' or day = '2026-11-07'", "day in ('2026-11-08', '2026-11-07')"],
        ["day in ('2026-11-08')", "day = '2026-11-08'", "not day <> '2026-11-08'"],
        ["day - '2026-11-01' > 7", "'2026-11-01' - day < -7", "-7 > '2026-11-01' - day"],
        ["due - day < 2", "day - due > -2", "-(day - due) < 2"],
        ["weekday(day) = 1 or 7 = weekday(day)", "weekday(day) in (7, 1)"],
    ],
)
def test_times(spellings):
    days = [None, "2026-11-01", "2026-11-07", "2026-11-08", "2026-11-09", "1969-01-01"]
    rows = [{"day": day, "due": due} for day, due in product(days, days)]
    schema = Schema.of({"day": "date", "due": "date"})
    engine = PolarsEngine()
    frame = pl.DataFrame(rows, schema={"day": pl.String, "due": pl.String})
    engine.extend(frame.with_columns(pl.all().str.to_date()))
    asked = [fraction(one) for one in spellings]
    assert len(set(asked)) == 1, [one.canonical for one in asked]
    with recorded():  # each of them as it was written
        apart = [fraction(one).measure(schema) for one in spellings]
    measures = [one.measure(schema) for one in asked]
    assert len({write(one.expression) for one in measures}) == 1
    for start in range(len(rows)):
        found = [engine.sums([one], start, start + 1) for one in (*apart, *measures)]
        assert found == [found[0]] * len(found)
