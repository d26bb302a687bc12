"""A design question with exactly one unknown, and its answer under one certificate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from surehold.checks import (
    LARGEST_BATCHES,
    LARGEST_COUNT,
    check_beta,
    check_count,
    check_growth,
    check_number,
    check_probability,
)
from surehold.errors import InvalidInput, NotApplicable, NotCertified, Unreachable
from surehold.formatting import several, width
from surehold.planning.plans import COVERS, Unknown
from surehold.planning.surprise import SurpriseGuard, create_command
from surehold.theory.certificates import Batches, Certificate, Growing, Width
from surehold.theory.exposure import reciprocal, statistical
from surehold.theory.settings import Setting

_A_FRACTION = "write 0.05 for 5%"


@dataclass(frozen=True)
class Problem:
    """Two of {alpha, queries, records}, and beta; ``unknown`` is the third."""

    unknown: Unknown
    setting: Setting
    beta: float
    alpha: float | None
    queries: int | None
    growth: Fraction

    @classmethod
    def of(
        cls,
        *,
        beta: object,
        alpha: object = None,
        queries: object = None,
        n0: object = None,
        n: object = None,
        growth: object = None,
        batches: object = None,
        covers: object = COVERS[0],
    ) -> Problem:
        """Check what a user gave, and find out what is to be solved for."""
        if beta is None:
            raise InvalidInput("beta", "given (the probability that any answer misses)", None)
        checked_beta = check_beta(beta, _A_FRACTION)
        checked_alpha = None if alpha is None else check_probability("alpha", alpha, _A_FRACTION)
        checked_queries = None if queries is None else check_count("queries", queries)
        b = None if batches is None else check_count("batches", batches, LARGEST_BATCHES)
        has_records = n0 is not None or n is not None
        unknown = _unknown(checked_alpha is not None, checked_queries is not None, has_records)
        if unknown == "records":
            ratio = _check_growth_ratio(growth, needed=b != 1)
            # A stand-in of the right growth, however small that is, until the size is solved for.
            size = int(LARGEST_COUNT / ratio)
            grown = int(size * ratio)
        else:
            if growth is not None:
                raise InvalidInput("growth", "left out when n0 and n are given", growth)
            size, grown = _check_sizes(n0, n)
            ratio = Fraction(grown, size)
        if covers not in COVERS:
            raise InvalidInput("covers", f"one of {', '.join(COVERS)}", covers)
        profile = statistical if covers == COVERS[0] else reciprocal
        setting: Setting = (
            Growing(size, grown, profile) if b is None else Batches(size, grown, profile, b=b)
        )
        return cls(unknown, setting, checked_beta, checked_alpha, checked_queries, ratio)

    def waiting(self) -> Problem | None:
        """The same with all queries asked at n, if that is another question."""
        setting = self.setting
        if not isinstance(setting, Batches) or setting.b == 1 or setting.n0 == setting.n:
            return None
        return replace(self, setting=replace(setting, b=1))


@dataclass(frozen=True)
class Solution:
    """What one certificate gives for a problem."""

    certificate: Certificate
    setting: Setting
    queries: int
    width: Width


def solve(problem: Problem, certificate: Certificate) -> Solution:
    """Solve for the unknown.

    Raises NotApplicable if the certificate does not hold in this setting, and Unreachable with what
    would be reachable instead.
    """
    setting, queries = problem.setting, problem.queries
    reason = certificate.objection(setting.at(queries or 1))
    if reason is not None:
        raise NotApplicable(certificate.name, reason)
    if problem.unknown == "records":
        assert queries is not None
        assert problem.alpha is not None
        setting = _smallest_setting(problem, certificate, queries, problem.alpha)
    elif problem.unknown == "queries":
        assert problem.alpha is not None
        queries = certificate.queries(setting, problem.alpha, problem.beta)
        if queries == 0:
            raise _no_query_error(problem, certificate, problem.alpha)
    assert queries is not None
    found = certificate.width(setting.at(queries), problem.beta)
    if found.value >= 1.0:
        raise _no_width_error(problem, certificate, queries)
    return Solution(certificate, setting, queries, found)


def gain(problem: Problem, solution: Solution, other: Solution) -> float:
    """How many times better the other solution is at what was asked for."""
    if problem.unknown == "queries":
        return other.queries / solution.queries
    if problem.unknown == "width":
        return solution.width.value / other.width.value
    return solution.setting.n / other.setting.n


def _unknown(has_alpha: bool, has_queries: bool, has_records: bool) -> Unknown:
    given = {"alpha": has_alpha, "queries": has_queries, "records (n0 and n)": has_records}
    missing = [name for name, there in given.items() if not there]
    if len(missing) != 1:
        got = ", ".join(name for name, there in given.items() if there) or "none of them"
        hint = "leave out the one to solve for" if not missing else "give one more"
        required = "given by exactly two of alpha, queries and records (n0 and n)"
        raise InvalidInput("the question", required, got, hint if len(missing) < 3 else "")
    if not has_alpha:
        return "width"
    return "queries" if not has_queries else "records"


def _check_sizes(n0: object, n: object) -> tuple[int, int]:
    if n0 is None or n is None:
        name = "n0" if n0 is None else "n"
        hint = "they are the same number if the data does not grow"
        raise InvalidInput(name, "given too: n0 and n come together", None, hint)
    return check_growth(n0, n)


def _check_growth_ratio(growth: object, needed: bool) -> Fraction:
    required = "a number from 1 to 10^12 (the ratio n / n0)"
    if growth is None:
        if needed:
            hint = "solving for the records needs it; 1 if the data does not grow"
            raise InvalidInput("growth", required, None, hint)
        return Fraction(1)
    ratio = check_number("growth", growth, required, lambda x: 1.0 <= x <= 1e12)
    return Fraction(repr(ratio))  # as it was written: 1.1 is eleven tenths


def _smallest_setting(
    problem: Problem, certificate: Certificate, queries: int, alpha: float
) -> Setting:
    try:
        return certificate.records(problem.setting, queries, alpha, problem.beta, problem.growth)
    except NotCertified as error:
        raise Unreachable(
            f"a width of ±{alpha:g} for {several(queries, 'query')}",
            "it would need more than 10^18 records; ask for a larger alpha or fewer queries",
            {"alpha": alpha, "queries": queries},
        ) from error


def _no_query_error(problem: Problem, certificate: Certificate, alpha: float) -> Unreachable:
    setting = problem.setting
    one = certificate.width(setting.at(1), problem.beta).value
    numbers = {"alpha": alpha, "reachable_width": one}
    reachable = f"a single query has width ±{width(one)}"
    try:
        needed = _smallest_setting(problem, certificate, 1, alpha)
    except Unreachable:
        reachable += f", and ±{alpha:g} for one needs more than 10^18 records"
    else:
        numbers |= {"needed_n0": needed.n0, "needed_n": needed.n}
        reachable += f", and ±{alpha:g} for one needs {_sizes(needed)}"
    target = f"a width of ±{alpha:g} with {_sizes(setting)} ({certificate.name})"
    return Unreachable(target, reachable + _otherwise(problem, certificate), numbers)


def _no_width_error(problem: Problem, certificate: Certificate, queries: int) -> Unreachable:
    most = certificate.queries(problem.setting, 0.5, problem.beta)
    reachable = (
        f"{most:,} would have width ±0.5"
        if most
        else f"not even one has width ±0.5 with {_sizes(problem.setting)}"
    )
    return Unreachable(
        f"a width below ±1 for {several(queries, 'query')} ({certificate.name})",
        reachable + _otherwise(problem, certificate),
        {"queries": queries, "reachable_queries": most},
    )


def _otherwise(problem: Problem, certificate: Certificate) -> str:
    """What waiting for all records, or the other guard, would give where this gives nothing."""
    said = ""
    waiting = problem.waiting()
    if waiting is not None:
        found = _would_give(waiting, certificate)
        said += f"; waiting until n = {waiting.setting.n:,} would give {found[1]}" if found else ""
    other = SurpriseGuard()
    if certificate.name == other.name:
        return said
    found = _would_give(problem, other) or _would_give(replace(problem, queries=1), other)
    if found:
        queries, gives = found
        condition = " if at most a tenth surprise" if queries > 1 else ""
        command = create_command(problem.beta, queries)
        said += f"; the surprise guard would give {gives}{condition}: {command}"
    return said


def _would_give(problem: Problem, certificate: Certificate) -> tuple[int, str] | None:
    """How many queries within alpha, or how wide as many as asked for; None if it is no help."""
    queries = problem.queries
    if certificate.objection(problem.setting.at(queries or 1)) is not None:
        return None
    if queries is None:
        assert problem.alpha is not None
        queries = certificate.queries(problem.setting, problem.alpha, problem.beta)
        return (queries, several(queries, "query")) if queries else None
    found = certificate.width(problem.setting.at(queries), problem.beta).value
    said = f"±{width(found)}" + (" for one" if queries == 1 else "")
    return (queries, said) if found < 1.0 else None


def _sizes(setting: Setting) -> str:
    if setting.n0 == setting.n:
        return f"n = {setting.n:,}"
    return f"n0 = {setting.n0:,} and n = {setting.n:,}"
