"""What only Polars could get wrong: its shortcuts, its types, and what it leaves out."""

import numpy as np
import polars as pl
import pytest

from support.effort import calls_of
from surehold.data.engines import PolarsEngine, polars_numbers
from surehold.errors import InvalidInput
from surehold.queries import Schema, fraction, mean

COLUMNS = {"x": "float", "y": "float", "n": "int", "p": "bool", "s": "str"}
SCHEMA = Schema.of(COLUMNS)


def counted(text, **columns):
    """For how many records a text is true, all at once and one at a time."""
    measure = fraction(text).measure(SCHEMA)
    frame = pl.DataFrame(columns)
    engine = engine_of(frame)
    whole = engine.sums([measure], 0, frame.height)[0]
    assert whole == sum(engine.sums([measure], at, at + 1)[0] for at in range(frame.height))
    return whole


def engine_of(*frames, **settings):
    engine = PolarsEngine(**settings)
    for frame in frames:
        engine.extend(frame)
    return engine


class TestDivision:
    """Polars multiplies by the reciprocal of what it takes for a constant."""

    X = np.random.default_rng(1).uniform(-1e3, 1e3, 200).tolist()

    def test_there_is_a_difference(self):
        assert sum(x / 10 != x * (1 / 10) for x in self.X) > 50

    @pytest.mark.parametrize("divisor", ["10", "(7 + 3)", "coalesce(null, 10)", "n"])
    def test_by_a_constant(self, divisor):
        y = [x / 10 for x in self.X]
        assert counted(f"x / {divisor} = y", x=self.X, y=y, n=[10] * 200) == 200

    @pytest.mark.parametrize("p", [[True] * 200, [None] * 200, [True, False] * 100])
    def test_by_what_happens_to_be_constant(self, p):
        y = [x / 10 if truth else x / 3 for x, truth in zip(self.X, p, strict=True)]
        found = counted(
            "x / case when p then 10 else 3 end = y",
            x=self.X,
            y=y,
            p=pl.Series(p, dtype=pl.Boolean()),
        )
        assert found == 200

    def test_of_a_constant(self):
        assert counted("10 / x = y", x=self.X, y=[10 / x for x in self.X]) == 200

    def test_remainder(self):
        y = [x - 10 * ((x / 10) // 1) for x in self.X]
        assert counted("x % 10 = y", x=self.X, y=y) == 200

    def test_remainder_saturates_on_its_way(self):
        over = [y for y in map(float, range(2, 2000)) if y * (1e150 / y) > 1e150]
        assert over
        assert counted("x % y = 0", x=[1e150] * len(over), y=over) == len(over)


class TestIntegers:
    """A column of integers is read as the nearest doubles, also where the printer need not cast."""

    N = [  # noqa: RUF012 - not changed
        2**53 - 1,
        2**53,
        2**53 + 1,
        2**53 + 2,
        -(2**53) - 1,
        2**63 - 1,
        -(2**63),
        65,
        None,
    ]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("n = 9007199254740992", 2),
            ("n > 9007199254740992", 2),
            ("n = -9007199254740992", 1),
            ("n >= 9223372036854775807", 1),
            ("n = 9223372036854775808", 1),
            ("n < -9223372036854775807", 0),
            ("n = 9007199254740991", 1),
            ("n > 9007199254740990.5", 5),
            ("n in (9007199254740992, 65)", 3),
            ("n in (65, 9007199254740991)", 2),
            ("n in (9007199254740992, 65, 1, 2, 3, 4)", 3),
            ("n in (65, 9007199254740991, 1, 2, 3, 4)", 2),
            ("n in (65.5)", 0),
            ("not n in (65.5)", 8),
            ("n = 65.5", 0),
            ("n <> 65.5", 8),
            ("64.5 < n and n < 65.5", 1),
            ("n >= 64.5 and n <= 65.5", 1),
            ("n >= 65.5 and n <= 66.5", 0),
            ("n = n + 1", 4),
        ],
    )
    def test_large_and_broken(self, text, expected):
        assert counted(text, n=self.N) == expected


def test_the_grid_rounds_halves_up():
    frame = pl.DataFrame(
        {"x": [2.5, 2.4999999999999996, 3.5, 0.49999999999999994, -1.0, 5e9, None]}
    )
    measure = mean("x", low=0, high=2**32).measure(SCHEMA)
    engine = engine_of(frame)
    # The last but three: x + 1/2 rounds to 1 in doubles, and that is what is documented.
    assert [engine.sums([measure], at, at + 1)[0] for at in range(7)] == [3, 2, 4, 1, 0, 2**32, 0]


