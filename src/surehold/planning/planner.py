"""plan() and compare(): the inverse problems, in the user's words."""

from __future__ import annotations

from dataclasses import replace
from typing import Required, TypedDict, Unpack

from surehold.errors import InvalidInput, NotApplicable, Unreachable
from surehold.planning.plans import COVERS, ComparisonRow, Paces, Plan, budget_for
from surehold.planning.problem import Problem, Solution, gain, solve
from surehold.planning.rendering import advice, assumptions
from surehold.planning.surprise import SurpriseGuard, create_command
from surehold.theory.certificates import CERTIFICATES, Certificate, Growing, get
from surehold.theory.certificates.sharp import RareSharp
from surehold.theory.surprise.shares import EXPECTED_CLAIMS


class Question(TypedDict, total=False):
    """The arguments that :func:`plan` and :func:`compare` share."""

    beta: Required[float]
    alpha: float | None
    queries: int | None
    n0: int | None
    n: int | None
    growth: float | None
    batches: int | None
    covers: str


def plan(
    *,
    beta: float,
    alpha: float | None = None,
    queries: int | None = None,
    n0: int | None = None,
    n: int | None = None,
    growth: float | None = None,
    batches: int | None = None,
    covers: str = COVERS[0],
    certificate: str | None = None,
    rare: float | None = None,
) -> Plan:
    """Solve for the one that is left out of alpha, queries and the records (n0 and n).

    Without ``batches`` the analyst decides as they go when to ask, and ``queries`` is the cap on
    answers, reached by asking late; the plan's ``paces`` say how many fit earlier. To solve for the
    records say how far they will grow, ``growth`` = n / n0. The default certificate is the tightest
    that holds for the setting and answers at once.

    ``rare``, a probability such as 0.01, fixes that answers report the lopsided interval of the
    sharp theorem's part (b) instead of one width: narrowest for events about as rare as that, or
    as near-certain, wider for even ones. ``alpha`` is then the width of an answer near ``rare``.

    ``covers="low-sensitivity"`` covers statistics that are not means over records, and selections,
    under the paper's certificates too (Theorem 3.6); `sharp` covers them anyway.

    >>> plan(n0=500_000, n=1_500_000, alpha=0.1, beta=0.05).paces
    Paces(at_n0=99147, evenly=297441, at_n=892324)
    >>> round(plan(n0=10_000, n=10_000, queries=50, beta=0.05, batches=1).width, 4)
    0.0806
    """
    problem = Problem.of(
        beta=beta,
        alpha=alpha,
        queries=queries,
        n0=n0,
        n=n,
        growth=growth,
        batches=batches,
        covers=covers,
    )
    if certificate is None and rare is None:
        solution = _solve_tightest(problem)
    else:
        solution = solve(problem, _get(problem, certificate or "sharp", rare))
    return _to_plan(problem, solution, rare, covers)


def compare(
    *, surprises: int | None = None, **question: Unpack[Question]
) -> tuple[ComparisonRow, ...]:
    """The question of :func:`plan`, with the same arguments, put to every certificate.

    The last row is the surprise guard's: a forecast for fractions near 1/2, all asked at n with a
    guess, of which at most ``surprises`` are wrong (a tenth, unless you say).

    >>> [(r.certificate, r.queries) for r in compare(n0=10**5, n=10**5, alpha=0.1, beta=0.05)][:2]
    [('sharp', 6804), ('ours-n', 245)]
    """
    problem = Problem.of(**question)
    others = (*CERTIFICATES.values(), SurpriseGuard(surprises=surprises))
    return tuple(_compare_one(problem, certificate) for certificate in others)


def _compare_one(problem: Problem, certificate: Certificate) -> ComparisonRow:
    row = ComparisonRow(
        certificate.name,
        certificate.theorem,
        certificate.summary,
        certificate.mechanism,
        certificate.is_prompt,
        problem.unknown,
        reason=None,
    )
    try:
        solution = solve(problem, certificate)
    except NotApplicable as error:
        return replace(row, reason=error.reason)
    except Unreachable as error:
        return replace(row, reason=str(error))
    width = solution.width
    return replace(
        row,
        queries=solution.queries,
        width=width.value,
        n0=solution.setting.n0,
        n=solution.setting.n,
        sigma=width.sigma,
        terms=dict(width.terms),
        constants=dict(width.constants),
        paces=_paces(solution),
    )


def _get(problem: Problem, name: str, rare: float | None) -> Certificate:
    if name == SurpriseGuard.name:
        command = create_command(problem.beta, problem.queries or EXPECTED_CLAIMS)
        required = f"one of {', '.join(CERTIFICATES)}"
        raise InvalidInput("certificate", required, name, f"that guard needs no plan: {command}")
    if rare is None:
        return get(name)
    if name != "sharp":
        raise NotApplicable(str(name), "only 'sharp' has an interval for rare events")
    return RareSharp(rare)


def _solve_tightest(problem: Problem) -> Solution:
    """Sharp is tightest wherever we know; solve with it, then let the others try to beat it."""
    best = solve(problem, CERTIFICATES["sharp"])
    design = best.setting.at(best.queries)
    for certificate in CERTIFICATES.values():
        if not certificate.is_prompt or certificate.objection(design) is not None:
            continue
        if certificate.width(design, problem.beta).value < best.width.value:
            other = solve(problem, certificate)
            best = other if gain(problem, best, other) > 1.0 else best
    return best


def _paces(solution: Solution) -> Paces | None:
    """What the budget of an adaptive plan admits; None for other plans."""
    setting, most = solution.setting, solution.queries
    if not isinstance(setting, Growing) or solution.width.sigma is None:
        return None
    evenly = most * setting.n0 // setting.n
    return Paces(at_n0=most * setting.n0**2 // setting.n**2, evenly=evenly, at_n=most)


def _to_plan(problem: Problem, solution: Solution, rare: float | None, covers: str) -> Plan:
    setting, width = solution.setting, solution.width
    budget = max_queries = None
    if isinstance(setting, Growing) and width.sigma is not None:
        max_queries = solution.queries
        budget = budget_for(max_queries, setting.n, width.sigma)
    return Plan(
        certificate=solution.certificate.name,
        theorem=_theorem(solution.certificate, covers),
        solved_for=problem.unknown,
        n0=setting.n0,
        n=setting.n,
        beta=problem.beta,
        alpha=problem.alpha,
        queries=solution.queries,
        width=width.value,
        sigma=width.sigma,
        terms=dict(width.terms),
        constants=dict(width.constants),
        batches=None if isinstance(setting, Growing) else setting.b,
        budget=budget,
        max_queries=max_queries,
        paces=_paces(solution),
        assumptions=assumptions(solution),
        advice=advice(problem, solution),
        rare=rare,
        covers=covers,
    )


def _theorem(certificate: Certificate, covers: str) -> str:
    """Which theorem it is, and on what the paper's rests for queries that are not means."""
    if covers == COVERS[0] or certificate.name == "sharp":
        return certificate.theorem
    return f"{certificate.theorem}, with Theorem 3.6"
