"""The sentences of a plan: its assumptions, and when something else would serve better."""

from __future__ import annotations

from dataclasses import replace

from surehold.checks import LARGEST_COUNT
from surehold.errors import NotApplicable, Unreachable
from surehold.formatting import several, width
from surehold.planning.problem import Problem, Solution, gain, solve
from surehold.planning.surprise import SurpriseGuard, create_command
from surehold.theory.certificates import Batches, Certificate, Growing
from surehold.theory.certificates.sharp import RareSharp

INDEPENDENT = (
    "records are independent draws from one population, and when they arrive does not depend on "
    "what they hold"
)

# Below this gain another way of asking is not worth a sentence.
_WORTH_SAYING = 1.1


def assumptions(solution: Solution) -> tuple[str, ...]:
    """What the guarantee rests on."""
    common = [
        INDEPENDENT,
        "the analyst learns of the records only through the answers",
        "every query is a mean of bounded values of the records, or moves by a proven amount when "
        "one of them is replaced",
    ]
    if solution.certificate.mechanism == "split":
        common.append("every query is answered once, from records that no other query uses")
    else:
        common.append("the noise is Gaussian, independent and secret, and answers are clipped")
    if solution.certificate.mechanism.endswith("batch"):
        common.append(
            "every batch of queries is answered from the records new at its round only, with noise "
            "of its own (sigma and the constants are those of the widest batch)"
        )
    if isinstance(solution.setting, Batches):
        common.append("the rounds and the number of queries in each are fixed before the first")
    elif solution.certificate.mechanism != "split":
        common.append("a filter refuses any query that would exceed a record's budget")
    return tuple(common)


def advice(problem: Problem, solution: Solution) -> tuple[str, ...]:
    """Where the other guard or waiting for the data would give more."""
    said = [
        _about_the_cap(problem, solution),
        _about_the_other_guard(problem, solution),
        _about_late_answers(solution),
        _about_waiting(problem, solution),
        _about_the_horizon(problem, solution),
    ]
    if solution.certificate.mechanism != "gaussian":
        said.append("This plan is for comparison: datasets run plans of the other certificates.")
    if solution.width.value >= 0.5:
        said.append("A width of ±0.5 or more says little about a value between 0 and 1.")
    if solution.queries >= LARGEST_COUNT:
        said.append("More may fit: Surehold counts up to 10^18 queries.")
    if problem.beta > 0.5:
        said.append(
            f"beta is the probability of a miss, here {problem.beta:g}. "
            f"Did you mean {1 - problem.beta:.4g}?"
        )
    return tuple(sentence for sentence in said if sentence)


def _about_the_cap(problem: Problem, solution: Solution) -> str | None:
    """An adaptive plan grants all of its queries only at n."""
    setting, queries = solution.setting, solution.queries
    if problem.unknown == "queries" or not isinstance(setting, Growing) or setting.n0 == setting.n:
        return None
    if solution.certificate.mechanism == "split":
        return None
    evenly = -(-queries * setting.n // setting.n0)
    early = -(-queries * setting.n**2 // setting.n0**2)
    return (
        f"{several(queries, 'query')} fit if they are asked once all {setting.n:,} records are "
        f"there. To ask as many evenly as the data grows, plan for {evenly:,}; "
        f"at any time, for {early:,}."
    )


def _about_the_other_guard(problem: Problem, solution: Solution) -> str | None:
    other = _solved(problem, SurpriseGuard())
    # A plan for rare events has another width for each value: there is no one to compare.
    if other is None or isinstance(solution.certificate, RareSharp):
        return None
    if gain(problem, solution, other) < _WORTH_SAYING:
        return None
    return (
        f"The surprise guard would give {_describe(problem, other)} instead of "
        f"{_describe(problem, solution)}, without noise, if each fraction is asked with a guess "
        f"and at most a tenth surprise: {create_command(problem.beta, other.queries)}"
    )


def _about_late_answers(solution: Solution) -> str | None:
    setting = solution.setting
    asks_at_the_end = isinstance(setting, Batches) and setting.b == 1
    if solution.certificate.is_prompt or setting.n0 == setting.n or asks_at_the_end:
        return None
    return "With split data an answer may have to wait until enough new records have arrived."


def _about_the_horizon(problem: Problem, solution: Solution) -> str | None:
    """What planning for more than n records would cost: little."""
    setting, n = solution.setting, 10 * solution.setting.n
    if problem.unknown != "queries" or not isinstance(setting, Growing) or setting.n0 == setting.n:
        return None
    if not solution.certificate.is_prompt or n > LARGEST_COUNT:
        return None
    other = _solved(replace(problem, setting=replace(setting, n=n)), solution.certificate)
    if other is None:
        return None
    early, evenly = (
        [found.queries * setting.n0**power // found.setting.n**power for found in (other, solution)]
        for power in (2, 1)
    )
    if not early[0]:
        return None
    return (
        f"A further horizon costs little: ten times as far, to n = {n:,}, "
        f"{several(early[0], 'query')} instead of {early[1]:,} would fit at n0, and "
        f"{evenly[0]:,} instead of {evenly[1]:,} evenly."
    )


def _about_waiting(problem: Problem, solution: Solution) -> str | None:
    waiting = problem.waiting()
    if waiting is None or problem.unknown == "records" or not solution.certificate.is_prompt:
        return None
    other = _solved(waiting, solution.certificate)
    if other is None or gain(problem, solution, other) < _WORTH_SAYING:
        return None
    return (
        f"Waiting until all {problem.setting.n:,} records are there and asking everything then "
        f"would give {_describe(problem, other)} instead of {_describe(problem, solution)}."
    )


def _solved(problem: Problem, certificate: Certificate) -> Solution | None:
    try:
        return solve(problem, certificate)
    except (NotApplicable, Unreachable):
        return None


def _describe(problem: Problem, solution: Solution) -> str:
    if problem.unknown == "queries":
        return several(solution.queries, "query")
    if problem.unknown == "width":
        return f"a width of ±{width(solution.width.value)}"
    return f"{solution.setting.n:,} records"