@pytest.mark.parametrize("dtype", [pl.Categorical(), pl.Enum(["b", "a", "Z", "ä"]), pl.String()])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s = 'a'", 2),
        ("s <> 'nowhere'", 5),
        ("s > 'Z'", 4),
        ("'a' >= s", 3),
        ("s in ('a', 'nowhere')", 2),
        ("s in ('a', 'nowhere', 'c', 'd', 'e', 'f')", 2),
        ("not s in ('a', 'nowhere', 'c', 'd', 'e', 'f')", 3),
        ("s is null", 1),
        ("s = coalesce(s, 'x')", 5),
        ("starts_with(s, 'a') or length(s) = 2", 2),
        ("case when s = 'a' then s else 'b' end = s", 3),
    ],
)
def test_types_of_text(dtype, text, expected):
    frame = pl.DataFrame({"s": pl.Series(["b", "a", "Z", "ä", None, "a"], dtype=dtype)})
    later = pl.DataFrame({"s": ["a", "new"]})
    engine = engine_of(frame, later)
    measure = fraction(text).measure(SCHEMA)
    assert engine.sums([measure], 0, 6) == [expected]
    assert engine.sums([measure], 0, 7)[0] >= expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lower(s) = 'oslo'", 2),
        ("upper(s) = 'OSLO'", 2),
        ("lower(s) = 'Öİi' or upper(s) = 'ßI'", 2),
        ("lower(s) = 'öi̇i' or upper(s) = 'SSI'", 0),
        ("length(s) = 3", 1),
        ("length(s) = 2", 2),
        ("s > 'z'", 4),
        ("s > '\uffff'", 1),
    ],
)
def test_text_is_code_points_and_cases_are_of_ascii(text, expected):
    s = ["Oslo", "oSLO", "Öİi", "ßi", "e\u0301", "\U0001f600", "é", None]
    assert counted(text, s=s) == expected


LONG = "x" * 256
MIXED = ["x" * 255 + "é", "x" * 254 + "é", "x" * 253 + "\U0001f600", "é" * 200, LONG, LONG + "y"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"s = '{'x' * 255}'", 1),
        (f"s = '{LONG}'", 2),
        (f"s = '{LONG}y'", 0),
        (f"s in ('{LONG}y', '{LONG}', 'a')", 2),
        (f"s < '{LONG}y'", 4),
        (f"s >= '{LONG}y'", 3),
        (f"starts_with(s, '{LONG}y')", 0),
        (f"ends_with(s, '{LONG}')", 2),
        (f"contains(s, '{LONG}y') or contains(s, 'y')", 0),
        ("length(s) = 255", 2),
        ("length(s) = 253", 1),
        ("length(s) = 128", 1),
        ("upper(s) = s", 1),
        ("s is null", 1),
    ],
)
def test_texts_are_read_up_to_256_bytes(text, expected):
    assert counted(text, s=[*MIXED, "z", None]) == expected


def test_records_are_kept_as_they_are():
    frame = pl.DataFrame({"s": [LONG + "y", "a"]})
    engine = engine_of(frame, frame)
    assert engine.frame(0, 4)["s"].to_list() == [LONG + "y", "a"] * 2
    assert engine.sums([fraction("length(s) > 256").measure(SCHEMA)], 0, 4) == [0]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 8, 9, 12, 13, 16, 17, 64, 255, 256])
def test_tests_of_texts_at_every_width(size):
    """Against Python, on texts that are a little shorter, longer and other than the literal."""
    part = ("aB" * 130)[:size]
    texts = [part, part[:-1], part + "a", "a" + part, part[:-1] + "c", part.lower(), "", None]
    texts += [part.upper(), part * 2, part[::-1]]
    known = [one[:256] for one in texts if one is not None]
    tests = {
        f"s = '{part}'": lambda one: one == part,
        f"lower(s) = '{part.lower()}'": lambda one: one.lower() == part.lower(),
        f"upper(s) <> '{part.upper()}'": lambda one: one.upper() != part.upper(),
        f"s < '{part}'": lambda one: one < part,
        f"s <= '{part}'": lambda one: one <= part,
        f"lower(s) > '{part}'": lambda one: one.lower() > part,
        f"starts_with(s, '{part}')": lambda one: one.startswith(part),
        f"ends_with(s, '{part}')": lambda one: one.endswith(part),
        f"ends_with(lower(s), '{part.lower()}')": lambda one: one.lower().endswith(part.lower()),
        f"starts_with(upper(s), '{part.upper()}')": lambda one: one.upper().startswith(
            part.upper()
        ),
    }
    if size <= 17:
        tests[f"contains(s, '{part}')"] = lambda one: part in one
    for text, holds in tests.items():
        assert counted(text, s=texts) == sum(map(holds, known)), text


def test_long_ranges_are_summed_in_pieces():
    engine = engine_of(pl.DataFrame({"n": list(range(10))}), most=3)
    measures = [fraction("n > 4").measure(SCHEMA), fraction("true").measure(SCHEMA)]
    assert engine.sums(measures, 0, 10) == [5, 10]
    assert engine.sums(measures, 4, 9) == [4, 5]


def test_large_frames_are_not_copied_together_and_small_ones_are():
    frame = pl.DataFrame({"n": [1, 2, 3]})
    for small, chunks in ((5, 3), (6, 2), (9, 1)):
        engine = engine_of(frame, frame, frame, small=small)
        assert engine.sums([fraction("n > 1").measure(SCHEMA)], 0, 9) == [6]
        assert engine.frame(0, engine.size).n_chunks() == chunks


