"""Random typed expressions, as the oracle reads them and as users write them; random records."""

from __future__ import annotations

import datetime as dt

from hypothesis import strategies as st

COLUMNS = {
    "age": "int",
    "id": "int",
    "bmi": "float",
    "weight of": "float",
    "smoker": "bool",
    "In": "bool",
    "city": "str",
    "length": "str",
    "day": "date",
    "due": "date",
    "at": "timestamp",
    "seen": "timestamp",
}
BARE = ("age", "id", "bmi", "smoker", "city", "length", "day", "due", "at", "seen")

INTEGERS = [0, 1, -1, 2, 7, 10, 65, -65, 2**31, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1]
INTEGERS += [2**63 - 1, -(2**63), 2**62 + 1, 2**55 + 3]
FLOATS = [0.0, -0.0, 0.5, -0.5, 1.0, 3.0, 10.0, 27.5, 0.1, 1 / 3, 0.49999999999999994, 5e-324]
FLOATS += [2.0**52 + 0.5, 1e16, 1e149, 1e150, -1e150, 2e150, 1.7e308, -1.7e308, 1e-300, 65.0]
FLOATS += [float("nan"), float("inf"), float("-inf")]
TEXTS = ["", "Oslo", "oslo", "OSLO", "Os", "slo", "OsloOslo", "Ö", "ö", "é", "e\u0301", "z", "Z"]
TEXTS += ["İI", "ß", "\U0001f600", "\uffff", "\x00", "a\x00b", "it's", '"', "%", "_", " ", "\n"]
TEXTS += ["1", "12.5", "-3", "+3", "1e5", "1E-99", "1e100", ".5", "5.", "1_000", " 1", "1\n", "inf"]
TEXTS += ["nan", "0x10", "\u0661", "9" * 30, "9" * 31, "0." + "1" * 30, "--1", "1e", "true", "-0"]
TEXTS += ["x" * 255 + "\u00e9", "x" * 300, "Oslo-Gamlebyen", "oslo-GAMLEBYEN", "\u00f8" * 128]
TEXTS += ["0.1000000000000000055511151231257827", "9007199254740993", "2.2250738585072011"]

DATES = [dt.date(1, 1, 1), dt.date(1600, 2, 29), dt.date(1900, 3, 1), dt.date(1969, 12, 31)]
DATES += [dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(2026, 11, 8), dt.date(9999, 12, 31)]
STAMPS = [dt.datetime.combine(day, dt.time(0), dt.UTC) for day in DATES]
STAMPS += [moment + dt.timedelta(0, 86_399, 999_999) for moment in STAMPS]
STAMPS += [dt.datetime(2026, 11, 8, 12, 30, tzinfo=dt.UTC), STAMPS[4] + dt.timedelta(0, 0, 1)]

integers = st.one_of(
    st.sampled_from(INTEGERS), st.integers(-(2**63), 2**63 - 1), st.integers(0, 99)
)
floats = st.one_of(st.sampled_from(FLOATS), st.floats(), st.floats(-100, 100))
texts = st.one_of(st.sampled_from(TEXTS), st.text(max_size=6))
dates = st.one_of(st.sampled_from(DATES), st.dates())
stamps = st.one_of(st.sampled_from(STAMPS), st.datetimes(timezones=st.just(dt.UTC)))
_VALUES = {"int": integers, "float": floats, "bool": st.booleans(), "str": texts}
_VALUES |= {"date": dates, "timestamp": stamps}

records = st.fixed_dictionaries(
    {name: st.one_of(st.none(), _VALUES[kind]) for name, kind in COLUMNS.items()}
)

# ------------------------------------------------------------------------- expressions

