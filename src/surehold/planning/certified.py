"""Whether a plan is what a theorem gives: a file may have been edited, or be another version's."""

from __future__ import annotations

import numpy as np

from surehold.errors import InvalidInput, NotApplicable
from surehold.planning.plans import COVERS, Plan, budget_for
from surehold.theory.certificates import Batches, Growing, get
from surehold.theory.certificates.ours import OursN, theorem_4_4
from surehold.theory.exposure import Design, reciprocal, statistical
from surehold.theory.gaussian import profile
from surehold.theory.noise import largest_cvar
from surehold.theory.transfer import kappa, sharp_interval

# The same computation on another machine differs by some 1e-15. This is a tenth of OUTWARD, by
# which every width was rounded up: one that is accepted is still more than its theorem gives.
_SAME = 1.0 + 1e-13
_ULPS = 1.0 + 1e-15  # a budget is three products
_WIDEST = 2.0**80
"""The most that n sigma may be.

The charge of a Brier score, whose three cells are rounded each, is exact up to here: a test has the
arithmetic. No plan that promises anything comes near it.
"""


def check_certified(plan: Plan) -> None:
    """Evaluate the plan's certificate at the plan's own numbers; raise if it does not give them."""
    sensitivity = statistical if plan.covers == COVERS[0] else reciprocal
    design: Design = Growing(plan.n0, plan.n, sensitivity).at(plan.queries)
    if plan.batches is not None:
        design = Batches(plan.n0, plan.n, sensitivity, b=plan.batches).at(plan.queries)
    if plan.sigma is None:
        return  # nothing that a dataset would run
    if plan.n * plan.sigma > _WIDEST:
        raise _refusal("sigma", f"at most {_WIDEST / plan.n:.6g}", plan.sigma)
    if plan.rare is not None:
        _check_rare(plan, design)
    else:
        try:
            width = get(plan.certificate).width(design, plan.beta, sigma=plan.sigma).value
        except NotApplicable as error:
            raise _refusal("certificate", "one that holds for the plan", error.reason) from None
        if width > plan.width * _SAME:
            digits = 6 if width > plan.width * 1.0001 else 16  # as many as tell them apart
            required = f"at least {width:.{digits}g}, which its theorem gives"
            raise _refusal("width", required, plan.width)
        _check_terms(plan, design)
    if plan.batches is None:
        budget = budget_for(plan.queries, plan.n, plan.sigma)
        if plan.budget is None or plan.budget > budget * _ULPS:
            raise _refusal("budget", f"at most {budget:.16g}", plan.budget)
        if plan.max_queries != plan.queries:
            raise _refusal("max_queries", f"{plan.queries}, as queries is", plan.max_queries)


def _check_terms(plan: Plan, design: Design) -> None:
    """What widths of selections are made of: stability, its failure, and the paper's constants."""
    assert plan.sigma is not None
    certificate = get(plan.certificate)
    if isinstance(certificate, OursN):
        if not {"beta", "epsilon", "d"} <= set(plan.constants):
            raise _refusal("constants", "those of its theorem", sorted(plan.constants))
        exposure = design.exposure()
        exposure = exposure.uniform() if certificate.is_uniform else exposure
        free = (plan.constants["beta"], plan.constants["epsilon"])
        again = theorem_4_4(exposure, plan.beta, plan.sigma, *free)
        if plan.constants["d"] > again.constants["d"] * _SAME:
            raise _refusal("d", f"at most {again.constants['d']:.6g}", plan.constants["d"])
    elif plan.certificate == "sharp":
        again = certificate.width(design, plan.beta, sigma=plan.sigma)
    else:
        return  # it answers no selections
    rest = sum(term for name, term in plan.terms.items() if name != "noise")
    least = sum(term for name, term in again.terms.items() if name != "noise")
    parts = ("stability", "failure")
    enough = plan.certificate == "sharp" or all(
        plan.terms.get(name, 0.0) * _SAME >= again.terms.get(name, 0.0) for name in parts
    )
    if not enough or rest * _SAME < least:
        required = f"at least {least:.6g} besides the noise, which its theorem gives"
        raise _refusal("terms", required, dict(plan.terms))


def _check_rare(plan: Plan, design: Design) -> None:
    """Part (b) of the sharp theorem, at the plan's own sigma and epsilon."""
    assert plan.sigma is not None
    assert plan.rare is not None
    if plan.certificate != "sharp" or not {"epsilon", "offset", "kappa"} <= set(plan.constants):
        raise _refusal("constants", "those of a sharp plan for rare events", plan.certificate)
    epsilon, offset = plan.constants["epsilon"], plan.constants["offset"]
    exposure = design.exposure()
    reached = float(np.dot(exposure.reach, profile(exposure.mu(plan.sigma), epsilon)))
    least = plan.sigma * float(largest_cvar(plan.queries, plan.beta)) + reached / plan.beta
    if least * _SAME > offset:  # it was rounded up by ten times as much
        raise _refusal("offset", f"at least {least:.16g}, which its theorem gives", offset)
    if float(kappa(epsilon)) > plan.constants["kappa"] * _SAME:
        raise _refusal("kappa", f"{float(kappa(epsilon)):.6g}", plan.constants["kappa"])
    low, high = (float(end) for end in sharp_interval(plan.rare, offset, epsilon))
    if max(plan.rare - low, high - plan.rare) > plan.width * _SAME:
        raise _refusal("width", "that of an answer near rare", plan.width)


def _refusal(name: str, required: str, got: object) -> InvalidInput:
    hint = (
        "the plan was edited, or another version made it: make it again with surehold plan --json"
    )
    return InvalidInput(f"{name} of the plan", required, got, hint)
