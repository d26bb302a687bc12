"""What a plan says in plain words: its assumptions, and when something else would serve better."""

from __future__ import annotations

from holdfast.errors import Unreachable
from holdfast.numerals import width
from holdfast.planning.problem import Problem, Solution, gain, solve
from holdfast.theory.certificates import Batches, get

# Below this gain another way of asking is not worth a sentence.
_WORTH_SAYING = 1.1


def assumptions(solution: Solution) -> tuple[str, ...]:
    """What the guarantee rests on."""
    common = [
        "records are independent draws from one population, and when they arrive does not depend "
        "on what they hold",
        "the analyst learns of the records only through the answers",
        "every query has a value in [0, 1] for each record",
    ]
    if solution.certificate.mechanism == "split":
        common.append("every query is answered once, from records that no other query uses")
    else:
        common.append("the noise is Gaussian, independent and secret, and answers are clipped")
    if solution.certificate.mechanism.endswith("batch"):
        common.append("every batch of queries is answered from the records new at its round only")
    if isinstance(solution.setting, Batches):
        common.append("the rounds and the number of queries in each are fixed before the first")
    else:
        common.append("a filter refuses any query that would exceed a record's budget")
    return tuple(common)


def advice(problem: Problem, solution: Solution) -> tuple[str, ...]:
    """Where splitting the data or waiting for it would give more."""
    said = [_about_splitting(problem, solution), _about_waiting(problem, solution)]
    if solution.width.value >= 0.5:
        said.append("A width of ±0.5 or more says little about a value between 0 and 1.")
    return tuple(sentence for sentence in said if sentence)


def _about_splitting(problem: Problem, solution: Solution) -> str | None:
    if not solution.certificate.is_prompt:
        return "With split data an answer may have to wait until enough new records have arrived."
    try:
        other = solve(problem, get("split"))
    except Unreachable:
        return None
    if gain(problem, solution, other) <= 1.0:
        return None
    return (
        f"Splitting the data, fresh records for every query, would give {_shown(problem, other)} "
        f"instead of {_shown(problem, solution)}; answers may have to wait for their records."
    )


def _about_waiting(problem: Problem, solution: Solution) -> str | None:
    setting = solution.setting
    if not isinstance(setting, Batches) or setting.b == 1 or setting.n0 == setting.n:
        return None
    if problem.unknown == "records" or not solution.certificate.is_prompt:
        return None
    waiting = Problem(
        problem.unknown,
        Batches(setting.n0, setting.n, b=1),
        problem.beta,
        problem.alpha,
        problem.queries,
        problem.growth,
    )
    try:
        other = solve(waiting, solution.certificate)
    except Unreachable:
        return None
    if gain(problem, solution, other) < _WORTH_SAYING:
        return None
    return (
        f"Waiting until all {setting.n:,} records are there and asking everything then would give "
        f"{_shown(problem, other)} instead of {_shown(problem, solution)}."
    )


def _shown(problem: Problem, solution: Solution) -> str:
    if problem.unknown == "queries":
        return f"{solution.queries:,} queries"
    if problem.unknown == "width":
        return f"a width of ±{width(solution.width.value)}"
    return f"{solution.setting.n:,} records"
