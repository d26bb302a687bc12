"""Analysts who overfit, for tests of coverage: a population that is known exactly, and its abuse.

A record falls into one of some cells, each as likely as any other. It has a fair label ``y``, a
number ``u`` and others, ``v0, v1, ...``, uniform on [0, 1), and fair signs ``x0, x1, ...``, all
independent. So whatever is made of signs and numbers predicts the label as well as a coin does, and
a set of cells has the probability of its size.

There are two attacks, and most classes of queries are put to both. *Voting*: ask how each sign or
number goes with the label, weight it with what the answer said, ask about the sum. It is the
stronger of the two under noise. *Remembering*: put the cells of a section into the digits of one
number, so that an exact answer, and only an exact one, tells which of them are occupied; then ask
about these together. They hold the whole sample and a fraction of the population, and no honest
width covers that: it is why exact answers fail, with a hundredth of the queries of a vote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import binomtest

import surehold as sh
from support.noise_sources import FastSeededNoise, NoNoise
from surehold.mechanisms import NoiseSource
from surehold.session.dataset import Dataset

BETA = 0.3
REPEATS = 9  # without a failure they bound its probability by 0.283
EXACT_REPEATS = 3  # with a failure each they bound it by 0.368 from below

BASE, DIGITS = 4, 12  # a section's cells are digits of a number, each for up to three records
BITS = 50  # cells of a part: so many bits of a number are exact in the language
MEAN_DIGIT = sum(BASE**-j for j in range(DIGITS)) / DIGITS
_MOST_AT_ONCE = 160  # sections that a regression has room for

# ----------------------------------------------------------------------------- population


@dataclass(frozen=True)
class World:
    """A population. Cells come by section and digit, and also by part and bit."""

    sections: int
    signs: int = 0
    numbers: int = 0

    @property
    def cells(self) -> int:
        return self.sections * DIGITS

    @property
    def columns(self) -> dict[str, str]:
        places = {"cell": "int", "section": "int", "digit": "float", "part": "int", "bit": "float"}
        others = [*self.listed("x", self.signs), "u", *self.listed("v", self.numbers)]
        return places | {"y": "bool"} | dict.fromkeys(others, "float")

    @staticmethod
    def listed(letter: str, count: int) -> list[str]:
        return [f"{letter}{j}" for j in range(count)]

    def drawn(self, generator: np.random.Generator, count: int) -> pl.DataFrame:
        """Independent records."""
        cells = generator.integers(self.cells, size=count)
        drawn: dict[str, Any] = {
            "cell": cells,
            "section": cells // DIGITS,
            "digit": float(BASE) ** (cells % DIGITS - DIGITS + 1),
            "part": cells // BITS,
            "bit": 2.0 ** (cells % BITS),
            "y": generator.integers(2, size=count) == 1,
            "u": generator.random(count),
        }
        signs = generator.choice([-1.0, 1.0], size=(self.signs, count))
        drawn |= dict(zip(self.listed("x", self.signs), signs, strict=True))
        numbers = generator.random((self.numbers, count))
        return pl.DataFrame(
            drawn | dict(zip(self.listed("v", self.numbers), numbers, strict=True))
        ).select(*self.columns)

    # ------------------------------------------------------------------- voting

    @staticmethod
    def weighted(names: Sequence[str], weights: Iterable[float]) -> str:
        """A weighted sum of columns."""
        pairs = zip(names, weights, strict=True)
        return " + ".join(f"{weight:.6f} * {name}" for name, weight in pairs)

    # -------------------------------------------------------------- remembering

    @property
    def by_section(self) -> str:
        """An axis with a cell for each section."""
        return f"section in ({', '.join(map(str, range(self.sections)))})"

    @staticmethod
    def of_section(section: int) -> str:
        """The number of a record, if it is in the section."""
        return f"case when section = {section} then digit else 0 end"

    @staticmethod
    def remembered(sums: Iterable[float]) -> list[int]:
        """The cells that are occupied, according to the sum of the numbers of each section."""
        found = []
        for section, total in enumerate(sums):
            left = max(round(total * BASE ** (DIGITS - 1)), 0)
            for digit in range(DIGITS):
                left, count = divmod(left, BASE)
                if count:
                    found.append(section * DIGITS + digit)
        return found

    def among(self, cells: Iterable[int]) -> str:
        """1 for the records in one of the cells, else 0: a bit of the number that its part has."""
        numbers: dict[int, int] = {-1: 0}
        for cell in cells:
            numbers[cell // BITS] = numbers.get(cell // BITS, 0) | 1 << cell % BITS
        branches = " ".join(f"when part = {part} then {n}" for part, n in numbers.items())
        return f"floor(case {branches} else 0 end / bit) % 2"

    def share(self, cells: Sequence[int]) -> float:
        """The population's share in them."""
        return len(cells) / self.cells


# --------------------------------------------------------------------------------- tally


