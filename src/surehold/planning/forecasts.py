"""forecast(): how wide answers will be under either guard, and which one to take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from surehold import formatting
from surehold.checks import (
    LARGEST_COUNT,
    check_beta,
    check_count,
    check_growth,
    check_number,
    check_whole,
)
from surehold.display import Shown
from surehold.errors import Unreachable
from surehold.formatting import several
from surehold.planning.planner import plan
from surehold.planning.plans import Plan
from surehold.planning.rendering import INDEPENDENT
from surehold.planning.surprise import (
    SurpriseGuard,
    answer_width,
    create_command,
    series_level,
    usual_surprises,
)
from surehold.theory.settings import Batches
from surehold.theory.surprise.forecasts import forecast_series
from surehold.theory.surprise.levels import LARGEST_BETA
from surehold.theory.surprise.shares import LARGEST_CLAIMS, Shares

MEANS = (Fraction(1, 2), Fraction(17, 20))

# Plain numbers are added up one by one. From a few hundred on they belong to the noise guard.
_MOST_PLAIN = 1_000

_SAYS_LITTLE = 0.4

_ASSUMPTIONS = (
    INDEPENDENT,
    "the questions are fractions, each claimed when it is asked, and all are asked when there are "
    "as many records as shown",
    "under the surprise guard each question has a guess, and a surprise lies one cell beside it",
)


@dataclass(frozen=True)
class ForecastRow(Shown):
    """The half-widths at one size and, for the surprise guard, at one observed mean.

    ``noise`` is that of every answer under a plan that allows all questions at that size; None if
    no plan does. ``first`` and ``last`` are those of the first and the last question under the
    surprise guard, and ``plain`` of the last one if nobody guesses (None above 1,000 questions).
    """

    records: int
    mean: float
    noise: float | None
    first: float
    last: float
    plain: float | None
    display: Mapping[str, str] = field(init=False, compare=False, repr=False)

    def _display(self) -> dict[str, str]:
        names = ("noise", "first", "last", "plain")
        found = {name: getattr(self, name) for name in names}
        return {name: "—" if width is None else _shown(width) for name, width in found.items()}


@dataclass(frozen=True)
class Forecast(Shown):
    """Widths under both guards, the recommended one, and the commands that create a dataset so.

    ``guard`` is the one that is narrower for the last question at mean 1/2, where the data is
    smallest. NAME and FILE in ``commands`` stand for the dataset's folder and a sample file.
    """

    kind: Literal["forecast"] = field(default="forecast", init=False)
    n0: int
    n: int
    beta: float
    questions: int
    surprises: int
    guard: Literal["noise", "surprise"]
    reason: str
    commands: tuple[str, ...]
    widths: tuple[ForecastRow, ...]
    assumptions: tuple[str, ...] = _ASSUMPTIONS
    display: Mapping[str, str] = field(init=False, compare=False, repr=False)

    def plan(self) -> Plan:
        """Return the plan of the noise guard that allows all questions from the start."""
        return _noise_plan(self.n0, self.n0, self.n, self.beta, self.questions)

    def __str__(self) -> str:
        row = self.widths[0]
        return (
            f"{several(self.questions, 'question')} at {several(row.records, 'record')}: "
            f"{row.display['last']} for the last under the surprise guard, {row.display['noise']} "
            f"for each under the noise guard; take the {self.guard} guard"
        )

    def _display(self) -> dict[str, str]:
        return {**self.widths[0].display, "probability": formatting.percent(self.beta)}


def forecast(
    *, beta: float, questions: int, n0: int, n: int | None = None, surprises: int | None = None
) -> Forecast:
    """Forecast the widths of a series of questions under both guards, and recommend one.

    ``surprises`` is how many answers at most lie outside the guesses given with the questions: a
    tenth of them, rounded up, unless you say. Leave out ``n`` if the data does not grow.

    >>> found = forecast(beta=0.05, questions=200, surprises=10, n0=2_000)
    >>> found.guard, found.widths[0].display["last"], found.widths[0].display["noise"]
    ('surprise', '± 0.1333', '± 0.2668')
    >>> found.commands
    ('surehold create NAME --beta 0.05 --claims 200 --like FILE',)
    """
    beta = check_beta(beta, "write 0.05 for 5%")
    check_number("beta", beta, "at most 0.5, to compare the guards", lambda x: x <= LARGEST_BETA)
    questions = check_count("questions", questions, LARGEST_CLAIMS)
    n0, n = check_growth(n0, n0 if n is None else n)
    if surprises is None:
        surprises = usual_surprises(questions)
    surprises = check_whole("surprises", surprises, 0, questions)
    rows = tuple(
        row
        for t in sorted({n0, n})
        for row in _rows(t, _noise_width(t, n0, n, beta, questions), beta, questions, surprises)
    )
    widest = rows[0]
    guard: Literal["noise", "surprise"] = (
        "surprise" if widest.noise is None or widest.last <= widest.noise else "noise"
    )
    return Forecast(
        n0=n0,
        n=n,
        beta=beta,
        questions=questions,
        surprises=surprises,
        guard=guard,
        reason=_reason(guard, *rows[: len(MEANS)], questions=questions, surprises=surprises),
        commands=_commands(guard, n0, n, beta, questions),
        widths=rows,
    )


def _rows(
    t: int, noise: float | None, beta: float, questions: int, surprises: int
) -> list[ForecastRow]:
    first = series_level(beta, 1, questions, 0)
    plain = None
    if questions <= _MOST_PLAIN:
        series = forecast_series(t, Fraction(repr(beta)), questions, shares=Shares(questions))
        *_, plain = series
    design = Batches(t, t).at(questions)
    return [
        ForecastRow(
            records=t,
            mean=float(mean),
            noise=noise,
            first=answer_width(mean, t, first)[0],
            last=min(SurpriseGuard(mean, surprises).width(design, beta).value, 0.5),
            plain=None if plain is None else answer_width(mean, t, plain.level)[0],
        )
        for mean in MEANS
    ]


def _noise_width(t: int, n0: int, n: int, beta: float, questions: int) -> float | None:
    """The width of a plan whose budget allows all questions at t; None if there is none."""
    if _planned(t, n, questions) > LARGEST_COUNT:
        return None
    try:
        return _noise_plan(t, n0, n, beta, questions).width
    except Unreachable:
        return None


def _noise_plan(t: int, n0: int, n: int, beta: float, questions: int) -> Plan:
    queries, batches = _planned(t, n, questions), 1 if n0 == n else None
    return plan(n0=n0, n=n, queries=queries, beta=beta, batches=batches)


def _planned(t: int, n: int, questions: int) -> int:
    """The queries to plan for: one at t costs as much as (n/t)^2 at n."""
    return -(-questions * n * n // (t * t))


def _commands(guard: str, n0: int, n: int, beta: float, questions: int) -> tuple[str, ...]:
    if guard == "surprise":
        return (create_command(beta, questions),)
    size = f"--static {n}" if n0 == n else f"--n0 {n0} --n {n}"
    queries = f"--queries {_planned(n0, n, questions)}"
    return (
        f"surehold plan {size} {queries} --beta {beta!r} --json > plan.json",
        "surehold create NAME --plan plan.json --like FILE",
    )


def _reason(
    guard: str, even: ForecastRow, likely: ForecastRow, *, questions: int, surprises: int
) -> str:
    shown, other = even.display, likely.display
    asked = f"{several(questions, 'question')} at {several(even.records, 'record')}"
    last = f"the last of {asked}" if questions > 1 else "the answer"
    series = (
        f"{last}, with at most {several(surprises, 'surprise')}, would be "
        f"{shown['last']} at a mean of 0.5 and {other['last']} at 0.85"
    )
    if even.noise is None:
        said = f"No plan answers {asked} under the noise guard; under the surprise guard {series}."
        more = " That says little: ask fewer questions, or collect more records first."
        return said if even.last < _SAYS_LITTLE else said + more
    if guard == "noise":
        said = f"Every answer would be {shown['noise']}; under the surprise guard {series}."
        if likely.last < even.noise:
            said += " If most means are near 0 or 1, take the surprise guard."
        return said
    said = f"{series[0].upper()}{series[1:]}; under the noise guard every answer would be "
    said += f"{shown['noise']}."
    if even.plain is None or even.plain > even.noise:
        plain = "" if even.plain is None else f", as the last would be {shown['plain']} otherwise"
        said += f" If nobody can guess the answers, take the noise guard{plain}."
    return said


def _shown(width: float) -> str:
    return f"± {formatting.width(width)}"
