"""plan(): the inverse problems in the user's words, and the frozen Plan they end in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Required, TypedDict

from holdfast.errors import InvalidInput, NotApplicable
from holdfast.planning.comparison import Entry, comparison
from holdfast.planning.problem import Problem, Solution, Unknown, gain, objection, solve
from holdfast.planning.words import advice, assumptions
from holdfast.theory.certificates import CERTIFICATES, Growing, get

_FORMAT = 1


@dataclass(frozen=True)
class Paces:
    """How many queries the budget of an adaptive plan admits, by when they are asked."""

    at_n0: int
    evenly: int
    at_n: int


@dataclass(frozen=True)
class Plan:
    """A solved design, fixed before the first answer.

    Up to ``queries`` answers, each with half-width ``width``, hold together with probability
    1 - beta while the data grows from n0 to n records. ``batches`` is None for an adaptive plan,
    which has a ``budget`` (the most mu^2 that any record may be charged), the cap ``max_queries``
    that follows from it, and the ``paces``.
    """

    certificate: str
    theorem: str
    solved_for: Unknown
    n0: int
    n: int
    beta: float
    alpha: float | None
    queries: int
    width: float
    sigma: float | None
    terms: dict[str, float]
    constants: dict[str, float]
    batches: int | None
    budget: float | None
    max_queries: int | None
    paces: Paces | None
    assumptions: tuple[str, ...]
    advice: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON has them; :meth:`from_dict` reads them back."""
        values = asdict(self)
        values["assumptions"] = list(self.assumptions)
        values["advice"] = list(self.advice)
        return {"format": _FORMAT, **values}

    def to_json(self) -> str:
        """One JSON object, strictly valid."""
        return json.dumps(self.to_dict(), allow_nan=False, ensure_ascii=False, indent=2)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Plan:
        """The plan that :meth:`to_dict` wrote; other keys, a comparison say, are passed over."""
        if values.get("format") != _FORMAT:
            raise InvalidInput("plan format", f"{_FORMAT}", values.get("format"))
        missing = [field.name for field in fields(cls) if field.name not in values]
        if missing:
            raise InvalidInput("plan", f"complete, with {', '.join(missing)}", sorted(values))
        kept = {field.name: values[field.name] for field in fields(cls)}
        if kept["paces"] is not None:
            kept["paces"] = Paces(**kept["paces"])
        kept["assumptions"] = tuple(kept["assumptions"])
        kept["advice"] = tuple(kept["advice"])
        return cls(**kept)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The plan that :meth:`to_json` wrote."""
        try:
            values = json.loads(text)
        except json.JSONDecodeError as error:
            raise InvalidInput("plan", "one JSON object", f"text with {error}") from error
        if not isinstance(values, dict):
            raise InvalidInput("plan", "one JSON object", type(values).__name__)
        return cls.from_dict(values)


class Question(TypedDict, total=False):
    """The arguments that :func:`plan` and :func:`compare` share."""

    beta: Required[float]
    alpha: float | None
    queries: int | None
    n0: int | None
    n: int | None
    growth: float | None
    batches: int | None


def plan(
    *,
    beta: float,
    alpha: float | None = None,
    queries: int | None = None,
    n0: int | None = None,
    n: int | None = None,
    growth: float | None = None,
    batches: int | None = None,
    certificate: str | None = None,
) -> Plan:
    """Solve for the one that is left out of alpha, queries and the records (n0 and n).

    Without ``batches`` the analyst decides as they go when to ask, and ``queries`` is the cap on
    answers, reached by asking late; the plan's ``paces`` say how many fit earlier. To solve for the
    records say how far they will grow, ``growth`` = n / n0. The default certificate is the tightest
    that holds for the setting and answers at once.

    >>> plan(n0=500_000, n=1_500_000, alpha=0.1, beta=0.05).paces
    Paces(at_n0=99147, evenly=297441, at_n=892324)
    >>> round(plan(n0=10_000, n=10_000, queries=50, beta=0.05, batches=1).width, 4)
    0.0806
    """
    problem = Problem.of(
        beta=beta, alpha=alpha, queries=queries, n0=n0, n=n, growth=growth, batches=batches
    )
    solution = _tightest(problem) if certificate is None else _named(problem, certificate)
    return _written(problem, solution)


def compare(
    *,
    beta: float,
    alpha: float | None = None,
    queries: int | None = None,
    n0: int | None = None,
    n: int | None = None,
    growth: float | None = None,
    batches: int | None = None,
) -> tuple[Entry, ...]:
    """The question of :func:`plan` put to every certificate.

    >>> [(e.certificate, e.queries) for e in compare(n0=10**5, n=10**5, alpha=0.1, beta=0.05)][:2]
    [('sharp', 6804), ('ours-n', 245)]
    """
    return comparison(
        Problem.of(
            beta=beta, alpha=alpha, queries=queries, n0=n0, n=n, growth=growth, batches=batches
        )
    )


def _named(problem: Problem, name: str) -> Solution:
    certificate = get(name)
    reason = objection(problem, certificate)
    if reason is not None:
        raise NotApplicable(name, reason)
    return solve(problem, certificate)


def _tightest(problem: Problem) -> Solution:
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


def _written(problem: Problem, solution: Solution) -> Plan:
    setting, width = solution.setting, solution.width
    budget = max_queries = paces = None
    if isinstance(setting, Growing) and width.sigma is not None:
        max_queries = solution.queries
        paces = Paces(
            at_n0=max_queries * setting.n0**2 // setting.n**2,
            evenly=max_queries * setting.n0 // setting.n,
            at_n=max_queries,
        )
        budget = max_queries / (setting.n * width.sigma) ** 2
    return Plan(
        certificate=solution.certificate.name,
        theorem=solution.certificate.theorem,
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
        paces=paces,
        assumptions=assumptions(solution),
        advice=advice(problem, solution),
    )
