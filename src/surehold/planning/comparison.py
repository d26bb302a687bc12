"""All certificates side by side on one question."""

from __future__ import annotations

from surehold.errors import Unreachable
from surehold.planning.entry import Entry
from surehold.planning.problem import Problem, objection, solve
from surehold.theory.certificates import CERTIFICATES, Certificate


def comparison(problem: Problem) -> tuple[Entry, ...]:
    """One entry for each certificate, in the order of the registry."""
    return tuple(_entry(problem, certificate) for certificate in CERTIFICATES.values())


def _entry(problem: Problem, certificate: Certificate) -> Entry:
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
        return Entry(*described, reason=reason)
    try:
        solution = solve(problem, certificate)
    except Unreachable as error:
        return Entry(*described, reason=str(error))
    width = solution.width
    return Entry(
        *described,
        reason=None,
        queries=solution.queries,
        width=width.value,
        n0=solution.setting.n0,
        n=solution.setting.n,
        sigma=width.sigma,
        terms=dict(width.terms),
        constants=dict(width.constants),
    )
