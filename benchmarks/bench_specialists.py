"""The surprise guard beside each specialist, in the specialist's own case.

    .venv/bin/python benchmarks/bench_specialists.py [CASE ...]           (default: all; a minute)

Half-widths at beta = 0.05 for a fraction of 0/1 values, and for verdicts their number. "Defaults"
are the guard's own shares, rounds and cells; "declared" are the specialist's choices, made in the
guard: shares, rounds, cells or blocks, as each function says. Intervals come from the lab's book,
which does what a session does. No random numbers: means are exactly those of the heading.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import NamedTuple

from scipy.special import gammaln

from surehold.lab.defenders.transcripts import ladder_step, ladder_width
from surehold.lab.surprise_book import SurpriseBook
from surehold.theory.surprise.claims.base import rejects
from surehold.theory.surprise.claims.binomial import BinomialTail
from surehold.theory.surprise.forecasts import forecast_interval
from surehold.theory.surprise.levels import Level, Rounds
from surehold.theory.surprise.menus.numbers import learned_doubt
from surehold.theory.surprise.menus.verdicts import ImprovementMenu
from surehold.theory.surprise.prices import price
from surehold.theory.surprise.shares import Shares

STEP = Fraction(1, 100)
BETA = Fraction(1, 20)
SIZES = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 100_000)
HALF, HIGH = Fraction(1, 2), Fraction(17, 20)


class Row(NamedTuple):
    """One comparison: the specialist's number, then ours, with defaults and declared."""

    case: str
    n: int
    theirs: float
    defaults: float | None
    declared: float
    declared_high: float
    more_is_better: bool = False

    def line(self) -> str:
        ahead = (self.declared - self.theirs) * (1 if self.more_is_better else -1)
        defaults = "" if self.defaults is None else _number(self.defaults)
        return (
            f"{'ok  ' if ahead >= 0 else 'MISS'}  {self.case:<46} {self.n:>7,} "
            f"{_number(self.theirs):>10} {defaults:>10} "
            f"{_number(self.declared):>10} {_number(self.declared_high):>10}"
        )


def union_bound() -> Iterator[Row]:
    """A list that is registered first. Declared: equal shares, one round, cells of a record."""
    for questions in (50, 1_000):
        for n in SIZES:
            theirs = math.sqrt(math.log(2 * questions / BETA) / (2 * n))
            yield Row(
                f"list of {questions:,}, union bound",
                n,
                theirs,
                _listed(n, questions, HALF, declared=False),
                _listed(n, questions, HALF, declared=True),
                _listed(n, questions, HIGH, declared=True),
            )


def _listed(n: int, questions: int, mean: Fraction, declared: bool) -> float:
    """The half-width of the last of them."""
    book = SurpriseBook(BETA)
    for name in range(questions):
        if declared:
            book.register(name, n, rounds="once", share=Fraction(1, questions))
        else:
            book.register(name, n)
    within = Fraction(1, 2 * n) if declared else None
    found = book.ask(questions - 1, int(mean * n), n, within=within)
    return float(found.interval.half_width)


