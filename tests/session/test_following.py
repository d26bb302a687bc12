"""Rates, gates and means by group: what follows from answers, by interval arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import surehold as sh
from support.workload import CASES
from surehold.queries import Reading, query_of
from surehold.queries.auc import divide_pairs
from surehold.queries.derived import above, quotient

pytestmark = pytest.mark.usefixtures("quick_models")


@pytest.fixture
def dataset(full):
    return full


@pytest.fixture
def session(dataset):
    return dataset.session("ann")


# ---------------------------------------------------------------------------- gates and rates


@pytest.mark.parametrize(
    ("limits", "verdict"),
    [
        ({"at_least": 0.18}, "pass"),  # the fraction is 0.49, give or take 0.3
        ({"at_least": 0.3}, "undecided"),
        ({"at_least": 0.49}, "undecided"),
        ({"at_least": 0.8}, "fail"),
        ({"at_least": 0}, "pass"),
        ({"at_most": 0.8}, "pass"),
        ({"at_most": 0.7}, "undecided"),
        ({"at_most": 0.18}, "fail"),
        ({"at_most": 1}, "pass"),
    ],
)
def test_gates(exact, limits, verdict: str) -> None:
    found = exact.ask(sh.gate("age > 50", **limits))
    assert (found.verdict, found.passed) == (verdict, verdict == "pass")
    assert (found.side, found.limit) == next(iter(limits.items()))
    assert found.value == pytest.approx(0.49)
    assert str(found).startswith(f"{verdict}: {found.side.replace('_', ' ')} ")
    answer = exact.ask("age > 50")
    assert found.interval == answer.interval
    assert found.parts == (answer.entry,)


@pytest.mark.parametrize(
    ("query", "limits"),
    [
        (sh.fraction("age > 50"), {"at_most": 40}),
        (sh.fraction("age > 50"), {"at_least": -0.1}),
        (sh.mean("bmi", 0, 60), {"at_most": 500}),
        (sh.rate("bmi > 20", given="age > 20"), {"at_least": 1.5}),
        (sh.kendall("age", "bmi"), {"at_most": 2}),
    ],
    ids=str,
)
def test_a_gate_that_could_never_close_is_refused(session, query, limits) -> None:
    for use in (session.ask, session.quote):
        with pytest.raises(sh.InvalidInput, match="within what the query can give"):
            use(sh.gate(query, **limits))
    assert len(session.transcript) == 0


def test_a_gate_at_the_very_end_of_an_interval(exact) -> None:
    low, high = exact.ask("age > 50").interval
    assert exact.ask(sh.gate("age > 50", at_least=low)).verdict == "pass"
    assert exact.ask(sh.gate("age > 50", at_most=high)).verdict == "pass"
    assert exact.ask(sh.gate("age > 50", at_least=high)).verdict == "undecided"
    assert exact.ask(sh.gate("age > 50", at_most=low)).verdict == "undecided"


def test_a_gate_of_a_rate_has_both_in_the_transcript(exact) -> None:
    found = exact.ask(sh.gate(CASES["rate"].query, at_least=0.05))
    rate = exact.ask(CASES["rate"].query)
    assert rate.recorded
    assert found.parts == (rate.entry,)
    assert (found.value, found.interval) == (rate.value, rate.interval)
    assert [type(one) for one in exact.transcript] == [sh.Answer] * 2 + [sh.Estimate, sh.Verdict]


@pytest.mark.parametrize("limit", [1e151, -1e300, float("nan"), float("inf"), True, "0.5", None])
def test_a_limit_that_could_not_be_read_back_is_refused(limit) -> None:
    with pytest.raises(sh.InvalidInput):
        sh.gate("age > 50", at_least=limit)


@given(st.floats(-1e150, 1e150), st.sampled_from(("at_least", "at_most")))
def test_the_text_of_a_gate_reads_back(limit: float, side: str) -> None:
    gate = sh.gate("age > 50", **{side: limit})
    assert query_of(gate.canonical) == gate


def test_a_rate_of_nobody_is_undetermined(exact) -> None:
    for query in (
        sh.rate("bmi > 20", given="age > 200"),
        sh.rate("bmi", given="age < 20", low=0, high=50),
        sh.auc("age", target="bmi > 100"),
        sh.auc("age", target="bmi < 100"),
    ):
        found = exact.ask(query)
        assert (found.value, found.interval, found.is_determined) == (None, None, False)
        assert str(found) == "undetermined  n = 2,000"
        verdict = exact.ask(sh.gate(query, at_least=query.low))
        assert (verdict.verdict, verdict.passed) == ("undecided", False)
        assert "undetermined" in str(verdict)
    table = exact.ask(sh.means("bmi", 0, 50, by="city in ('Oslo', 'Rome')"))
    assert table["Oslo"].value == pytest.approx(24.95, abs=0.2)
    assert (table["Rome"].value, table["Rome"].interval) == (None, None)
    assert str(table["Rome"]) == "undetermined"


# ------------------------------------------------------------------------ interval arithmetic


@st.composite
def reading_of(draw, low: float, high: float) -> Reading:
    ends = sorted(draw(st.tuples(st.floats(low, high), st.floats(low, high))))
    return Reading(draw(st.floats(*ends)), tuple(ends))


Bounds = st.sampled_from(((0.0, 1.0), (10.0, 40.0), (-5.0, 5.0), (1e9, 1e9 + 1), (-1e-9, 1e-9)))


@given(st.data(), Bounds)
def test_a_rate_s_interval_holds_whatever_its_parts_hold(data, bounds) -> None:
    """All corners, in exact arithmetic, of what can be: nobody's amount exceeds their share."""
    low, high = bounds
    amount = data.draw(reading_of(low, high))
    share = data.draw(reading_of(0.0, 1.0))
    found = quotient(above(amount, low), share, low, high)
    if share.interval[0] <= 0.0:
        assert found == Reading(None, None)
        return
    possible = []
    for a, s in product(amount.interval, share.interval):
        exact = Fraction(low) + (Fraction(a) - Fraction(low)) / Fraction(s)
        possible.append(min(exact, Fraction(high)))
        if exact <= high:
            assert found.interval is not None
    if found.interval is None:  # no share is large enough for such an amount
        least = Fraction(amount.interval[0]) - Fraction(low)
        assert least > (Fraction(high) - Fraction(low)) * Fraction(share.interval[1])
        return
    assert low <= found.interval[0] <= found.value <= found.interval[1] <= high
    for exact in possible:
        assert found.interval[0] <= exact <= found.interval[1]


