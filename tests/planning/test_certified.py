"""A dataset takes a plan only if a theorem gives it."""

import pytest

import holdfast as hf
from holdfast.planning.certified import check_certified

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
    return hf.plan(n0=2_000, n=5_000, beta=0.05, **PLANS[name])


@pytest.mark.parametrize("name", PLANS)
def test_plans_are_certified(name):
    check_certified(made(name))
    check_certified(hf.Plan.from_json(made(name).to_json()))


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
    with pytest.raises(hf.InvalidInput, match="of the plan"):
        hf.create(tmp_path / "d", plan=values, columns={"x": "int"})
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize("constant", ["offset", "kappa", "epsilon"])
def test_the_constants_of_a_lopsided_plan(constant, tmp_path):
    values = made("rare").to_dict()
    values["constants"][constant] *= 0.9
    with pytest.raises(hf.InvalidInput, match="of the plan"):
        hf.create(tmp_path / "d", plan=values, columns={"x": "int"})


SELECTING = [
    {"certificate": "sharp"},
    {"certificate": "ours-n", "batches": 2, "covers": "low-sensitivity"},
    {"certificate": "adaptive", "covers": "low-sensitivity"},
]


@pytest.mark.parametrize("asked", SELECTING, ids=lambda asked: asked["certificate"])
def test_what_widths_of_selections_are_made_of(asked) -> None:
    made = hf.plan(n0=100_000, n=200_000, alpha=0.2, beta=0.05, **asked).to_dict()
    check_certified(hf.Plan.from_dict(made))
    edits = [("terms", "stability", 0.5), ("terms", "failure", 0.0)]
    if asked["certificate"] != "sharp":
        edits += [("constants", "d", 2.0), ("constants", "beta", 100.0), ("constants", "beta", 0.1)]
    for part, name, factor in edits:
        edited = {**made, part: {**made[part], name: made[part][name] * factor}}
        with pytest.raises(hf.InvalidInput, match="of the plan"):
            check_certified(hf.Plan.from_dict(edited))
