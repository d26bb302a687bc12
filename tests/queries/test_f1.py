"""F1: what it reads, what follows from the Jaccard index, and both guards' answers."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import surehold as sh
from support.runtime import GUARDS
from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries import F1, Reading, query_of
from surehold.queries.f1 import f1_of, jaccard_of

SPAM = "f1(answer = 'spam', label = 'spam')"
ENDS = st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)).map(sorted)
UNIT = st.fractions(0, 1)


def test_one_query_however_it_is_made():
    made = sh.f1("label = 'spam'", "answer = 'spam'")
    assert made == query_of(SPAM)
    assert (made.canonical, query_of(made.canonical)) == (SPAM, made)
    assert eval(repr(made), {"f1": sh.f1}) == made
    some = sh.f1("a", "b", given="c")
    assert eval(repr(some), {"f1": sh.f1}) == some == query_of("f1(b, a, c)")
    assert some.parts == (sh.rate("a and b", given="(a or b) and c"),)
    assert (made.low, made.high) == (0.0, 1.0)


@pytest.mark.parametrize("text", ["f1(a)", "f1()", "f1(a, b, c, d)", "f1(mean(a, 0, 1), b)"])
def test_only_conditions(text):
    with pytest.raises(InvalidQuery):
        query_of(text)


@given(UNIT, UNIT)
def test_both_scales_are_one(a, b):
    assert jaccard_of(f1_of(a)) == a
    assert f1_of(jaccard_of(a)) == a
    assert (a < b) == (f1_of(a) < f1_of(b))
    # Never further off than twice the index: what `within` asks for.
    assert abs(f1_of(a) - f1_of(b)) <= 2 * abs(a - b)


@given(ENDS)
def test_the_interval_holds_that_of_the_jaccard_index(ends):
    low, value, high = ends
    query = query_of(SPAM)
    assert isinstance(query, F1)
    found = query.estimate([Reading(value, (low, high))])
    assert found.interval is not None
    assert found.value is not None
    assert 0 <= found.interval[0] <= f1_of(Fraction(low))
    assert f1_of(Fraction(high)) <= found.interval[1] <= 1
    assert found.interval[0] <= found.value <= found.interval[1]
    assert query.estimate([Reading(None, None)]).value is None


def score_of(said, came):
    both = sum(a and b for a, b in zip(said, came, strict=True))
    return 2 * both / (sum(said) + sum(came))


COUNT, COVERED = 4_000, 3_000


def opened(path, guard):
    """Records of which a tenth of those that a table covers are wrong; later ones have none."""
    plan = {"plan": sh.plan(n0=2_000, n=20_000, alpha=0.1, beta=0.05)}
    columns = {"id": "int", "label": "str"}
    rules = plan if guard == "noise" else {"beta": 0.05}
    dataset = sh.create(path, columns=columns, id="id", **rules)
    labels = ["spam" if i % 2 else "ham" for i in range(COUNT)]
    dataset.append({"id": i, "label": label} for i, label in enumerate(labels))
    said = ["spam" if (i % 2 == 1) != (i % 10 == 3) else "ham" for i in range(COVERED)]
    dataset.keep_table([{"id": i, "answer": a} for i, a in enumerate(said)], name="run")
    truth = score_of([a == "spam" for a in said], [a == "spam" for a in labels[:COVERED]])
    return dataset, truth


@pytest.mark.parametrize("guard", GUARDS)
def test_a_table_is_scored_among_the_records_it_covers(tmp_path, guard):
    dataset, truth = opened(tmp_path / "mail", guard)
    with dataset:
        session = dataset.session()
        text = "f1(run.answer = 'spam', label = 'spam')"
        quote = session.quote(text)
        found = session.ask(text)
        low, high = found.interval
        assert 0 <= low <= truth <= high <= 1
        assert high - low < (0.9 if guard == "noise" else 0.1)
        assert "covers" in str(found)
        assert found.among == ("run",)
        assert found.query.startswith("f1(")
        again = session.ask("f1(label = 'spam', run.answer = 'spam')")
        assert again.entry == found.entry
        assert quote.width is None
        # The Jaccard index is on the other scale, and no other claim is made of F1 by a gate.
        for limit, verdict in ((0.01, "pass"), (0.999, "fail")):
            told = session.ask(sh.gate(text, at_least=limit))
            assert told.verdict in (verdict, "undecided")
            assert guard == "noise" or told.verdict == verdict
        none = session.ask("f1(run.answer = 'none', label = 'none')")
        assert none.value is None
        with pytest.raises(InvalidInput, match=r"0 to 1; write 0\.4 for 40 %"):
            session.ask(sh.gate(text, at_least=2))
        assert dataset.verify()
    with sh.open(tmp_path / "mail") as reopened:
        assert reopened.session().ask(text).entry == found.entry
        assert reopened.verify()


def test_what_is_expected_is_in_the_units_of_f1(tmp_path):
    dataset, truth = opened(tmp_path / "mail", "surprise")
    with dataset:
        session = dataset.session()
        text = "f1(run.answer = 'spam', label = 'spam')"
        with pytest.raises(InvalidInput, match="from 0 to 1, what the query can give"):
            session.ask(text, expect="1.5")
        found = session.ask(text, expect=str(round(truth, 3)), within="0.02")
        assert found.expected is True
        bottom, top = found.cell
        assert bottom <= truth <= top
        assert top - bottom <= 2 * 0.02
        finer = session.ask(text, within="0.005")
        assert finer.cell[1] - finer.cell[0] <= 2 * 0.005
        assert finer.cell[0] <= truth <= finer.cell[1]
        dataset.append({"id": COUNT + i, "label": "ham"} for i in range(10))
        later = session.ask(text)  # near what it was, which costs less
        assert later.expected is True
        history = dataset.history(text)
        assert [point.round for point in history.points][-1] == COUNT + 10
        assert dataset.verify()