@given(st.data())
def test_an_auc_s_interval_holds_whatever_its_parts_hold(data) -> None:
    pairs = data.draw(reading_of(0.0, 0.5))
    positive, negative = data.draw(reading_of(0.0, 1.0)), data.draw(reading_of(0.0, 1.0))
    found = divide_pairs(pairs, positive, negative)
    if found.interval is not None:
        assert 0.0 <= found.interval[0] <= found.value <= found.interval[1] <= 1.0
    for a, p, n in product(pairs.interval, positive.interval, negative.interval):
        if p > 0 < n and Fraction(p) + Fraction(n) <= 1:
            exact = Fraction(a) / (Fraction(p) * Fraction(n))
            if found.interval is not None and exact <= 1:
                assert found.interval[0] <= exact <= found.interval[1]


@given(st.data())
def test_an_auc_is_undetermined_only_for_a_reason(data) -> None:
    """Parts that are right together determine it, unless a class may be empty."""
    positive = data.draw(st.fractions(Fraction(1, 50), Fraction(49, 50)))
    auc = data.draw(st.fractions(0, 1))
    pairs, negative = auc * positive * (1 - positive), 1 - positive
    width = data.draw(st.floats(0.0, 0.015))

    def around(exact: Fraction, top: float) -> Reading:
        at = float(exact)
        return Reading(at, (max(at - width - 1e-15, 0.0), min(at + width + 1e-15, top)))

    found = divide_pairs(around(pairs, 0.5), around(positive, 1.0), around(negative, 1.0))
    assert found.interval is not None
    assert found.interval[0] <= auc <= found.interval[1]


@given(st.data(), st.lists(st.fractions(0, 1), min_size=2, max_size=4), Bounds)
def test_means_by_group_hold_the_exact_means(data, parts, bounds) -> None:
    """Cells of any shares and means, read off with any error up to a width."""
    low, high = bounds
    names = ", ".join(f"'c{i}'" for i in range(len(parts) - 1))
    query = sh.means("bmi", low, high, by=f"city in ({names})")
    whole = sum(parts) or Fraction(1)
    cells = [(part / whole, data.draw(st.fractions(0, 1))) for part in parts]  # share, mean
    span, width = Fraction(high) - Fraction(low), data.draw(st.floats(0.0, 0.4))

    def around(exact: Fraction, scale: float) -> Reading:
        at, off = float(exact), (width + 1e-12) * scale
        return Reading(at, (max(at - off, 0.0), min(at + off, scale)))

    shares = [around(share, 1.0) for share, _ in cells]
    amounts = [around(share * mean * span, float(high - low)) for share, mean in cells]
    told = query.derive([shares, amounts])
    for (share, mean), ends, reading in zip(cells, told["intervals"], shares, strict=True):
        if ends is None:
            assert reading.interval[0] <= 0.0
        elif share > 0:
            assert ends[0] <= Fraction(low) + mean * span <= ends[1]


def test_intervals_that_contradict_each_other_determine_nothing() -> None:
    many, few = Reading(0.95, (0.9, 1.0)), Reading(0.4, (0.3, 0.5))
    assert quotient(many, few, 0.0, 1.0) == Reading(None, None)
    assert divide_pairs(Reading(0.45, (0.4, 0.5)), few, few) == Reading(None, None)
