"""Texts that try for more than the language: all refused, and the same for every dataset."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.cases import case
from support.effort import calls_of
from support.soak import length
from surehold.errors import InvalidQuery
from surehold.queries import Charged, Schema, mean, query_of
from surehold.queries.lexer import WORDS

COLUMNS = {"age": "int", "bmi": "float", "smoker": "bool", "city": "str"}

HOSTILE = {
    "subqueries": [
        "(select 1) = 1",
        "age > (select avg(age) from data)",
        "exists (select 1 from data where age > 90)",
        "age in (select age from data)",
        "age = any (select age from data)",
        "age > all (values (1), (2))",
        "select age from data",
        "with t as (select 1) select * from t",
        "smoker union select smoker",
        "(table data)",
        "from data select age",
        "lateral (select age)",
    ],
    "aggregates and windows": [
        "count(*) > 3",
        "sum(age) > 10",
        "avg(age) < age",
        "max(age) = age",
        "age = min(age)",
        "row_number() over () < 10",
        "lag(age) over (order by age) > 1",
        "sum(age) over (partition by city) > 3",
        "age > 3 over ()",
        "count(*) filter (where smoker) > 1",
        "array_agg(age) = age",
        "string_agg(city, ',') = 'x'",
        "stats(age) = ''",
        "approx_quantile(age, 0.5) > 3",
        "histogram(age) is null",
        "mean(age, 0, 1) > 0.5",
        "fraction(smoker) > 0.5",
        "cum_sum(age) > 3",
    ],
    "many rows or columns from one": [
        "unnest([1, 2, 3]) = 1",
        "explode(city) = 'x'",
        "generate_series(1, 1000000000) = 1",
        "range(1000000000) is null",
        "COLUMNS(*) > 0",
        "columns('.*') > 0",
        "* > 0",
        "data.* is null",
        "struct_pack(a := 1) is null",
        "row(age, bmi) = row(1, 2)",
        "(age, bmi) = (1, 2)",
        "[age, bmi] = [1, 2]",
        "{'a': age} is null",
    ],
    "files and tables": [
        "read_csv('/etc/passwd') is null",
        "read_parquet('data.parquet') is null",
        "read_text('/etc/passwd') = 'x'",
        "pg_read_file('/etc/passwd') = 'x'",
        "load_extension('x') is null",
        "copy data to 'out.csv'",
        "attach 'other.db'",
        "'data.parquet'.age > 1",
        "glob('*') is null",
        "url('http://example.org') is null",
        "dictGet('d', 'a', age) = 1",
        "query_table('data') is null",
    ],
    "settings, catalogues, the machine": [
        "current_setting('secret_directory') = 'x'",
        "getenv('HOME') = '/root'",
        "current_user = 'x' or current_user() = 'x'",
        "version() = '1'",
        "pragma database_list",
        "set memory_limit = '1GB'",
        "sleep(10) is null",
        "pg_sleep(10) is null",
        "system('ls') is null",
    ],
    "volatile": [
        "random() < 0.5",
        "rand() < 0.5",
        "uuid() = 'x'",
        "now() > '2020-01-01'",
        "current_timestamp > '2020-01-01'",
        "nextval('s') = 1",
        "setseed(0.5) is null",
    ],
    "rows by their place": [
        "rowid < 10",
        "rowid() < 10",
        "row_index() < 10",
        "ctid = '(0,1)'",
        "_rowid_ = 1",
        '"__POLARS_CSER_0x1" = 1',
        "filename = 'x'",
        "len() > 3",
        "first(age) = age",
    ],
    "columns that are not there": [
        "salary > 3",
        '"age " > 3',
        "data.age > 3",
        "main.data.age > 3",
        '"main"."age" > 3',
        "Age > 3",
        "`age` > 3",
        "[age] > 3",
        "age.value > 3",
        "city[1] = 'O'",
    ],
    "comments and further statements": [
        "smoker -- and age > 3",
        "smoker /* hidden */",
        "smoker /* /* nested */ */",
        "smoker # hidden",
        "smoker // hidden",
        "smoker;",
        "smoker; drop table data",
        "smoker; select 1",
        "1 = 1 --",
        "'' or 1=1; --",
        "smoker\\",
        "smoker where age > 3",
        "smoker limit 1",
        "smoker order by age",
    ],
    "what could fail on one record": [
        "error('x') is null",
        "raise_error(city) is null",
        "cast(city as int) = 3",
        "cast(city as date) > cast('2020-01-01' as date)",
        "city::int = 3",
        "city::json->>'a' = 'b'",
        "try_cast(city as int) = 3",
        "date '2020-01-01' < city",
        "to_date(city) is null",
        "strptime(city, '%Y') is null",
        "json_extract(city, '$.a') = 1",
        "city ->> 'a' = 'b'",
        "regexp_matches(city, '(a+)+$')",
        "city ~ '(a+)+$'",
        "city rlike '['",
        "city similar to 'a*'",
        "city like '%a%b%c%d%'",
        "city ilike 'o%'",
        "city like city",
        "city like 'a\\%'",
        "age ** 1000 > 3",
        "pow(age, 1000) > 3",
        "power(10, age) > 3",
        "exp(age) > 3",
        "ln(age) > 3",
        "factorial(age) > 3",
        "age << 3 > 1",
        "age // 0 = 1",
        "repeat(city, 1000000000) = 'x'",
        "lpad(city, 1000000000) = 'x'",
        "city || city = 'x'",
        "concat(city, city) = 'x'",
        "chr(age) = 'a'",
        "decode(city, 'utf8') = 'a'",
        "age collate nocase = 1",
        "interval '1 day' is null",
        "age between 1",
        "age in ()",
        "age in (age)",
    ],
    "functions, macros, Python": [
        "list_transform([1], x -> x + 1) is null",
        "lambda x: x > 3",
        "x -> x + 1",
        "my_macro(age) > 3",
        "create macro f(x) as x",
        "my_frame > 3",
        "$1 = age",
        "? = age",
        ":name = age",
        "@variable = age",
        "{age} > 3",
        "%(age)s > 3",
        "{{ age }} > 3",
        "${age} > 3",
        "age if smoker else bmi",
        "__import__('os').system('ls')",
        "age.__class__ is null",
        "pl.col('age') > 3",
        "age := 3",
        "not in (1)",
    ],
    "large": [
        "1e151 > age",
        "age > 1e999999999",
        "age > " + "9" * 500,
        "age > " + "9" * 9_000,
        "city = '" + "x" * 1_001 + "'",
        "city = '" + "é" * 501 + "'",
        '"' + "x" * 129 + '" = 1',
        "x" * 129 + " = 1",
        "(" * 2_000 + "smoker" + ")" * 2_000,
        "not " * 2_000 + "smoker",
        "- " * 4_000 + "age > 1",
        "-" * 4_000 + "age > 1",
        "abs(" * 1_000 + "age" + ")" * 1_000 + " > 1",
        "case when " * 400 + "smoker" + " then smoker end" * 400,
        "age" + " + age" * 400 + " > 1",
        "smoker" + " or smoker" * 800,
        "age in (" + "1," * 600 + "1)",
        "age" + " % age" * 40 + " > 1",
        "nullif(" * 40 + "age" + ", 1)" * 40 + " = 1",
        "cast(" * 30 + "age" + " between 1 and 2 as number)" * 30 + " = 1",
        "(" * 5_000,
        "smoker and " * 900 + "smoker",
        "age > 1 " + " " * 10_000,
        " ".join(['"' + "x" * 120 + '" between 1 and 2'] + ['and "y" is null'] * 600),
    ],
    "characters": [
        "",
        " \n\t ",
        "age > 3\x00",
        "city = 'a\x00b'",
        "smoker\x00; drop",
        "\ufeffsmoker",
        "smoker\u200b",
        "smoker \u202e or true",
        "city = '\u2066x\u2069'",
        "city = 'a\u200db'",
        "\u0430ge > 3",
        '"\u0430ge" > 3',
        "\uff41\uff47\uff45 > 3",
        "age \uff1e 3",
        "age > \uff13",
        "age > \u0663",
        "age\u00a0> 3",
        "age\u2003> 3",
        "age\u2028> 3",
        "age \u2265 3",
        "age \u2212 1 > 3",
        "city = \u2018Oslo\u2019",
        "\u017fmoker",
        "city = '\ud800'",
        "city = 'Oslo",
        'city = "Oslo',
        '"" = 1',
        "city = 'it's'",
        "city = \"it''s\"",
        "\x1b[31m smoker",
        "age > 1 \x7f",
        "city = e'\\n'",
        "city = U&'\\0041'",
        "city = x'41'",
        "city = $$x$$",
        "age > 0x10",
        "age > 1e",
        "age > 1.2.3",
        "age > .",
        "age > NaN",
        "age > 'inf'",
        "age > infinity",
    ],
}
TEXTS = [text for texts in HOSTILE.values() for text in texts]


def message(text, schema):
    """What comes out; anything but InvalidQuery is a failure by itself."""
    with pytest.raises(InvalidQuery) as caught:
        query_of(text).measure(schema)
    return str(caught.value)


def test_there_are_enough():
    assert len(set(TEXTS)) >= 200


@pytest.mark.parametrize("group", HOSTILE)
def test_refused_the_same_for_every_dataset_and_as_a_mean(group):
    one, other = Schema.of(COLUMNS), Schema.of(dict(COLUMNS))
    for text in HOSTILE[group]:
        with case(repr(text)):
            assert calls_of(lambda text=text: message(text, one)) < 1_000_000
            found = message(text, one)
            assert found == message(text, other)
            assert len(found) < 500
            with pytest.raises(InvalidQuery):
                mean(text, low=0, high=1).measure(one)


def refused_or_fine(text):
    """Whatever comes, nothing else does."""
    query = kept(lambda: query_of(text), text)
    if query is not None:
        assert query_of(query.canonical) == query
        if isinstance(query, Charged):  # hypothesis knows the examples in our docstrings too
            kept(lambda: query.form(Schema.of(COLUMNS)), text)


def kept(make, text):
    """What is made, or None where it is refused."""
    try:
        return make()
    except InvalidQuery as error:
        position = error.position
    assert position is None or 0 <= position <= len(text)
    return None


@settings(max_examples=length(180, full=500))
@given(st.text())
def test_any_text(text):
    refused_or_fine(text)


PIECES = [*sorted(WORDS), *COLUMNS, "abs", "least", "coalesce", "nullif", "round", "mean", "number"]
PIECES += ["(", ")", "(", ")", ",", "=", "<>", "<", ">=", "+", "-", "*", "/", "%", " ", "'", '"']
PIECES += ["1", "0.5", "1e3", "'Oslo'", "'Os%'", '"age"', "fraction", "starts_with", "length", ";"]


@settings(max_examples=length(350, full=1000))
@given(st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join))
def test_any_words(text):
    refused_or_fine(text)


@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS), st.integers(0, 60))
def test_hostile_texts_cut_and_joined(one, other, cut):
    refused_or_fine(one[:cut] + " " + other[cut:])


def test_the_deepest_expression_is_read_far_down_the_stack():
    deepest = "not (" * 48 + "smoker" + ")" * 48

    def below(levels):
        return below(levels - 1) if levels else query_of(deepest)

    query = below(300)
    assert query_of(query.canonical) == query
    assert hash(query.measure(Schema.of(COLUMNS))) is not None
