"""The lines that describe a plan on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surehold import formatting
from surehold.formatting import count

if TYPE_CHECKING:
    from surehold.planning import Plan

_FEW = 8  # rounds listed


def data(plan: Plan) -> str:
    """Say how many records there are, and whether they grow."""
    if plan.n0 == plan.n:
        return f"{count(plan.n)} records, not growing"
    if plan.batches == 1:
        return f"{count(plan.n)} records; all queries are asked at the end"
    return f"grows from {count(plan.n0)} to {count(plan.n)} records"


def width(plan: Plan) -> str:
    """Say how wide the answer of a fraction is."""
    if plan.rare is None:
        return f"± {formatting.width(plan.width)}"
    widest = plan.constants["offset"] + plan.constants["kappa"]
    near, far = formatting.width(plan.width), formatting.width(widest)
    return f"± {near} near {plan.rare:g}, up to ± {far} elsewhere"


def rounds(plan: Plan) -> str:
    """List the first rounds of a schedule, and the last."""
    schedule = plan.schedule()
    assert schedule is not None
    pairs = list(zip(schedule.rounds.tolist(), schedule.counts.tolist(), strict=True))
    listed = "; ".join(f"{count(int(k))} at {count(t)}" for t, k in pairs[:_FEW])
    return listed + (f"; ... to {count(pairs[-1][0])}" if len(pairs) > _FEW else "")


def queries(plan: Plan) -> str:
    """Say how many queries can be asked, and when."""
    if plan.paces is not None and plan.n0 < plan.n:
        return (
            f"{count(plan.paces.evenly)} if asked evenly as the data grows, "
            f"{count(plan.paces.at_n0)} if all at n0, {count(plan.paces.at_n)} if all at n"
        )
    if plan.batches is None:
        return f"up to {count(plan.queries)}"
    if plan.batches == 1:
        return count(plan.queries)
    if plan.queries < plan.batches:
        number, batches = count(plan.queries), count(plan.batches)
        return f"{number}, one in each of the first {number} of {batches} batches"
    return f"{count(plan.queries)} in {count(plan.batches)} batches, evenly from n0 to n"
