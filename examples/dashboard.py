"""A dashboard that a team reads every week while the data grows.

A shop has 40,000 customers on the day its dashboard goes live, and 10,000 more each week. Every
week the dashboard asks for the same numbers: churn, churn among paying customers, mean spend,
countries. Then someone takes a closer look at whatever looked worst, which is how people find
effects that do not exist. This program knows the population that the customers are drawn from, so
it can check what readers of the dashboard cannot: how many intervals miss the truth.

    python examples/dashboard.py [FOLDER]
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import polars as pl

import surehold as sh

WEEKS, FIRST, WEEKLY = 12, 40_000, 10_000
COUNTRIES = {"NO": 0.5, "SE": 0.3, "DK": 0.2}
PRO, CHURN, CHURN_PRO = 0.6, 0.30, 0.10  # churn is the same everywhere and at every age
SPEND = 40.0  # the mean; uniform from 0 to 80
AGES = {"young": "age < 40", "middle": "age between 40 and 59", "old": "age >= 60"}
PAGE = {
    "churn": sh.fraction("churned"),
    "churn of pro": sh.rate("churned", given="pro"),
    "spend": sh.mean("spend", low=0, high=100),
    "countries": sh.histogram("country"),
}
OVERALL = PRO * CHURN_PRO + (1 - PRO) * CHURN


def customers(count: int, random: np.random.Generator) -> pl.DataFrame:
    """Draw customers; nothing depends on country or age."""
    pro = random.random(count) < PRO
    return pl.DataFrame(
        {
            "country": random.choice(list(COUNTRIES), count, p=list(COUNTRIES.values())),
            "age": random.integers(20, 80, count),
            "pro": pro,
            "churned": random.random(count) < np.where(pro, CHURN_PRO, CHURN),
            "spend": random.uniform(0, 2 * SPEND, count),
        }
    )


def say(text: str) -> None:
    print(f"\n==> {text}")


class Checked:
    """Counts the intervals, and those that miss the truth."""

    def __init__(self) -> None:
        self.intervals = self.missed = self.plain = self.plain_missed = 0

    def interval(self, found: tuple[float, float] | None, truth: float) -> None:
        if found is None:  # an undetermined rate claims nothing
            return
        self.intervals += 1
        self.missed += not found[0] <= truth <= found[1]

    def textbook(self, values: pl.Series, truth: float) -> None:
        """Check what a plain dashboard would print: mean ± 1.96 standard errors."""
        mean, error = values.mean(), values.std() / len(values) ** 0.5
        self.plain += 1
        self.plain_missed += abs(mean - truth) > 1.96 * error


def look_closer(session: sh.Session, raw: pl.DataFrame, checked: Checked) -> str:
    """Find the country that looks worst, and then ask about its ages."""
    shares = session.ask_many([sh.rate("churned", f"country = '{name}'") for name in COUNTRIES])
    for name, share in zip(COUNTRIES, shares, strict=True):
        checked.interval(share.interval, OVERALL)
        checked.textbook(raw.filter(pl.col("country") == name)["churned"], OVERALL)
    worst = max(zip(shares, COUNTRIES, strict=True), key=lambda pair: pair[0].value or 0)[1]
    ages = session.ask_many(
        [sh.rate("churned", f"country = '{worst}' and {age}") for age in AGES.values()]
    )
    for share, age in zip(ages, AGES.values(), strict=True):
        checked.interval(share.interval, OVERALL)
        there = raw.sql(f"select * from self where country = '{worst}' and {age}")
        checked.textbook(there["churned"], OVERALL)
    return worst


def main(folder: Path) -> None:
    path = folder / "dashboard"
    shutil.rmtree(path, ignore_errors=True)
    random = np.random.default_rng(20261116)
    checked = Checked()

    say("plan: from 40,000 to 400,000 customers, every fraction within ±0.08 with probability 95 %")
    plan = sh.plan(n0=FIRST, n=10 * FIRST, alpha=0.08, beta=0.05)
    columns = {
        "country": f"str in ({', '.join(repr(name) for name in COUNTRIES)})",
        "age": "int",
        "pro": "bool",
        "churned": "bool",
        "spend": "float",
    }
    dataset = sh.create(path, plan=plan, columns=columns)
    session = dataset.session(analyst="dashboard")
    print(f"{plan.paces.at_n0:,} answers fit if asked at once, {plan.paces.evenly:,} if evenly")
    raw = customers(FIRST, random)
    dataset.append(raw)

    say(f"the page, for {WEEKS} weeks; * is the country that looked worst and got a closer look")
    print("week  customers  churn          of pro  spend       page costs  worst*")
    costs = []
    for week in range(1, WEEKS + 1):
        before = session.budget.remaining
        churn, pro, spend, countries = session.ask_many(PAGE.values())
        costs.append(before - session.budget.remaining)
        checked.interval(churn.interval, OVERALL)
        checked.interval(pro.interval, CHURN_PRO)
        checked.interval(spend.interval, SPEND)
        for name, share in COUNTRIES.items():
            checked.interval(countries[name].interval, share)
            checked.textbook(raw["country"] == name, share)
        checked.textbook(raw["churned"], OVERALL)
        checked.textbook(raw.filter(pl.col("pro"))["churned"], CHURN_PRO)
        checked.textbook(raw["spend"], SPEND)
        worst = look_closer(session, raw, checked)
        print(
            f"{week:>4}  {dataset.n:>9,}  {churn.value:.3f} ± {churn.width:.3f}  {pro.value:.3f}   "
            f"{spend.value:.1f} ± {spend.width:.1f}  {costs[-1] / plan.budget:>10.2%}  {worst}"
        )
        if week < WEEKS:
            new = customers(WEEKLY, random)
            dataset.append(new)
            raw = pl.concat([raw, new])

    say("someone reloads the page: every number was asked before at this round, so it is free")
    before = session.budget.spent
    again = session.ask_many(PAGE.values())
    assert all(answer.recorded for answer in again)
    assert session.budget.spent == before
    print(f"{len(again)} answers, cost {session.budget.spent - before:g}; {session.budget}")

    say("what the readers cannot see: the truth")
    print(f"Surehold: {checked.intervals} intervals, {checked.missed} of them wrong")
    print(
        f"the textbook's 95 % intervals of the same numbers: {checked.plain}, "
        f"{checked.plain_missed} of them wrong"
    )
    assert checked.missed == 0
    assert checked.plain_missed > 0
    assert costs[-1] < costs[0] / 10  # the same page, on nearly four times as many customers
    print(f"week {WEEKS} cost {costs[-1] / costs[0]:.0%} of what week 1 cost")

    say("verify: replay every entry, charge, width and byte")
    print(dataset.verify())
    dataset.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