@dataclass
class Tally:
    """How many claims of an analysis were made, how many failed, and how near it came to that."""

    claims: int = 0
    missed: list[str] = field(default_factory=list)
    nearest: float = 0.0  # error over width, of the claim that came nearest to failing
    decided: int = 0  # gates that passed or failed

    def number(self, result: sh.Answer | sh.Estimate, population: float) -> None:
        """An interval, if there is one, against the population's value."""
        if isinstance(result, sh.Answer):
            self._near(abs(result.value - population) / result.width)
        self._interval(result.text, result.interval, population)

    def table(self, result: sh.Table, population: Sequence[float | None]) -> None:
        """All cells that have a value in the population."""
        for cell, value in zip(result, population, strict=True):
            if value is not None:
                if result.width is not None and cell.value is not None:
                    self._near(abs(cell.value - value) / result.width)
                self._interval(f"{cell.label}: {result.text}", cell.interval, value)

    def verdict(self, result: sh.Verdict, population: float) -> None:
        """Undecided is never wrong."""
        is_so = population >= result.limit
        if result.side == "at_most":
            is_so = population <= result.limit
        self.decided += result.verdict != "undecided"
        self._claim(result.text, result.verdict != ("fail" if is_so else "pass"))

    def choice(self, result: sh.Choice, losses: Sequence[float]) -> None:
        """The population's loss of the chosen, and of the best."""
        excess = losses[result.index] - min(losses)
        self._near(excess / result.width)
        self._claim(result.text, excess <= result.width)

    def _interval(self, text: str, interval: tuple[float, float] | None, population: float) -> None:
        self._claim(text, interval is None or interval[0] <= population <= interval[1])

    def _near(self, share: float) -> None:
        self.nearest = max(self.nearest, share)

    def _claim(self, text: str, is_right: bool) -> None:
        self.claims += 1
        if not is_right:
            self.missed.append(text)


# ------------------------------------------------------------------------------- analyses


@dataclass
class Analysis:
    """What an analyst works with: a session, and records that arrive when asked for."""

    world: World
    dataset: Dataset
    session: sh.Session
    generator: np.random.Generator
    tally: Tally = field(default_factory=Tally)

    @property
    def n(self) -> int:
        return self.dataset.n

    def grow(self, n: int) -> None:
        self.dataset.append(self.world.drawn(self.generator, n - self.n))

    def ask(self, *queries: Any) -> tuple[Any, ...]:
        return self.session.ask_many(queries)

    def regressed(self, target: str, features: Sequence[str], price: int) -> list[float]:
        """Means of a target times each feature, both from -1 to 1, from one step of a regression.

        It counts as no answer, but is charged. Less than five answers leave nothing for second
        moments: then the step, from 0, is the gradient over the number of coefficients.
        """
        fit = sh.fit(
            "linear",
            target=target,
            features=dict.fromkeys(features, (-1, 1)),
            price=price,
            low=-1,
            high=1,
            penalty=0.0,
            steps=1,
        )
        found = self.session.ask(fit)
        return [slope * (1 + len(features)) for slope in found.coefficients.values()]

    def recalled(self, target: str = "1") -> list[int]:
        """The occupied cells, or those of the records of which the target is 1 and not 0."""
        sums: list[float] = []
        every = [self.world.of_section(section) for section in range(self.world.sections)]
        for start in range(0, len(every), _MOST_AT_ONCE):
            means = self.regressed(target, every[start : start + _MOST_AT_ONCE], price=1)
            sums += [mean * self.n for mean in means]
        return self.world.remembered(sums)


@dataclass(frozen=True)
class Attack:
    """An analyst, the population, and the plan: n0, n and the answers that it covers."""

    world: World
    n0: int
    n: int
    queries: int
    analyst: Callable[[Analysis], None]

    def plan(self) -> sh.Plan:
        return planned(self.n0, self.n, self.queries)

    def tally(self, path: Path, noise: NoiseSource, seed: int) -> Tally:
        """One analysis of fresh records."""
        sh.create(path, plan=self.plan(), columns=self.world.columns).close()
        with Dataset(path, noise=noise) as dataset:
            generator = np.random.default_rng(seed)
            analysis = Analysis(self.world, dataset, dataset.session(fixed_time=False), generator)
            analysis.grow(self.n0)
            self.analyst(analysis)
            assert dataset.n == self.n
            return analysis.tally

    def with_noise(self, folder: Path, repeats: int = REPEATS) -> list[Tally]:
        return [
            self.tally(folder / f"{seed}", FastSeededNoise(seed), seed) for seed in range(repeats)
        ]

    def without_noise(self, folder: Path, repeats: int = EXACT_REPEATS) -> list[Tally]:
        return [self.tally(folder / f"{seed}", NoNoise(), seed) for seed in range(repeats)]


@cache
def planned(n0: int, n: int, queries: int) -> sh.Plan:
    return sh.plan(n0=n0, n=n, queries=queries, beta=BETA)


def check_holds(tallies: Sequence[Tally]) -> None:
    """All claims of an analysis are right together, as often as was promised."""
    failed = sum(bool(tally.missed) for tally in tallies)
    assert at_most(failed, len(tallies)) <= BETA


def check_fails(tallies: Sequence[Tally]) -> None:
    """The same check has teeth."""
    failed = sum(bool(tally.missed) for tally in tallies)
    assert at_least(failed, len(tallies)) > BETA


def at_most(times: int, repeats: int) -> float:
    """Upper 95 % bound for the probability of what happened so many times."""
    return float(binomtest(times, repeats, alternative="less").proportion_ci(0.95).high)


def at_least(times: int, repeats: int) -> float:
    """Lower 95 % bound for the probability of what happened so many times."""
    return float(binomtest(times, repeats, alternative="greater").proportion_ci(0.95).low)
