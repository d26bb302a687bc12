"""The functions of the language, and hints for those it does not have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches

from surehold.queries import expressions as ex
from surehold.queries.expressions import SIGNATURES, Expression

Builder = Callable[[str, Sequence[Expression], int], Expression | str]
"""Makes a tree of a name, its arguments and their place, or says what is wrong with them."""


def _one(name: str, given: Sequence[Expression], position: int) -> Expression | str:
    if len(given) != 1:
        return _takes(name, "one value", given)
    return ex.Function(given[0], name, position=position)


def _of_date(name: str, given: Sequence[Expression], position: int) -> Expression | str:
    if len(given) == 1 and isinstance(given[0], ex.Function) and given[0].function == "date":
        given = (given[0].operand,)  # year(date(x)) is year(x)
    return _one(name, given, position)


def _ceiling(name: str, given: Sequence[Expression], position: int) -> Expression | str:
    return _one("ceil", given, position)


def _round(name: str, given: Sequence[Expression], position: int) -> Expression | str:
    if len(given) != 1:
        return _takes(name, "one value; to round to tenths write round(x * 10) / 10", given)
    half_up = ex.Arithmetic("+", given[0], ex.Number(0.5), position=given[0].position)
    return ex.Function(half_up, "floor", position=position)


def _choice(name: str, given: Sequence[Expression], position: int) -> Expression | str:
    if len(given) < 2:
        return _takes(name, "two or more values", given)
    return ex.Choice(name, tuple(given), position=position)


def _nullif(name: str, given: Sequence[Expression], position: int) -> Expression | str:
    if len(given) != 2:
        return _takes(name, "two values", given)
    same = ex.Compare("=", given[0], given[1], position=given[0].position)
    return ex.Case(((same, ex.Null(position=position)),), given[0], position=position)


def _text_test(name: str, given: Sequence[Expression], position: int) -> Expression | str:
    if len(given) != 2 or not isinstance(given[1], ex.Text):
        return _takes(name, "a text and what to look for in quotes", given)
    return ex.TextTest(given[0], name, given[1].value, position=position)


def _takes(name: str, what: str, given: Sequence[Expression]) -> str:
    return f"{name} takes {what} ({len(given)} given)"


BUILDERS: dict[str, Builder] = {
    **dict.fromkeys(SIGNATURES, _one),
    **dict.fromkeys(("date", "day", "month", "weekday", "year"), _of_date),
    "ceiling": _ceiling,
    "round": _round,
    **dict.fromkeys(("coalesce", "least", "greatest"), _choice),
    "nullif": _nullif,
    **dict.fromkeys(("starts_with", "ends_with", "contains"), _text_test),
}


def like(left: Expression, pattern: str) -> Expression | None:
    """``left like pattern`` by simpler tests; None if it takes more than those.

    A ``%`` between A and B: the text starts with A, ends with B, and is long enough that the two
    do not overlap.
    """
    at = left.position
    if "_" in pattern or "\\" in pattern:
        return None
    if "%" not in pattern:
        return ex.Compare("=", left, ex.Text(pattern, position=at), position=at)
    head, *middle, tail = pattern.split("%")
    if not head and not tail and len(middle) <= 1:
        return ex.TextTest(left, "contains", "".join(middle), position=at)
    if middle:
        return None
    if not tail:
        return ex.TextTest(left, "starts_with", head, position=at)
    if not head:
        return ex.TextTest(left, "ends_with", tail, position=at)
    shortest = ex.Number(float(len(head) + len(tail)), position=at)
    length = ex.Function(left, "length", position=at)
    parts = (
        ex.TextTest(left, "starts_with", head, position=at),
        ex.TextTest(left, "ends_with", tail, position=at),
        ex.Compare(">=", length, shortest, position=at),
    )
    return ex.Connective("and", parts, position=at)


_ONE_RECORD = "a query is one expression about one record; Surehold does the counting"
_NO_REGEX = "there are no regular expressions; use starts_with, ends_with, contains or like"
_NOT_EXACT = "engines differ in its last bit, so it is left out; compare with a bound instead"
_NO_CLOCK = "a question must mean the same for ever; write the date, as in day >= '2026-11-08'"
_FROM_ELSEWHERE = {
    _ONE_RECORD: """
        avg average count mean sum min max median fraction any_value quantile stddev var array_agg
        list string_agg group_concat row_number rank lag lead over select from where having with
        exists union join values table distinct filter limit group order
    """,
    _NO_REGEX: "regexp regexp_matches regexp_like rlike similar ilike glob regexp_replace",
    _NOT_EXACT: "exp ln log log2 log10 pow power sin cos tan atan2",
    _NO_CLOCK: """
        now today yesterday tomorrow current_date current_time current_timestamp getdate curdate
        sysdate localtime localtimestamp utcnow
    """,
}
_HINTS = {word: hint for hint, words in _FROM_ELSEWHERE.items() for word in words.split()} | {
    **dict.fromkeys(("avg", "average"), "a mean is written mean(x, low, high)"),
    **dict.fromkeys(
        ("median", "quantile", "percentile", "percentile_cont"),
        "one record can move a quantile far; ask histogram(bins(x, 0 to 100 by 10)) instead",
    ),
    **dict.fromkeys(("corr", "correlation", "spearman"), "ask kendall(x, y), a whole query"),
    **dict.fromkeys(("std", "stddev", "stdev", "var"), "ask variance(x, low, high), a whole query"),
    "if": "write case when ... then ... else ... end",
    "iff": "write case when ... then ... else ... end",
    "ifnull": "write coalesce(x, y)",
    "nvl": "write coalesce(x, y)",
    "isnull": "write x is null",
    "isnan": "NaN in a column is null; write x is null",
    "len": "write length(x)",
    "char_length": "write length(x)",
    "mod": "write x % y",
    "trunc": "write floor(x) or ceil(x)",
    "int": "write floor(x)",
    "try_cast": "write cast(x as number), which gives null where it fails",
    "startswith": "write starts_with(x, 'text')",
    "endswith": "write ends_with(x, 'text')",
    "number": "write cast(x as number)",
    "xor": "write a <> b",
    "interval": "write the date itself, as in day >= '2026-11-08'; the days between two are a - b",
}
# Words that are as likely the names of columns: hints for functions only.
_OF_TIMES = {
    "the days between two dates are a - b": """
        age datediff date_diff timediff timestampdiff days_between date_add date_sub dateadd
    """,
    "write weekday(x), which is 1 on Monday and 7 on Sunday": "dow dayofweek isodow day_of_week",
    "write year(x), month(x), day(x), weekday(x) or hour(x)": "extract date_part strftime to_char",
    "write date(x), or bins(x, '2026-11-02' to '2026-11-30' by 7)": "date_trunc trunc_date week",
    "a column of dates or timestamps is compared with '2026-11-08' as it is": """
        to_date to_timestamp strptime timestamp datetime parse_date from_iso8601_date
    """,
    "write month(x) in (1, 2, 3)": "quarter",
}
_FUNCTION_HINTS = {word: hint for hint, words in _OF_TIMES.items() for word in words.split()}


def hint_for_word(word: str) -> str:
    """For a word that is known from elsewhere."""
    return _HINTS.get(word.lower(), "")


def hint_for_function(name: str) -> str:
    """For a function that is not there.

    >>> hint_for_function("sqr")
    "did you mean 'sqrt'?"
    """
    known = hint_for_word(name) or _FUNCTION_HINTS.get(name.lower(), "")
    if known:
        return known
    near = get_close_matches(name.lower(), BUILDERS, n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"the functions are {', '.join(sorted(BUILDERS))}"
