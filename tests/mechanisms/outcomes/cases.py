"""A few datasets, and one question of every class or more, with the numbers worked out by hand."""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from statistics import fmean, variance
from tempfile import mkdtemp
from typing import Any

import surehold as sh
from support.workload import YOUTH
from surehold.session.dataset import Dataset

COLUMNS = {"age": "int", "bmi": "float", "ill": "bool", "city": "str"}
MOST = 30
Row = dict[str, Any]


def rows_of(kind: str) -> list[Row]:
    """Records of one kind: mixed ones, and those at the ends of everything that is asked."""
    draws = Random(kind)
    made = {
        "mixed": lambda i: (draws.randrange(100), draws.uniform(0, 50), draws.random() < 0.5),
        "rare": lambda i: (draws.choice((1, 1, 1, 99)), 50.0 * (i % 7 == 6), i % 9 == 8),
        "none": lambda i: (0, 0.0, False),
        "all": lambda i: (99, 50.0, True),
        "missing": lambda i: (
            draws.choice((None, 10, 90)),
            draws.choice((None, 5.0, 45.0)),
            draws.choice((None, True, False)),
        ),
    }[kind]
    cities = ("Oslo", "Bergen", None if kind == "missing" else "Oslo")
    return [dict(zip(COLUMNS, (*made(i), draws.choice(cities)), strict=True)) for i in range(MOST)]


KINDS = ("mixed", "rare", "none", "all", "missing")


@cache
def dataset_of(kind: str) -> Dataset:
    """A dataset of that kind, for all tests of a process."""
    root = Path(mkdtemp(prefix="outcomes-"))
    dataset = sh.create(root / kind, beta="0.05", columns=COLUMNS)
    atexit.register(shutil.rmtree, root)
    atexit.register(dataset.close)
    dataset.append(rows_of(kind))
    dataset.register(YOUTH)
    return dataset


def is_old(row: Row) -> bool:
    return row["age"] is not None and row["age"] > 50


def is_heavy(row: Row) -> bool:
    return row["bmi"] is not None and row["bmi"] > 20


def mass(row: Row) -> float:
    return 0.0 if row["bmi"] is None else float(min(row["bmi"], 50.0))


def difference(rows: list[Row]) -> float:
    return fmean(is_old(row) - is_heavy(row) for row in rows)


def rate(rows: list[Row]) -> float | None:
    heavy = [is_old(row) for row in rows if is_heavy(row)]
    return fmean(heavy) if heavy else None


def f1(rows: list[Row]) -> float | None:
    """By its definition, from precision and recall."""
    both = sum(is_old(row) and is_heavy(row) for row in rows)
    old, heavy = (sum(map(one, rows)) for one in (is_old, is_heavy))
    if not old + heavy:
        return None
    precision, recall = both / max(old, 1), both / max(heavy, 1)
    return 2 * precision * recall / (precision + recall) if both else 0.0


def difference_of_rates(rows: list[Row]) -> float | None:
    ill = [is_old(row) for row in rows if row["ill"]]
    heavy = rate(rows)
    return fmean(ill) - heavy if ill and heavy is not None else None


def area(rows: list[Row]) -> float | None:
    scored = [row for row in rows if row["age"] is not None]
    up = [row["age"] for row in scored if row["ill"] is True]
    down = [row["age"] for row in scored if row["ill"] is False]
    if not up or not down:
        return None
    return fmean((a > b) + 0.5 * (a == b) for a, b in product(up, down))


def spread(rows: list[Row]) -> float:
    return variance(map(mass, rows)) if len(rows) > 1 else 625.0  # the middle: there is no pair


def shares(rows: list[Row]) -> list[float]:
    oslo = fmean(row["city"] == "Oslo" for row in rows)
    return [oslo, 1.0 - oslo]


def totals(rows: list[Row]) -> list[float]:
    return [
        fmean(mass(row) * ((row["city"] == "Oslo") == is_oslo) for row in rows)
        for is_oslo in (True, False)
    ]


