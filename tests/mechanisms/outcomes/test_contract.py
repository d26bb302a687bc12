"""What every question of the surprise guard promises, whatever records hold."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from mechanisms.outcomes.cases import CASES, KINDS, MOST, Case, dataset_of, leaves, rows_of
from surehold.ledger.surprise_draft import Terms
from surehold.ledger.surprise_policy import SurprisePolicy
from surehold.mechanisms.outcomes import forms
from surehold.mechanisms.outcomes.base import Asking, Claim, Past, read_menu
from surehold.mechanisms.outcomes.differences import DifferenceAsking
from surehold.mechanisms.outcomes.numbers import NumberAsking
from surehold.mechanisms.outcomes.rate_differences import RateDifferenceAsking
from surehold.mechanisms.outcomes.rates import RateAsking
from surehold.mechanisms.outcomes.selections import SelectAsking
from surehold.mechanisms.outcomes.tables import NumbersAsking, SharesAsking
from surehold.mechanisms.outcomes.verdicts import GateAsking, LadderAsking
from surehold.queries import Expectation, query_of
from surehold.theory.surprise.ends import Interval
from surehold.theory.surprise.intervals import fraction_interval, mean_interval
from surehold.theory.surprise.menus.cells import Cell
from surehold.theory.surprise.menus.lengths import EndsMenu
from surehold.theory.surprise.menus.numbers import NumberMenu
from surehold.theory.surprise.menus.records import ALL
from surehold.theory.surprise.menus.tables import TableMenu
from surehold.theory.surprise.menus.verdicts import GateMenu
from surehold.theory.surprise.prices import price

POLICY = SurprisePolicy.of("0.05")
BOOK = POLICY.book_of(POLICY.first_book)
NAT = 2**64


class Asked(NamedTuple):
    """A question with its terms, as a ledger would have them, and the exact numbers."""

    case: Case
    kind: str
    terms: Terms
    exact: list[Any]


WITHINS = st.sampled_from(("0.01", "0.03", "1/7", "0.5", "1", "3", "0.001"))
DOUBTS = st.sampled_from(("0.05", "0.5", "0.999", "1e-9"))


@st.composite
def options(draw: Any, case: Case) -> Expectation:
    """What can be said of a question."""
    expect = draw(st.none() | st.sampled_from(case.expects)) if case.expects else None
    if case is CASES["ladder"]:
        expect = draw(st.sampled_from(case.expects))
    within = draw(st.none() | WITHINS) if case.takes_within else None
    doubt = draw(st.none() | DOUBTS) if case.takes_doubt else None
    return Expectation.of(expect, within, doubt)


def asked_as(case: Case, asking: Asking) -> Asking:
    return replace(asking, is_coverage=True) if case.is_coverage else asking


@st.composite
def asks(draw: Any, *names: str) -> Asked:
    """A question at a round, with a claim and a past of any kind."""
    case = CASES[draw(st.sampled_from(names or sorted(CASES)))]
    kind, t = draw(st.sampled_from(KINDS)), draw(st.integers(1, MOST))
    dataset = dataset_of(kind)
    query = case.query if not isinstance(case.query, str) else query_of(case.query)
    resolved = dataset.session("ann")._questions.query(query)
    schema = dataset._ledger.schema
    asking = asked_as(case, forms.ask_for(resolved, schema, draw(options(case))))
    spent = draw(st.sampled_from((0, 7, 3 * NAT, 40 * NAT)))
    first = t if asking.is_one_round else draw(st.none() | st.integers(1, MOST) | st.just(t))
    claim = None
    if asking.claims:
        claim, _ = POLICY.next_claim(BOOK, spent, draw(st.integers(0, MOST)), asking, first)
    exact = dataset._data.exact(asking.sources, t)
    known = last = None
    past = draw(st.sampled_from(("nothing", "known", "last"))) if asking.is_number else "nothing"
    if past != "nothing":
        before = asked_as(case, forms.ask_for(resolved, schema, draw(options(case))))
        at = t if past == "known" or asking.is_one_round else draw(st.integers(1, MOST))
        told = Terms(before, at, claim, 1, before.menu(Past(at, claim, None, None, BOOK.doubt)))
        body = told.body(dataset._data.exact(before.sources, at))
        assume(body["cell"] is not None)
        body = {**body, "round": at}
        last, known = body, body if at == t else None
    menu = asking.menu(Past(t, claim, known, last, BOOK.doubt))
    return Asked(case, kind, Terms(asking, t, claim, 1, menu), list(exact))


def check(examples: int = 120) -> Any:
    return settings(max_examples=examples, suppress_health_check=list(HealthCheck))


# ----------------------------------------------------------------------------- outcomes


def outcomes_of(terms: Terms) -> Iterator[Any]:
    """All outcomes of a menu; of a ladder, whose steps have no end, those that can occur."""
    asking, menu, t = terms.asking, terms.menu, terms.t
    match asking:
        case NumberAsking():
            listed = read_menu(NumberMenu, menu)
            yield from range(listed.first, listed.last + 1)
        case RateAsking():
            # The smaller of two classes has half of the records at most.
            most = max(t // 2, 1) if asking.is_area else t
            known, records = menu["records"], asking._records(t, menu)
            cells = sorted(set(map(records.outcome, range(most + 1))))
            for cell in cells if known is None else [known]:
                if not cell:
                    yield [0]
                    continue
                at_least = records.at_least(cell)
                assert terms.claim is not None
                number = asking._number_menu(menu, terms.claim, t, at_least)
                yield from ([cell, k] for k in range(number.first, number.last + 1))
        case GateAsking():
            yield from (verdict for verdict, _ in read_menu(GateMenu, menu).weights)
        case LadderAsking():
            steps = int(1 / Fraction(menu["step"]))
            yield from range(min(steps, 1 if menu.get("only_better") else steps) + 1)
        case DifferenceAsking():
            cells = math.ceil(1 / read_menu(EndsMenu, menu).width)
            yield from ([a, n] for a in range(cells) for n in range(1, cells - a + 1))
        case SelectAsking():
            yield from range(menu["candidates"])
        case SharesAsking():
            listed = read_menu(TableMenu, menu)
            assert listed.cells == 2
            yield from ([a, listed.parts - a] for a in range(listed.parts + 1))
        case _:
            raise AssertionError(f"{type(asking).__name__} is not in this suite")


def parts_of(terms: Terms) -> list[Terms]:
    """A question, or those that a table of numbers or a difference of rates is made of."""
    asking = terms.asking
    if isinstance(asking, RateDifferenceAsking):
        cells = zip(asking.rates, terms.menu["rates"], strict=True)
    elif isinstance(asking, NumbersAsking):
        cells = zip(asking.cells, terms.menu["cells"], strict=True)
    else:
        return [terms]
    return [terms.__class__(cell, terms.t, terms.claim, 1, menu) for cell, menu in cells]


def test_every_class_is_here() -> None:
    found = set()
    for case in CASES.values():
        query = case.query if not isinstance(case.query, str) else query_of(case.query)
        session = dataset_of("mixed").session("ann")
        asked = Expectation.of("no") if case is CASES["ladder"] else Expectation()
        schema = dataset_of("mixed")._ledger.schema
        found.add(type(forms.ask_for(session._questions.query(query), schema, asked)))
    assert found == set(leaves(Asking))


@given(asks())
@check(400)
def test_what_the_records_have_is_on_the_menu(asked: Asked) -> None:
    """With a positive weight; and all of it is the same once more, and from the ledger's text."""
    terms = asked.terms
    outcome = terms.asking.outcome(terms.menu, terms.claim, terms.t, asked.exact)
    body = terms.report(outcome)
    assert all(0 < Fraction(weight) <= 1 for weight in body["weights"])
    assert int(body["charge"]) <= terms.most
    read = json.loads(json.dumps(terms.menu, allow_nan=False))
    assert read == terms.menu
    kept = Terms(terms.asking, terms.t, terms.claim, 1, read)
    again = kept.asking.outcome(read, terms.claim, terms.t, asked.exact)
    assert (again, json.loads(json.dumps(outcome))) == (outcome, outcome)
    assert json.loads(json.dumps(body, allow_nan=False)) == json.loads(
        json.dumps(kept.report(again))
    )
    if terms.claim is not None:
        assert Claim.from_dict(POLICY.beta, json.loads(json.dumps(terms.claim.to_dict()))) == (
            terms.claim
        )
    for part in parts_of(terms):
        if not isinstance(part.asking, DifferenceAsking):
            mine = part.asking.outcome(part.menu, part.claim, part.t, exact_of(part, terms, asked))
            assert mine in list(outcomes_of(part))