def confidence_sequence() -> Iterator[Row]:
    """One question for ever. Declared: all of beta, all rounds, cells of a record.

    Theirs, from Howard et al. 2021: the stitched boundary, equation (2), which needs no tuning; and
    Robbins' normal mixture, equation (14), tuned for the moment at which ours is registered, when a
    tenth of the records is there, or all of them.
    """
    for start, word in ((10, "stitched"), (10, "tuned for n/10"), (1, "tuned for n")):
        for n in SIZES:
            if word == "stitched":
                log = math.log(math.log(2 * n)) + 0.72 * math.log(10.4 / BETA)
                theirs = 0.5 * 1.7 * math.sqrt(log / n)
            else:
                variance, log = n / 4, 2 * math.log(1 / BETA)
                rate = variance / start / (log + math.log(1 + log))
                together = variance + rate
                theirs = math.sqrt(together * math.log(together / (rate * float(BETA) ** 2))) / n
            yield Row(
                f"one metric for ever, {word}",
                n,
                theirs,
                _watched(n, n // start, HALF, declared=False),
                _watched(n, n // start, HALF, declared=True),
                _watched(n, n // start, HIGH, declared=True),
            )


def _watched(n: int, registered: int, mean: Fraction, declared: bool) -> float:
    book = SurpriseBook(BETA)
    book.register("metric", registered, share=Fraction(1) if declared else None)
    within = Fraction(1, 2 * n) if declared else None
    return float(book.ask("metric", int(mean * n), n, within=within).interval.half_width)


def guess_and_check() -> Iterator[Row]:
    """200 guesses within 0.015, some wrong by three cells. Declared: equal shares, one round."""
    for wrong in (0, 2, 10):
        for n in SIZES:
            yield Row(
                f"200 guesses, {wrong} % wrong, Guess and Check",
                n,
                _checked(n, 200, wrong, 0.015),
                _guessed(n, 200, wrong, HALF, "both"),
                _guessed(n, 200, wrong, HALF, "once"),
                _guessed(n, 200, wrong, HIGH, "once"),
            )


def _is_wrong(i: int, wrong: int) -> bool:
    """Evenly spread."""
    return (i + 1) * wrong // 100 > i * wrong // 100


def _guessed(n: int, questions: int, wrong: int, mean: Fraction, rounds: Rounds) -> float:
    book, within, x = SurpriseBook(BETA), Fraction(15, 1000), mean
    for i in range(questions):
        if rounds == "once":
            book.register(i, n, rounds="once", share=Fraction(1, questions))
        expect = x - 6 * within if _is_wrong(i, wrong) else x
        found = book.ask(i, int(x * n), n, expect=expect, within=within)
    return float(found.interval.half_width)


def _checked(n: int, questions: int, wrong: int, within: float) -> float:
    """The least alpha at which all are answered and right guesses are confirmed to the end."""

    def tolerance(asked: int, failed: int, revealed: float) -> float:
        ways = gammaln(asked + 1) - gammaln(failed + 1) - gammaln(asked - failed + 1)
        series = 2 * math.log(math.pi**2 / 6)
        weights = 2 * math.log(asked - failed + 1) + 2 * math.log(failed + 1)
        return math.sqrt((math.log(2 / BETA) + ways + revealed + series + weights) / (2 * n))

    def suffices(alpha: float) -> bool:
        failed, revealed = 0, 0.0
        for i in range(questions):
            slack = alpha - tolerance(i, failed, revealed)
            if slack < within:
                return False
            if _is_wrong(i, wrong):
                failed, revealed = failed + 1, revealed + math.log(math.ceil(1 / (2 * slack)))
        return True

    low, high = 0.0, 2.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def verdicts() -> Iterator[Row]:
    """How many pass-or-not verdicts within 0.05, each of weight 1/2.

    Theirs is Hoeffding's one-sided bound at beta / 2^H. Declared: the i-th claim has the share
    2^(i-1) / 2^H, so that all have that level, and one side. Defaults: default shares, `once`.
    """
    gap = Fraction(1, 20)
    for n in SIZES:
        theirs = math.floor((2 * n * float(gap) ** 2 - math.log(1 / BETA)) / math.log(2))
        yield Row(
            "verdicts within 0.05, ease.ml/ci",
            n,
            max(theirs, 0),
            _default_verdicts(n, HALF, gap),
            _verdicts(n, HALF, gap),
            _verdicts(n, HIGH, gap),
            more_is_better=True,
        )


def _verdicts(n: int, mean: Fraction, gap: Fraction) -> int:
    """The most H at which both sides are decided if the mean is that far from the threshold."""
    count = 0
    while _decides(n, mean, gap, Level(2 ** (count + 1) / BETA, 0)):
        count += 1
    return count


def _default_verdicts(n: int, mean: Fraction, gap: Fraction) -> int:
    shares, spent, count = Shares(), 0, 0
    while True:
        share, shares = shares.default()
        if not _decides(n, mean, gap, Level(1 / (BETA * share), spent)):
            return count
        count, spent = count + 1, spent + price(HALF)


def _decides(n: int, mean: Fraction, gap: Fraction, level: Level) -> bool:
    return rejects(BinomialTail(math.ceil(mean * n), n), mean - gap, level)


def ladder() -> Iterator[Row]:
    """1,000 submissions, every hundredth from the first on the best so far; the last best's width.

    Declared: at most ten bests, any of them equally likely, which gives the doubt of each question;
    ``expect="not better"``, whose menu does not say by how much; one claim, about the last best,
    registered in the end. Or a doubt of 1/100 for each and ``expect="no"``, whose menu also has by
    how many steps it is better (one). Defaults: that menu with learned doubts, and
    each best is asked about when it is found.
    """
    for n in SIZES:
        step = ladder_step(n, 1_000, float(BETA))
        theirs = min(ladder_width(n, 1_000, float(BETA), step), 1.0)
        for word, spent in (("", _ten_of_a_thousand()), (", with steps", _with_steps())):
            yield Row(
                f"1,000 submissions, 10 bests, Ladder{word}",
                n,
                theirs,
                _climbed(n, HALF) if not word else None,
                *(
                    float(forecast_interval(mean, n, Level(2 / BETA, spent)).half_width)
                    for mean in (HALF, HIGH)
                ),
            )


def _ten_of_a_thousand() -> int:
    """The price of 999 questions that expect "not better", of which nine come out otherwise.

    The doubt of each is the share of the ways in which up to nine of them can be better, given
    those before, that have this one; or a millionth, once there are nine.
    """
    spent, left = 0, 9
    for i in range(1, 1_000):
        ways = [sum(math.comb(999 - i, j) for j in range(bests + 1)) for bests in (left, left - 1)]
        doubt = max(Fraction(ways[1], sum(ways)), Fraction(1, 10**6))
        is_better = i % 100 == 0
        spent += price(ImprovementMenu(STEP, doubt, only_better=True).weight(int(is_better)))
        left -= is_better
    return spent


def _with_steps() -> int:
    menu = ImprovementMenu(STEP, Fraction(1, 100))
    return 990 * price(menu.weight(0)) + 9 * price(menu.weight(1))


def _climbed(n: int, mean: Fraction) -> float:
    book, improvements = SurpriseBook(BETA), 0
    for i in range(1_000):
        is_better = i % 100 == 0
        if i:
            doubt = learned_doubt(i - 1, improvements)
            book.charge(price(ImprovementMenu(STEP, doubt).weight(int(is_better))))
            improvements += is_better
        if is_better:
            found = book.ask(i, int(mean * n), n)
    return float(found.interval.half_width)


def splitting() -> Iterator[Row]:
    """K plain questions. Declared: K disjoint blocks of equal weight (u = 1/K), one claim each.

    Theirs is Hoeffding's bound at beta / K on n / K records. With defaults all records are used.
    """
    for questions in (2, 5, 10, 20):
        for n in SIZES:
            records = n // questions
            theirs = math.sqrt(math.log(2 * questions / BETA) / (2 * records))
            level = Level(Fraction(2 * questions) / BETA, 0)
            both = [forecast_interval(mean, records, level) for mean in (HALF, HIGH)]
            yield Row(
                f"{questions} questions, splitting",
                n,
                theirs,
                _plain(n, questions, HALF),
                *(float(found.half_width) for found in both),
            )


def _plain(n: int, questions: int, mean: Fraction) -> float:
    book = SurpriseBook(BETA)
    for name in range(questions):
        found = book.ask(name, int(mean * n), n)
    return float(found.interval.half_width)


CASES: dict[str, Callable[[], Iterator[Row]]] = {
    case.__name__: case
    for case in (union_bound, confidence_sequence, guess_and_check, verdicts, ladder, splitting)
}


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"


def main(chosen: list[str]) -> None:
    print(
        f"      {'case':<46} {'n':>7} {'theirs':>10} {'defaults':>10} {'declared':>10} "
        f"{'at .85':>10}"
    )
    for name in chosen or CASES:
        for row in CASES[name]():
            print(row.line(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
