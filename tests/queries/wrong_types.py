"""Arguments that nobody can mean, for every parameter of whatever makes a query."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np

from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries import Query, query_of


class Strange:
    """Raises whenever it is looked at."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __len__ = __iter__ = __float__ = __index__ = __str__


WRONG = [
    None,
    True,
    0,
    -1,
    2.5,
    10**400,
    -(10**400),
    float("nan"),
    float("inf"),
    1e200,
    1e-200,
    1 + 2j,
    "",
    " ",
    "x",
    "(",
    "a\x00b",
    "a\ud800",
    "x" * 20_000,
    "x, y",
    b"x",
    [],
    [None],
    ["x", 5],
    ["x", "x"],
    [["x"]],
    (1, 2, 3),
    {},
    {"x": None},
    {None: (0, 1)},
    set(),
    range(3),
    iter(()),
    np.array([1.0, 2.0]),
    np.float64(0.5),
    np.int64(3),
    datetime.date(2026, 1, 1),
    object(),
    int,
    len,
    lambda: 0,
]


def shown(value: Any) -> str:
    return repr(value)[:30]


def check(
    make: Callable[..., Query],
    valid: dict[str, Any],
    parameter: str,
    unless: Callable[[Any], bool] = lambda value: False,
) -> None:
    """Each wrong value is refused, or what is made of it reads back as the same query."""
    for value in WRONG:
        if unless(value):
            continue
        try:
            query = make(**{**valid, parameter: value})
        except (InvalidInput, InvalidQuery):
            continue
        except Exception as error:
            raise AssertionError(f"{parameter} = {shown(value)}: {error!r}") from error
        assert query_of(query.canonical) == query, shown(value)
