"""A dataset takes a plan only if a theorem gives it."""

import random
from fractions import Fraction

import pytest

import surehold as sh
from surehold.mechanisms.noise import SCALE
from surehold.planning.certified import _WIDEST, check_certified
from surehold.queries import GRID_BITS

PLANS = {
    "adaptive": {"alpha": 0.3},
    "batches": {"alpha": 0.3, "batches": 3},
    "static": {"queries": 40, "batches": 1},
    "rare": {"alpha": 0.3, "rare": 0.02},
    "rare in batches": {"queries": 30, "rare": 0.02, "batches": 3},
    "ours-n": {"queries": 3, "batches": 2, "certificate": "ours-n"},
    "ours-u": {"queries": 3, "batches": 2, "certificate": "ours-u"},
    "filter": {"queries": 3, "certificate": "adaptive"},
    "jlnrss": {"queries": 3, "batches": 1, "certificate": "jlnrss+"},
    "split": {"queries": 3, "batches": 1, "certificate": "split"},
}


def made(name):
    return sh.plan(n0=2_000, n=5_000, beta=0.05, **PLANS[name])


@pytest.mark.parametrize("name", PLANS)
def test_plans_are_certified(name):
    check_certified(made(name))
    check_certified(sh.Plan.from_json(made(name).to_json()))


@pytest.mark.parametrize("name", ["adaptive", "batches", "rare", "ours-n"])
@pytest.mark.parametrize(
    "change",
    [
        {"width": 0.9},
        {"sigma": 0.9},
        {"sigma": 1.1},
        {"beta": 0.5},
        {"queries": 2, "max_queries": 2},
        {"budget": 1.001},
        {"budget": 100},
        {"n0": 0.5},
    ],
    ids=str,
)
def test_edited_plans_are_refused(name, change, tmp_path):
    values = made(name).to_dict()
    if "budget" in change and values["budget"] is None:
        return  # a fixed schedule has none to edit
    for field, factor in change.items():
        if values[field] is not None:
            scaled = values[field] * factor
            values[field] = int(scaled) if isinstance(values[field], int) else scaled
    with pytest.raises(sh.InvalidInput, match="of the plan"):
        sh.create(tmp_path / "d", plan=values, columns={"x": "int"})
    assert not (tmp_path / "d").exists()


FORGED = 5e-10
"""Less than what was tolerated once, and far more than what a computation rounds."""


@pytest.mark.parametrize("slightly", [FORGED, 2e-12])
@pytest.mark.parametrize("name", ["adaptive", "batches", "static", "rare", "ours-n", "jlnrss"])
def test_plans_that_were_edited_slightly(name, slightly):
    values = made(name).to_dict()
    edits = [{"width": values["width"] * (1 - slightly)}, {"beta": values["beta"] * (1 - FORGED)}]
    if values["budget"] is not None:
        edits.append({"budget": values["budget"] * (1 + slightly)})
    for edit in edits:
        with pytest.raises(sh.InvalidInput, match="of the plan"):
            check_certified(sh.Plan.from_dict({**values, **edit}))


@pytest.mark.parametrize("seed", range(12))
def test_whatever_plan_is_made_is_certified(seed):
    """On the way from planning to the check nothing is rounded by more than is tolerated."""
    draw = random.Random(seed)
    n0 = draw.choice([500, 3_000, 100_000, 10**7])
    asked = {
        "n0": n0,
        "n": n0 * draw.choice([1, 2, 50]),
        "beta": draw.choice([1e-9, 0.01, 0.05, 0.3]),
        "queries": draw.choice([1, 40, 10_000]),
    }
    ways = [{}, {"batches": 1}, {"batches": 4}, {"rare": 0.01}]
    ways += [{"certificate": "adaptive"}, {"certificate": "ours-n", "batches": 2}]
    for way in ways:
        if asked["n"] == n0 and way.get("batches", 1) > 1:
            continue
        try:
            plan = sh.plan(**asked, **way)
        except sh.Unreachable:
            continue
        check_certified(sh.Plan.from_json(plan.to_json()))


def test_what_the_rounding_of_a_brier_score_needs():
    """Its three cells move by x, x' and x - x', and each by a step of the noise's grid more.

    Exactly, in steps, that is within the charge for two cells, as long as n sigma is not beyond
    what plans may have; four times as large it would not be.
    """
    one = 1 << GRID_BITS
    some = [1, 2, 3, one // 3, one // 2, one - 2, one - 1, one]
    corners = [(x, other) for x in some for other in some if x != other]

    def covered(scaled: int) -> bool:
        a, step = Fraction(1, scaled), Fraction(1, SCALE)
        charge = 2 * (a + step) ** 2
        for x, other in corners:
            moves = [Fraction(abs(d), one) for d in (x, other, x - other)]
            if sum((d * a + step) ** 2 for d in moves) > charge:
                return False
        return True

    assert covered(1)
    assert covered(2**40)
    assert covered(int(_WIDEST))
    assert not covered(4 * int(_WIDEST))
    values = {**made("adaptive").to_dict(), "sigma": 2.0**80}
    with pytest.raises(sh.InvalidInput, match="sigma of the plan"):
        check_certified(sh.Plan.from_dict(values))


@pytest.mark.parametrize("constant", ["offset", "kappa", "epsilon"])
def test_the_constants_of_a_lopsided_plan(constant, tmp_path):
    values = made("rare").to_dict()
    values["constants"][constant] *= 0.9
    with pytest.raises(sh.InvalidInput, match="of the plan"):
        sh.create(tmp_path / "d", plan=values, columns={"x": "int"})


SELECTING = [
    {"certificate": "sharp"},
    {"certificate": "ours-n", "batches": 2, "covers": "low-sensitivity"},
    {"certificate": "adaptive", "covers": "low-sensitivity"},
]


@pytest.mark.parametrize("asked", SELECTING, ids=lambda asked: asked["certificate"])
def test_what_widths_of_selections_are_made_of(asked) -> None:
    made = sh.plan(n0=100_000, n=200_000, alpha=0.2, beta=0.05, **asked).to_dict()
    check_certified(sh.Plan.from_dict(made))
    edits = [("terms", "stability", 0.5), ("terms", "failure", 0.0)]
    if asked["certificate"] != "sharp":
        edits += [("constants", "d", 2.0), ("constants", "beta", 100.0), ("constants", "beta", 0.1)]
    for part, name, factor in edits:
        edited = {**made, part: {**made[part], name: made[part][name] * factor}}
        with pytest.raises(sh.InvalidInput, match="of the plan"):
            check_certified(sh.Plan.from_dict(edited))