def test_other_columns_are_refused():
    with pytest.raises(InvalidInput):
        engine_of(pl.DataFrame({"n": [1]}), pl.DataFrame({"x": [1.0]}))


class TestWorkDoesNotDependOnRecords:
    """Latency would tell what a record holds if branches were skipped."""

    FRAMES = [  # noqa: RUF012 - not changed
        pl.DataFrame({"p": [truth] * 4, "x": [1.0, 2.0, 3.0, 4.0]}) for truth in (True, False)
    ]
    TEXTS = [  # noqa: RUF012 - not changed
        "case when p then sqrt(abs(floor(x))) > 1 else x > 2 end",
        "p and sqrt(x) > 1 or x * x > 3",
        "coalesce(x, sqrt(x + 1)) > 1",
        "x in (1, 2, 3) and not p",
    ]

    @pytest.mark.parametrize("text", TEXTS)
    def test_the_plan_is_the_same_and_filters_nothing(self, text):
        measure = fraction(text).measure(SCHEMA)
        plans = [engine_of(f).query([measure], f).explain() for f in self.FRAMES]
        assert plans[0] == plans[1]
        assert "FILTER" not in plans[0]
        assert "SLICE" not in plans[0]

    @pytest.mark.parametrize("truth", [True, False, None])
    @pytest.mark.parametrize(
        "text",
        [
            "case when p then 1 / x > 0 else false end",
            "case when p then true else 1 / x > 0 end",
            "case when p then true when not p then 1 / x > 0 else x > 1 end",
            "p and 1 / x > 0",
            "p or 1 / x > 0",
            "coalesce(p, 1 / x > 0)",
            "coalesce(p, true) or coalesce(p, false) and 1 / x > 0",
            "least(x, 1 / x) > 0",
            "nullif(x, 1 / x) > 0",
            "p and p and p and 1 / x in (1, 2)",
        ],
    )
    def test_every_branch_is_evaluated_on_every_record(self, text, truth, monkeypatch):
        seen = []

        def counting(*operands):
            seen.append(max(numbers.size for numbers in operands))
            return operands[1]

        monkeypatch.setitem(polars_numbers.UFUNCS, "/", counting)
        frame = pl.DataFrame({"p": pl.Series([truth] * 50, dtype=pl.Boolean()), "x": [2.0] * 50})
        engine_of(frame).sums([fraction(text).measure(SCHEMA)], 0, 50)
        assert sum(seen) == 50

    def test_polars_own_conditional_would_not_do(self):
        # When this fails, Polars has mended its ways and the printer may use `when`.
        seen = []
        counting = lambda operands: seen.append(len(operands[0])) or operands[0]  # noqa: E731
        heavy = pl.map_batches([pl.col.x], counting, pl.Float64(), is_elementwise=True)
        frame = pl.DataFrame({"p": [False] * 50, "x": [2.0] * 50})
        frame.select(pl.when(pl.col.p).then(heavy).otherwise(pl.lit(0.0)).sum())
        assert sum(seen) == 0


@pytest.mark.parametrize(
    "text",
    [
        "sqrt(" * 45 + "x" + ")" * 45 + " > 1",
        "1 / (" * 45 + "x" + ")" * 45 + " > 1",
        "case when p then x else " * 45 + "x" + " end" * 45 + " > 1",
        "lower(upper(" * 22 + "s" + "))" * 22 + " = 'a'",
        "least(x, greatest(y, " * 22 + "x" + "))" * 22 + " > 1",
        "coalesce(y, abs(" * 22 + "x" + "))" * 22 + " > 1",
        "-abs(floor(ceil(" * 11 + "x" + ")))" * 11 + " < 1",
        "x % (x % (x % (x % (x % (x % 3))))) > 1",
        "p" + " and (p or (not p and (p or not p)))" * 40,
    ],
)
def test_deep_expressions_do_not_explode(text):
    frame = pl.DataFrame({"x": [2.0, None], "y": [1.0, 2.0], "p": [True, None], "s": ["A", "b"]})
    measure = fraction(text).measure(SCHEMA)
    sums = []
    assert calls_of(lambda: sums.extend(engine_of(frame).sums([measure], 0, 2))) < 1_000_000
    assert 0 <= sums[0] <= 2

    @pytest.mark.parametrize("nulls", [0, 1, 50])
    def test_arithmetic_takes_values_and_nulls_apart_the_same_way_for_all(self, nulls):
        """Whether a column has a null must not decide how it is computed."""
        column = pl.Series([None] * nulls + [2.0] * (50 - nulls), dtype=pl.Float64())
        values = polars_numbers.marked_numbers(column)
        assert values.dtype == float
        assert np.isnan(values).tolist() == [True] * nulls + [False] * (50 - nulls)
        assert values[nulls:].tolist() == [2.0] * (50 - nulls)

    def test_no_result_is_subnormal(self):
        text = "x * 1e-150 * 1e-100 * 1e-60 <> 0 or x * 1e-140 / 1e11 <> 0"
        frame = pl.DataFrame({"x": [1.0, -1.0, 0.5, 1e-3]})
        assert engine_of(frame).sums([fraction(text).measure(SCHEMA)], 0, 4) == [0]
