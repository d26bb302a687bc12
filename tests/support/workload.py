"""One query of every class or more: what each costs, by hand, and what it is without noise.

They are about the records of :mod:`runtime`. Nothing here is worked out by the package, so that a
table that is charged as one answer, say, differs from what is written here.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import surehold as sh
from support.runtime import GUARDS, ID, record
from surehold.data import scores
from surehold.data.process.runner import Result
from surehold.data.statistics import Statistic

Floats = NDArray[np.float64]


def youth(table: Any) -> float:
    """Moved by 1/t: the share of those below fifty."""
    ages = np.asarray(table["age"], dtype=float)
    return float((ages < 50).mean())


YOUTH = Statistic("youth", youth, constant=1, columns=["age"])

ABOUT = {"features": ["age"], "target": "bmi > 25"}
BY_AGE = sh.accuracy(lambda matrix: matrix[:, 0] / 100, **ABOUT)  # true from fifty on
ALWAYS = sh.accuracy(lambda matrix: matrix[:, 0] * 0 + 1, **ABOUT)


@dataclass(frozen=True)
class Leaf:
    """Something that is charged: in answers, and what it takes of their number."""

    canonical: str
    price: int = 1
    slots: int = 1


@dataclass(frozen=True)
class Case:
    """A query: what is charged, what follows from that, in order, and the numbers of a snapshot.

    The last that follows, or else the one leaf, is what is told.
    """

    query: sh.Query | str
    leaves: tuple[Leaf, ...]
    derived: tuple[str, ...] = ()
    exact: Callable[[int], Any] | None = None
    kind: type = sh.Answer

    @property
    def canonical(self) -> str:
        return self.derived[-1] if self.derived else self.leaves[0].canonical

    @property
    def price(self) -> int:
        return sum(leaf.price for leaf in self.leaves)

    @property
    def slots(self) -> int:
        return sum(leaf.slots for leaf in self.leaves)


# -------------------------------------------------------------------------- without noise


@cache
def columns(round: int) -> tuple[Floats, Floats, NDArray[np.str_]]:
    """Ages, body masses and cities of the first records."""
    rows = [record(number) for number in range(round)]
    ages = np.array([row["age"] for row in rows], dtype=float)
    return ages, np.array([row["bmi"] for row in rows]), np.array([row["city"] for row in rows])


def share(which: Callable[[Floats, Floats, Any], Any]) -> Callable[[int], float]:
    return lambda round: float(np.mean(which(*columns(round))))


def shares(*which: Callable[[Floats, Floats, Any], Any]) -> Callable[[int], list[float]]:
    return lambda round: [share(one)(round) for one in which]


def over(above: Callable[[int], Any], below: Callable[[int], Any]) -> Callable[[int], Any]:
    """A quotient, or those of the cells of two tables."""
    return lambda round: (np.asarray(above(round)) / np.asarray(below(round))).tolist()


@cache
def orders(round: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """For all ordered pairs, which is larger: by age and by body mass."""
    ages, masses, _ = columns(round)
    return np.sign(ages[:, None] - ages).astype(np.int8), np.sign(masses[:, None] - masses)


def of_pairs(kernel: Callable[[Any, Any], Any]) -> Callable[[int], float]:
    return lambda round: float(kernel(*orders(round)).sum() / (round * (round - 1)))


@cache
def gini(round: int) -> float:
    _, masses, _ = columns(round)
    return float(np.abs(masses[:, None] - masses).sum() / (round * (round - 1)))


@cache
def ranked(round: int) -> float:
    """Of two records: the first has more than 25, the second has not, and is younger."""
    ages, masses, _ = columns(round)
    above, below = ages[masses > 25][:, None], ages[masses <= 25]
    return float((np.sign(above - below) + 1).sum() / 2 / (round * (round - 1)))


def oslo(_: Any, __: Any, city: Any) -> Any:
    return city == "Oslo"


def elsewhere(_: Any, __: Any, city: Any) -> Any:
    return city != "Oslo"


OSLO = Leaf("histogram(city in ('Oslo'))", 2, 2)
OSLO_BMI = Leaf("totals(bmi, 0, 50, city in ('Oslo'))", 2, 2)
OLD = Leaf("fraction(age > 50)")
HEAVY = Leaf("fraction(bmi > 20)")
BOTH = Leaf("fraction(age > 50 and bmi > 20)")
AMONG_OLD = Leaf("mean(case when age > 50 then bmi else 10 end, 10, 40)")
PAIRS = Leaf("auc_pairs(age, bmi > 25)")
POSITIVE = Leaf("fraction(bmi > 25 and not age is null)")
NEGATIVE = Leaf("fraction(bmi <= 25 and not age is null)")
RATE = "rate(age > 50, bmi > 20)"
RATE_OF = over(share(lambda a, b, _: (a > 50) & (b > 20)), share(lambda a, b, _: b > 20))
PREDICTED = Leaf(BY_AGE.canonical)
CONFUSION = sh.confusion(lambda matrix: matrix[:, 0] / 100, **ABOUT)


def alone(
    query: sh.Query | str, price: int = 1, slots: int = 1, exact: Any = None, kind: type = sh.Answer
) -> Case:
    """A case of one leaf, written as its canonical text."""
    canonical = query if isinstance(query, str) else query.canonical
    return Case(query, (Leaf(canonical, price, slots),), (), exact, kind)


CASES: dict[str, Case] = {
    "fraction": Case("age > 50", (OLD,), exact=share(lambda a, b, _: a > 50)),
    "another": Case("bmi > 20", (HEAVY,), exact=share(lambda a, b, _: b > 20)),
    "mean": alone("mean(bmi, 0, 25)", exact=share(lambda a, b, _: np.minimum(b, 25))),
    "difference": alone(
        "difference(age > 50, bmi > 20)",
        exact=share(lambda a, b, _: (a > 50).astype(int) - (b > 20)),
    ),
    "rate": Case(RATE, (BOTH, HEAVY), (RATE,), RATE_OF, sh.Estimate),
    "conditional mean": Case(
        sh.rate("bmi", given="age > 50", low=10, high=40),
        (AMONG_OLD, OLD),
        ("rate(bmi, age > 50, 10, 40)",),
        over(
            share(lambda a, b, _: np.where(a > 50, np.clip(b, 10, 40), 0)),
            share(lambda a, b, _: a > 50),
        ),
        sh.Estimate,
    ),
    "gate": Case(
        sh.gate("age > 50", at_most=0.1),
        (OLD,),
        ("gate(fraction(age > 50), at_most, 0.1)",),
        share(lambda a, b, _: a > 50),
        sh.Verdict,
    ),
    "gate of a rate": Case(
        f"gate({RATE}, at_least, 0.5)",
        (BOTH, HEAVY),
        (RATE, f"gate({RATE}, at_least, 0.5)"),
        RATE_OF,
        sh.Verdict,
    ),
    "cells": Case("histogram(city in ('Oslo'))", (OSLO,), (), shares(oslo, elsewhere), sh.Table),
    "bins": alone(
        "histogram(bins(age, 0, 50, 98))",
        2,
        3,
        shares(lambda a, *_: a < 50, lambda a, *_: (a >= 50) & (a <= 98), lambda a, *_: a > 98),
        sh.Table,
    ),
    "crosstab": alone(
        "histogram(city in ('Oslo'), age > 50)",
        2,
        6,
        shares(
            lambda a, _, c: (c == "Oslo") & (a > 50),
            lambda a, _, c: (c == "Oslo") & (a <= 50),
            lambda a, *_: a < 0,
            lambda a, _, c: (c != "Oslo") & (a > 50),
            lambda a, _, c: (c != "Oslo") & (a <= 50),
            lambda a, *_: a < 0,
        ),
        sh.Table,
    ),
    "totals": Case(
        OSLO_BMI.canonical,
        (OSLO_BMI,),
        (),
        shares(lambda a, b, c: b * (c == "Oslo"), lambda a, b, c: b * (c != "Oslo")),
        sh.Table,
    ),
    "means": Case(
        sh.means("bmi", 0, 50, by="city in ('Oslo')"),
        (OSLO, OSLO_BMI),
        ("means(bmi, 0, 50, city in ('Oslo'))",),
        over(
            shares(lambda a, b, c: b * (c == "Oslo"), lambda a, b, c: b * (c != "Oslo")),
            shares(oslo, elsewhere),
        ),
        sh.Table,
    ),
    "variance": alone(
        "variance(bmi, 0, 50)", exact=lambda round: float(np.var(columns(round)[1], ddof=1))
    ),
    "gini": alone("gini(bmi, 0, 50)", exact=gini),
    "kendall": alone("kendall(age, bmi)", exact=of_pairs(lambda a, b: a * b)),
    "concordance": alone("concordance(age, bmi)", exact=of_pairs(lambda a, b: a * b > 0)),
    "auc_pairs": Case("auc_pairs(age, bmi > 25)", (PAIRS,), exact=ranked),
    "auc": Case(
        sh.auc("age", target="bmi > 25"),
        (PAIRS, POSITIVE, NEGATIVE),
        ("auc(age, bmi > 25)",),
        lambda round: (
            ranked(round) / np.mean(columns(round)[1] > 25) / np.mean(columns(round)[1] <= 25)
        ),
        sh.Estimate,
    ),
    "select": alone(
        "select(lowest, 3, fraction(age > 5), fraction(age > 95), fraction(age > 50))",
        3,
        3,
        lambda round: 1,
        sh.Choice,
    ),
    "select the highest": alone(
        sh.select({"young": "age < 5", "old": "age > 9"}, best="highest", price=2),
        2,
        2,
        lambda round: 1,
        sh.Choice,
    ),
    "fit": alone(
        sh.fit(
            "linear",
            target="bmi",
            low=0,
            high=50,
            features={"age": (0, 100)},
            steps=2,
            price=4,
        ),
        4,
        0,
        kind=sh.Fitted,
    ),
    "statistic": Case(
        sh.statistic("youth"),
        (Leaf("statistic('youth', 1, 1, 0, 1)"),),
        exact=share(lambda a, *_: a < 50),
    ),
    "model": Case(BY_AGE, (PREDICTED,), exact=share(lambda a, b, _: (a >= 50) == (b > 25))),
    "improvement": alone(
        sh.improvement(BY_AGE, ALWAYS),
        exact=share(lambda a, b, _: ((a >= 50) == (b > 25)).astype(int) - (b > 25)),
    ),
    "confusion": alone(CONFUSION, 2, 9, kind=sh.Table),
}


COVERED = 900
SIDE = pl.DataFrame({ID: range(COVERED), "says": [i % 5 == 0 for i in range(COVERED)]})
"""A side table of the first records, if they have ids."""

_HASH = "table:89d33950d3385a4c08eb6a023c377b98633a4f78ce1d8e252b694b9217edafb0"
SAYS, COVERS = f'"{_HASH}:bool".says', f'not "{_HASH}:int".{ID} is null'
BOTH_SAID = Leaf(f"fraction({SAYS} and {COVERS})")


def said(round: int) -> float:
    """The share of those that the table covers and calls true, of all records."""
    return sum(i % 5 == 0 for i in range(min(round, COVERED))) / round


OF_TABLES: dict[str, Case] = {
    "of all records": Case(f"fraction(p.{ID} is not null and p.says)", (BOTH_SAID,), exact=said),
    "of those covered": Case(
        "p.says",
        (BOTH_SAID, Leaf(f"fraction({COVERS})")),
        (f"rate({SAYS}, {COVERS})",),
        over(said, lambda round: min(round, COVERED) / round),
        sh.Estimate,
    ),
}
"""What can be asked once the table is kept as p."""


OF_BOTH = [
    (guard, name) for guard in GUARDS for name in CASES if (guard, name) != ("surprise", "fit")
]
"""What can be asked under each guard: a fit needs noise."""


# --------------------------------------------------------------------------------- models


class InProcess:
    """A model's runner without processes of its own: for models that mean well."""

    def __init__(self, payload: Any, features: Any, want: str, limits: Any = None) -> None:
        self._model = pickle.loads(payload.content)

    def __enter__(self) -> InProcess:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def probe(self) -> None:
        """Nothing to find out."""

    def check_time(self, records: int) -> None:
        """It has as much as it takes."""

    def expected_seconds(self, records: int) -> float:
        return 0.0

    def evaluate(self, blocks: Iterable[Any]) -> Iterator[Result]:
        for block in blocks:
            values = self._model(block.to_numpy().astype(float))
            yield Result(np.reshape(values, (-1, 1)), np.ones(block.height, dtype=bool))


def in_process(patch: pytest.MonkeyPatch) -> None:
    """From now on models run here; starting a process for each would take a second."""
    patch.setattr(scores, "ModelRunner", InProcess)
