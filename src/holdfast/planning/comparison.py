"""All certificates side by side on one question."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from holdfast.errors import Unreachable
from holdfast.planning.plans import Unknown
from holdfast.planning.problem import Problem, objection, solve
from holdfast.theory.certificates import CERTIFICATES, Certificate


@dataclass(frozen=True)
class Entry:
    """What one certificate gives; ``reason`` says why, where it gives nothing."""

    certificate: str
    theorem: str
    summary: str
    mechanism: str
    is_prompt: bool
    solved_for: Unknown
    reason: str | None
    queries: int | None = None
    width: float | None = None
    n0: int | None = None
    n: int | None = None
    sigma: float | None = None
    terms: dict[str, float] | None = None
    constants: dict[str, float] | None = None

    @property
    def is_useful(self) -> bool:
        """Whether there is a result."""
        return self.reason is None

    @property
    def result(self) -> float:
        """The number that was asked for; 0 where there is none."""
        found = {"queries": self.queries, "width": self.width, "records": self.n}[self.solved_for]
        return float(found or 0)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON has them."""
        return asdict(self)


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