_QUIET = st.characters(exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp"))
_small = st.sampled_from(
    [0.0, 0.5, 1.0, 2.0, 3.0, 7.0, 10.0, 64.5, 65.0, 0.1, 1e150, 2.0**53, 1e-3]
)
literal_numbers = st.one_of(
    _small, _small.map(lambda x: 0.0 - x), st.floats(-1e150, 1e150).map(lambda x: x + 0.0)
)
literal_texts = st.one_of(
    st.sampled_from([text for text in TEXTS if text.isprintable()]), st.text(_QUIET, max_size=3)
)
# Midnight is refused beside = and <>; test_times.py has it beside the others.
literal_stamps = stamps.filter(lambda moment: moment.time() != dt.time(0))


def _column(*kinds):
    return st.sampled_from([("column", name) for name, kind in COLUMNS.items() if kind in kinds])


def _calls(names, *operands):
    return st.tuples(st.sampled_from(names), *operands)


def _case(conditions, values):
    pairs = st.lists(st.tuples(conditions, values), min_size=1, max_size=2)
    flat = pairs.map(lambda found: [part for pair in found for part in pair])
    return st.tuples(flat, st.one_of(st.just(("null",)), values)).map(
        lambda parts: ("case", *parts[0], parts[1])
    )


def _listed(name, values, most=3):
    return st.lists(values, min_size=2, max_size=most).map(lambda parts: (name, *parts))


def _chosen(conditions, times, others):
    """A choice among times, the first of which is no literal."""
    return st.one_of(
        _calls(["coalesce", "least", "greatest", "nullif"], times, others),
        st.tuples(st.just("case"), conditions, times, st.one_of(st.just(("null",)), others)),
    )


def typed(depth, shallow=True):
    """Strategies for numbers, texts and booleans of so many levels, or fewer if shallow ones do.

    Dates and timestamps are among their parts, literals of theirs only beside others.
    """
    number = st.one_of(_column("int", "float"), literal_numbers.map(lambda x: ("number", x)))
    text = st.one_of(_column("str"), literal_texts.map(lambda x: ("text", x)))
    boolean = st.one_of(_column("bool"), st.booleans().map(lambda x: ("truth", x)))
    day, stamp = _column("date"), _column("timestamp")
    one_date, one_stamp = (values.map(lambda x: ("time", x)) for values in (dates, literal_stamps))
    for _ in range(depth):
        n, t, b, d, s = number, text, boolean, day, stamp
        date_too, stamp_too = st.one_of(d, one_date), st.one_of(s, one_stamp)
        day = st.one_of(d, _calls(["date"], st.one_of(d, s)), _chosen(b, d, date_too))
        stamp = st.one_of(s, _chosen(b, s, stamp_too))
        orders = ["=", "<>", "<", "<=", ">", ">="]
        tests = ["starts_with", "ends_with", "contains"]
        number = st.one_of(
            *([n] if shallow else []),
            _calls(["+", "-", "*", "/", "%"], n, n),
            _calls(["negate", "abs", "floor", "ceil", "round", "sqrt"], n),
            _calls(["length", "cast"], t),
            _calls(["cast"], b),
            _case(b, n),
            _listed("coalesce", n),
            _listed("least", n),
            _listed("greatest", n),
            _calls(["nullif"], n, n),
            _calls(["year", "month", "day", "weekday"], st.one_of(d, s)),
            _calls(["hour"], s),
            _calls(["-"], d, date_too),
            _calls(["-"], stamp_too, s),
        )
        text = st.one_of(
            *([t] if shallow else []),
            _calls(["lower", "upper"], t),
            _case(b, t),
            _listed("coalesce", t),
            _calls(["nullif"], t, t),
        )
        boolean = st.one_of(
            *([b] if shallow else []),
            _calls(orders, n, n),
            _calls(orders, n, literal_numbers.map(lambda x: ("number", x))),
            _calls(orders, t, t),
            _calls(["=", "<>"], b, b),
            _calls(["between"], n, n, n),
            _calls(["between"], t, t, t),
            _calls(["in"], n, st.lists(literal_numbers, min_size=1, max_size=6)),
            _calls(["in"], t, st.lists(literal_texts, min_size=1, max_size=6)),
            _calls(tests, t, literal_texts),
            _calls(
                ["like"], t, st.sampled_from(["Os%", "%o", "%sl%", "Oslo", "O%o", "Os%slo", "%"])
            ),
            _calls(orders, d, date_too),
            _calls(orders, stamp_too, s),
            _calls(["between"], d, date_too, date_too),
            _calls(["in"], d, st.lists(dates, min_size=1, max_size=6)),
            _calls(["in"], s, st.lists(literal_stamps, min_size=1, max_size=6)),
            _calls(["is null"], st.one_of(n, t, b, d, s)),
            _calls(["not", "is true", "is false"], b),
            _listed("and", b),
            _listed("or", b),
            _case(b, b),
            _listed("coalesce", b),
        )
    return number, text, boolean


numbers, words, booleans = typed(3)
deep_numbers, _, deep_booleans = typed(3, shallow=False)

# --------------------------------------------------------------------------- spelling


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def spelled(moment):
    """As short as can be; by the datetime module."""
    text = moment.isoformat()
    if isinstance(moment, dt.datetime):
        text = text.removesuffix("+00:00")
        text = text.rstrip("0") if "." in text else text.removesuffix(":00")
        text = text.removesuffix("T00:00")
    return text


def _literal(value):
    if isinstance(value, dt.date):
        return quoted(spelled(value))
    return quoted(value) if isinstance(value, str) else repr(value)


def written(expression):
    """As a user may write it, with brackets around everything."""
    operator, *operands = expression
    if operator in ("number", "text", "time"):
        return _literal(operands[0])
    if operator == "truth":
        return str(operands[0])
    if operator == "null":
        return "NULL"
    if operator == "column":
        return operands[0] if operands[0] in BARE else f'"{operands[0]}"'
    x = written(operands[0])
    if operator == "in":
        return f"({x} IN ({', '.join(map(_literal, operands[1]))}))"
    if operator == "like":
        return f"({x} like {quoted(operands[1])})"
    if operator in ("starts_with", "ends_with", "contains"):
        return f"{operator}({x}, {quoted(operands[1])})"
    parts = [written(operand) for operand in operands]
    if operator == "negate":
        return f"(- {x})"
    if operator == "not":
        return f"(not {x})"
    if operator.startswith("is "):
        return f"({x} {operator})"
    if operator == "between":
        return f"({x} between {parts[1]} AND {parts[2]})"
    if operator == "cast":
        return f"CAST({x} as Number)"
    if operator == "case":
        *pairs, otherwise = parts
        whens = [f"when {c} then {v}" for c, v in zip(pairs[::2], pairs[1::2], strict=True)]
        return f"case {' '.join(whens)} else {otherwise} end"
    if operator[0].isalpha() and operator not in ("and", "or"):
        return f"{operator.upper()}({', '.join(parts)})"
    return f"({f' {operator} '.join(parts)})"