def means(rows: list[Row]) -> list[float | None]:
    found = []
    for is_oslo in (True, False):
        group = [mass(row) for row in rows if (row["city"] == "Oslo") == is_oslo]
        found.append(fmean(group) if group else None)
    return found


@dataclass(frozen=True)
class Case:
    """A query, what may be expected of it, and its number over records, or its table's numbers."""

    query: str | sh.Query
    expects: tuple[Any, ...] = ()
    number: Callable[[list[Row]], Any] | None = None
    takes_within: bool = True
    takes_doubt: bool = True
    is_coverage: bool = False
    """Whether its condition is taken for that of a side table which covers all records."""


NUMBERS = (0, "0.5", 1, "0.98", "1/3")
VERDICTS = ("pass", "fail", "undecided", "not pass")
OLD = "age > 50"
DIFFERENCE = "difference(age > 50, bmi > 20)"
RATE = "rate(age > 50, bmi > 20)"
F1 = "f1(age > 50, bmi > 20)"
RATES = f"difference(rate(age > 50, ill), {RATE})"


def gate(query: str, side: str, limit: float) -> Case:
    return Case(f"gate({query}, {side}, {limit})", VERDICTS, takes_within=False)


CASES = {
    "fraction": Case(OLD, NUMBERS, lambda rows: fmean(map(is_old, rows))),
    "mean": Case("mean(bmi, 0, 50)", (0, 10, 50), lambda rows: fmean(map(mass, rows))),
    "variance": Case("variance(bmi, 0, 50)", (0, 600, 1250), spread),
    "statistic": Case(sh.statistic("youth"), NUMBERS),
    "rate": Case(RATE, NUMBERS, rate),
    "f1": Case(F1, NUMBERS, f1),
    "conditional mean": Case("rate(bmi, ill, 0, 50)", (0, 25, 50)),
    "coverage": Case(RATE, NUMBERS, rate, is_coverage=True),
    "mean among covered": Case("rate(bmi, ill, 0, 50)", (0, 25, 50), is_coverage=True),
    "area": Case("auc(age, ill)", NUMBERS, area),
    "difference": Case(DIFFERENCE, (), difference, takes_within=False, takes_doubt=False),
    "difference of means": Case("difference(mean(bmi, 0, 50), mean(age, 0, 50))", (-50, 0, 10)),
    "difference of rates": Case(RATES, (), difference_of_rates, takes_doubt=False),
    "ladder": Case(DIFFERENCE, ("no", "not better")),
    "select": Case(
        "select(highest, 3, age > 5, age > 50, bmi > 20)", takes_within=False, takes_doubt=False
    ),
    "shares": Case("histogram(city in ('Oslo'))", (), shares, takes_doubt=False),
    "totals": Case("totals(bmi, 0, 50, city in ('Oslo'))", (), totals, takes_doubt=False),
    "means": Case("means(bmi, 0, 50, city in ('Oslo'))", (), means, takes_doubt=False),
    "gate": gate(OLD, "at_least", 0.5),
    "gate of a mean": gate("mean(bmi, 0, 50)", "at_most", 30),
    "gate of a rate": gate(RATE, "at_most", 0.3),
    "gate of an f1": gate(F1, "at_least", 0.4),
    "gate of an area": gate("auc(age, ill)", "at_least", 0.5),
    "gate of a variance": gate("variance(bmi, 0, 50)", "at_least", 100),
    "gate of a difference": gate(DIFFERENCE, "at_least", 0.1),
    "gate of a difference of rates": gate(RATES, "at_least", -0.1),
    "better": gate(DIFFERENCE, "at_least", 0),
}


def leaves(kind: type) -> Iterator[type]:
    """The classes under one that have none under them."""
    under = kind.__subclasses__()
    if not under:
        yield kind
    for one in under:
        yield from leaves(one)