def exact_of(part: Terms, whole: Terms, asked: Asked) -> list[Any]:
    if part.asking is whole.asking:
        return asked.exact
    if isinstance(whole.asking, RateDifferenceAsking):
        at = 2 * whole.asking.rates.index(part.asking)
        return asked.exact[at : at + 2]
    i = whole.asking.cells.index(part.asking)
    return [type(one)((one.numerators[i],), one.denominator) for one in asked.exact]


@given(asks())
@check(150)
def test_weights_add_up_to_one_at_most_and_quotes_bound_prices(asked: Asked) -> None:
    for terms in parts_of(asked.terms):
        total, most = Fraction(0), 0
        lightest = terms.asking.extremes(terms.menu, terms.t, terms.claim)[1]
        if isinstance(terms.asking, DifferenceAsking):
            listed = read_menu(EndsMenu, terms.menu)
            cells = math.ceil(1 / listed.width)
            lengths = [listed.length_weight(n) for n in range(cells + 1)]
            total, first = sum(lengths), listed.first_weight(0)
            assert cells * first <= 1
            most = price(first) + max(map(price, lengths[1:]))
        else:
            for outcome in outcomes_of(terms):
                weights = report_weights(terms, outcome)
                assert min(weights) > 0
                total += math.prod(weights)
                most = max(most, sum(map(price, weights)))
        assert 0 < total <= 1
        assert most <= terms.most <= price(lightest) + terms.asking.prices - 1
        assert most >= terms.most - terms.asking.prices or isinstance(terms.asking, LadderAsking)


