"""plan() and compare(): the inverse problems, in the user's words."""

from __future__ import annotations

from typing import Required, TypedDict, Unpack

from surehold.errors import NotApplicable, Unreachable
from surehold.planning.comparison import ComparisonRow
from surehold.planning.plans import COVERS, Paces, Plan, budget_for
from surehold.planning.problem import Problem, Solution, gain, objection, solve
from surehold.planning.rendering import advice, assumptions
from surehold.theory.certificates import CERTIFICATES, Certificate, Growing, get
from surehold.theory.certificates.sharp import RareSharp


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
    if rare is not None:
        solution = _solve_rare(problem, certificate, rare)
    else:
        solution = (
            _solve_tightest(problem) if certificate is None else _solve_named(problem, certificate)
        )
    return _to_plan(problem, solution, rare, covers)


def compare(**question: Unpack[Question]) -> tuple[ComparisonRow, ...]:
    """The question of :func:`plan`, with the same arguments, put to every certificate.

    >>> [(r.certificate, r.queries) for r in compare(n0=10**5, n=10**5, alpha=0.1, beta=0.05)][:2]
    [('sharp', 6804), ('ours-n', 245)]
    """
    problem = Problem.of(**question)
    return tuple(_compare_one(problem, certificate) for certificate in CERTIFICATES.values())


def _compare_one(problem: Problem, certificate: Certificate) -> ComparisonRow:
    described = (
        certificate.name,
        certificate.theorem,
        certificate.summary,
        certificate.mechanism,
        certificate.is_prompt,
        problem.unknown,
    )
    reason = objection(problem, certificate)
    if reason is not None:
        return ComparisonRow(*described, reason=reason)
    try:
        solution = solve(problem, certificate)
    except Unreachable as error:
        return ComparisonRow(*described, reason=str(error))
    width = solution.width
    return ComparisonRow(
        *described,
        reason=None,
        queries=solution.queries,
        width=width.value,
        n0=solution.setting.n0,
        n=solution.setting.n,
        sigma=width.sigma,
        terms=dict(width.terms),
        constants=dict(width.constants),
        paces=_paces(solution),
    )


def _solve_named(problem: Problem, name: str) -> Solution:
    certificate = get(name)
    reason = objection(problem, certificate)
    if reason is not None:
        raise NotApplicable(name, reason)
    return solve(problem, certificate)


def _solve_rare(problem: Problem, name: str | None, rare: float) -> Solution:
    if name not in (None, "sharp"):
        raise NotApplicable(str(name), "only 'sharp' has an interval for rare events")
    reason = objection(problem, RareSharp(rare))
    if reason is not None:
        raise NotApplicable("sharp, rare", reason)
    return solve(problem, RareSharp(rare))


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
