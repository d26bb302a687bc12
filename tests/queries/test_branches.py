"""Whatever reads a text reads it in the branches of a choice, and the value stays the same."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queries import oracle
from queries.generators import COLUMNS, booleans, literal_texts, numbers, quoted, words, written
from queries.pools import ENGINES, POOL, measured
from support.soak import length
from surehold.data.engines import polars_numbers
from surehold.data.engines.polars_printer import PolarsPrinter
from surehold.queries import Schema, fraction, histogram, mean, query_of
from surehold.queries.expressions import Case, Choice, Column, Function, Null, Text, Truth, Type
from surehold.queries.schema import ColumnType

SCHEMA = Schema.of(COLUMNS)
ORDERS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
TESTS = st.sampled_from(["starts_with", "ends_with", "contains"])

# What reads texts that are chosen in three levels of case, coalesce, nullif, lower and upper.
readers = st.one_of(
    st.tuples(ORDERS, words, words),
    st.tuples(TESTS, words, literal_texts),
    st.tuples(st.just("in"), words, st.lists(literal_texts, min_size=1, max_size=6)),
    st.tuples(st.just("is null"), words),
    st.tuples(ORDERS, st.tuples(st.just("length"), words), st.tuples(st.just("length"), words)),
    st.tuples(ORDERS, st.tuples(st.just("cast"), words), numbers),
)


def texts_in(tree):
    return [node for node in tree.walk() if node.type is Type.TEXT]


def is_plain(text):
    """A literal or a column, perhaps in lower or upper case."""
    inner = text.operand if isinstance(text, Function) else text
    return isinstance(inner, Column) or (inner is text and isinstance(text, Text | Null))


@settings(max_examples=length(100, full=300))
@given(st.one_of(readers, booleans))
def test_no_text_is_chosen(expression):
    tree = measured(fraction(written(expression))).expression
    assert all(map(is_plain, texts_in(tree)))


@settings(max_examples=length(70, full=200))
@given(readers)
def test_the_value_is_the_same_on_every_record(expression):
    measure = measured(fraction(written(expression)))
    expected = sum(oracle.fraction_integer(expression, row) for row in POOL)
    assert [engine.sums([measure], 0, 120) for engine in ENGINES] == [[expected]] * 3


@settings(max_examples=60)
@given(words, st.lists(literal_texts, min_size=1, max_size=5, unique=True))
def test_cells_of_chosen_texts(expression, values):
    asked = histogram(f"{written(expression)} in ({', '.join(map(quoted, values))})")
    found = [oracle.value_of(expression, row) for row in POOL]
    expected = [found.count(value) for value in values]
    expected.append(120 - sum(expected))
    measure = measured(asked)
    assert [engine.cell_sums(measure, 0, 120) for engine in ENGINES] == [expected] * 3
    assert all(map(is_plain, texts_in(measure.axes[0].numbered.operand)))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("upper(case when smoker then 'ab' else '' end) = 'AB'", 0),
        ("length(case when smoker then 'ab' else city end) = 2", 1),
        ("coalesce(city, length, 'x') in ('x', 'y')", 4),
        ("lower(upper(lower(city))) = upper(length)", 2),
        ("cast(upper(coalesce(city, '7')) as number) > 1", 2),
        ("nullif(city, 'a') is null", 2),
    ],
)
def test_what_is_read(text, read):
    """Columns of texts are read so often; of literals nothing is left to the engine."""
    tree = fraction(text).measure(SCHEMA).expression
    columns = [node for node in tree.walk() if isinstance(node, Column) and node.name != "smoker"]
    assert len(columns) == read
    if not read:
        assert not texts_in(tree)


LETTERS = "x" * 990
ISSUE = f"upper(case when age > 65 then '{LETTERS}' else '' end) = '{LETTERS.upper()}'"


def test_the_text_of_a_branch_is_not_work():
    """The finding: 5 ms or 4 s for 20,000 records, depending on how many are older than 65."""
    tree = fraction(ISSUE).measure(SCHEMA).expression
    assert (
        tree == fraction("case when age > 65 then true else false end").measure(SCHEMA).expression
    )


def test_the_canonical_text_stays():
    query = fraction(ISSUE)
    measure = query.measure(SCHEMA)
    assert measure.canonical == query.canonical
    assert query_of(query.canonical) == query
    assert LETTERS in query.canonical


@pytest.mark.parametrize(
    "node",
    [
        Case(((Truth(True), Text("a")),), Column("city", ColumnType.STR)),
        Choice("coalesce", (Column("city", ColumnType.STR), Text("b"))),
    ],
)
def test_the_printer_has_no_choice_among_texts(node):
    with pytest.raises(NotImplementedError):
        PolarsPrinter().print_node(node)


@pytest.mark.parametrize("truth", [True, False, None])
def test_kernels_see_the_same_whatever_is_true(truth, monkeypatch):
    """What functions of whole columns are given: the same types and lengths, and no text."""
    seen, apply = [], polars_numbers.apply

    def watched(function, parts, kind):
        def called(operands):
            seen.append([(one.dtype, len(one)) for one in operands])
            return function(operands)

        return apply(called, parts, kind)

    monkeypatch.setattr(polars_numbers, "apply", watched)
    frame = pl.DataFrame({"p": pl.Series([truth] * 50, dtype=pl.Boolean())})
    asked = f"upper(case when p then '{LETTERS}' else '' end) = '{LETTERS.upper()}'"
    measure = fraction(asked).measure(Schema.of({"p": "bool"}))
    total = frame.select(PolarsPrinter().total(measure)).item()
    assert total == (50 if truth else 0)
    assert [kind for call in seen for kind, _ in call] == [pl.Boolean()] * 3
    assert max(length for call in seen for _, length in call) == 50


def test_of_a_mean_too():
    tree = mean("length(coalesce(city, 'none'))", low=0, high=10).measure(SCHEMA).expression
    assert all(map(is_plain, texts_in(tree)))