def report_weights(terms: Terms, outcome: Any) -> tuple[Fraction, ...]:
    """Without the interval, which takes a while."""
    asking, menu = terms.asking, terms.menu
    if isinstance(asking, NumberAsking):
        return (read_menu(NumberMenu, menu).weight(outcome),)
    if isinstance(asking, RateAsking):
        records, *rest = outcome
        listed = asking._records(terms.t, terms.menu)
        first = [] if menu["records"] is not None else [listed.weight(records)]
        assert terms.claim is not None
        at_least = listed.at_least(records)
        return (
            *first,
            *(asking._number_menu(menu, terms.claim, terms.t, at_least).weight(k) for k in rest),
        ) or (Fraction(1),)
    return asking.report(menu, terms.claim, terms.t, outcome).weights


# ---------------------------------------------------------------------------- intervals


def inside(inner: Interval, outer: Interval) -> bool:
    return outer.low <= inner.low and inner.high <= outer.high


@given(asks("fraction", "mean", "variance", "statistic", "difference of means"), st.data())
@check(150)
def test_an_interval_holds_that_of_every_number_in_its_cell(asked: Asked, data: Any) -> None:
    terms = asked.terms
    asking, claim, t = terms.asking, terms.claim, terms.t
    assert isinstance(asking, NumberAsking)
    assert claim is not None
    outcome = asking.outcome(terms.menu, claim, t, asked.exact)
    cell = read_menu(NumberMenu, terms.menu).cell(outcome)
    x = asking.x(asked.exact, t)
    assert x in cell
    told = asking.interval(cell, t, claim)
    points = [x]
    if asking.by == "fraction":
        least, most = cell.counts(t)
        points += [Fraction(s, t) for s in range(least, most + 1)]
    else:
        span = cell.high - cell.low
        points.append(cell.low + span * data.draw(st.fractions(0, 1, max_denominator=1000)))
    for point in points:
        assert inside(asking.interval(Cell(point, point, closed=True), t, claim), told)


@given(asks("rate", "conditional mean", "area", "coverage", "mean among covered"))
@check(150)
def test_the_interval_of_a_rate_holds_for_every_number_of_records_in_its_cell(asked: Asked) -> None:
    terms = asked.terms
    asking, claim, t = terms.asking, terms.claim, terms.t
    assert isinstance(asking, RateAsking)
    assert claim is not None
    found = asking.among(asked.exact, t)
    records, *rest = asking.outcome(terms.menu, claim, t, asked.exact)
    listed = asking._records(t, terms.menu)
    assert listed.at_least(records) <= found.records
    assert bool(rest) == bool(found.records)
    if rest:
        at_least = listed.at_least(records)
        cell = asking._number_menu(terms.menu, claim, t, at_least).cell(rest[0])
        told = asking.interval(cell, at_least, t, claim)
        assert found.x in cell
        if records == ALL and not asking.bits:
            # Exact tails are below Chernoff's bound: their interval is inside, never outside.
            assert at_least == found.records == t
            assert inside(fraction_interval(cell, t, claim.level(t)), told) or not claim.is_once(t)
            assert Fraction(asked.exact[0].numerators[0], t) in cell
        exact = Cell(found.x, found.x, closed=True)
        for m in range(at_least, t + 1):
            if listed.outcome(m) == records:
                assert inside(asking.interval(exact, m, t, claim), told)


@given(asks("fraction", "rate"))
@check(100)
def test_only_the_round_of_its_registration_goes_by_claim_a(asked: Asked) -> None:
    """At every other round the interval is that of claim (b), at its own level."""
    terms = asked.terms
    asking, claim, t = terms.asking, terms.claim, terms.t
    assert claim is not None
    outcome = asking.outcome(terms.menu, claim, t, asked.exact)
    body = terms.report(outcome)
    assume(body["cell"] is not None)
    cell, is_first = Cell.from_dict(body["cell"]), claim.first == t
    level = claim.levels.first if is_first else claim.levels.other
    assert level is not None
    if isinstance(asking, RateAsking):
        told = mean_interval(cell, body["records_at_least"], level, always=not is_first)
    else:
        told = fraction_interval(cell, t, level, None if is_first else claim.kappa)
    assert body["interval"] == [float(told.low), float(told.high)]


# --------------------------------------------------------------------------- the records


@given(asks(*(name for name, case in CASES.items() if case.number is not None)))
@check(300)
def test_what_is_told_is_what_the_records_hold(asked: Asked) -> None:
    terms, case = asked.terms, asked.case
    assert case.number is not None
    truth = case.number(rows_of(asked.kind)[: terms.t])
    body = terms.body(asked.exact)
    if body["kind"] == "table":
        reach = 1.0 if body["range"] == [0.0, 1.0] else 50.0
        for value, interval, one in zip(body["values"], body["intervals"], truth, strict=True):
            assert (value is None) == (one is None)
            if one is not None:
                assert interval[0] - 1e-6 <= one <= interval[1] + 1e-6
                assert abs(value - one) <= reach
    elif body["value"] is None:
        assert truth is None
    elif body["cell"] is None:
        assert body["interval"][0] <= truth <= body["interval"][1]
    else:
        low, high = body["range"]
        cell = Cell.from_dict(body["cell"])
        place = (truth - low) / (high - low)
        assert cell.low - Fraction(1, 10**7) <= place <= cell.high + Fraction(1, 10**7)
        assert body["interval"][0] - 1e-6 <= truth <= body["interval"][1] + 1e-6


def difference_interval(query: RateDifferenceAsking, asked: Asked, terms: Terms) -> Interval:
    """From those of both rates, each worked out by itself."""
    assert terms.claim is not None
    ends = []
    for rate, exact in zip(query.rates, (asked.exact[:2], asked.exact[2:]), strict=True):
        found = rate.among(exact, terms.t)
        told = Interval(Fraction(0), Fraction(1))
        if found.x is not None:
            cell = Cell(found.x, found.x, closed=True)
            told = rate.interval(cell, found.records, terms.t, terms.claim)
        ends.append(told)
    return Interval((ends[0].low - ends[1].high + 1) / 2, (ends[0].high - ends[1].low + 1) / 2)


@given(
    asks(
        "gate",
        "gate of a mean",
        "gate of a rate",
        "gate of an f1",
        "gate of an area",
        "gate of a variance",
        "gate of a difference of rates",
    )
)
@check(150)
def test_a_gate_says_what_the_interval_of_its_query_says(asked: Asked) -> None:
    """They are the same claim: a verdict is one that the exact interval would give."""
    terms, gate = asked.terms, asked.terms.asking
    assert isinstance(gate, GateAsking)
    assert terms.claim is not None
    outcome = terms.report(gate.outcome(terms.menu, terms.claim, terms.t, asked.exact))
    query = gate.query
    assume(not gate.is_one_sided)
    if isinstance(query, RateAsking):
        found = query.among(asked.exact, terms.t)
        if found.x is None:
            assert outcome["verdict"] == "undecided"
            return
        cell = Cell(found.x, found.x, closed=True)
        told = query.interval(cell, found.records, terms.t, terms.claim)
    elif isinstance(query, RateDifferenceAsking):
        told = difference_interval(query, asked, terms)
    else:
        assert isinstance(query, NumberAsking)
        x = query.x(asked.exact, terms.t)
        told = query.interval(Cell(x, x, closed=True), terms.t, terms.claim)
    threshold = Fraction(terms.menu["threshold"])
    sides = {"at_least": ("pass", "fail"), "at_most": ("fail", "pass")}[gate.side]
    expected = {
        told.low > threshold: sides[0],
        told.high < threshold: sides[1],
    }.get(True, "undecided")
    near = min(abs(told.low - threshold), abs(told.high - threshold)) < Fraction(1, 10**8)
    assert outcome["verdict"] == expected or near
