"""Pages of a transcript: all answers, each once, whatever else is in the ledger."""

from __future__ import annotations

import pytest

from support.runtime import records
from surehold.session import transcript as transcripts


@pytest.fixture
def told(clinic):
    """Answers of two analysts, with appends, keys and derived answers in between."""
    ann, bob = clinic.session("ann"), clinic.session("bob")
    ann.ask("age > 1")
    bob.ask("city = 'Oslo'")
    clinic.append(records(1000, 1010))
    ann.ask("rate(age > 5, city = 'Oslo')")
    bob.ask("age > 1", key="mine")
    ann.ask("age > 1", key="ours")
    return clinic


@pytest.mark.parametrize("newest", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_pages_together_are_the_transcript(told, limit, newest):
    wanted = list(told.transcript)
    wanted = wanted[::-1] if newest else wanted
    found, place = [], {}
    for _ in range(100):
        page = told.transcript.page(limit, newest=newest, **place)
        assert len(page.answers) <= limit
        found += page.answers
        if page.next is None:
            break
        place = {"before" if newest else "after": page.next}
    assert found == wanted


def test_a_page_is_of_what_is_looked_for(told):
    everything = list(told.transcript)
    by_round = told.transcript.page(round=1010).answers
    assert list(by_round) == [answer for answer in everything if answer.round == 1010] != []
    oslo = told.transcript.page(contains="OSLO").answers
    assert list(oslo) == [answer for answer in everything if "Oslo" in answer.query] != []
    bobs = told.transcript_of("bob").page().answers
    assert {answer.analyst for answer in bobs} == {"bob"}
    assert told.transcript.page(contains="nowhere") == transcripts.Page((), None, len(everything))


def test_between_two_entries(told):
    entries = [answer.entry for answer in told.transcript]
    page = told.transcript.page(after=entries[0], before=entries[-1])
    assert [answer.entry for answer in page.answers] == entries[1:-1]


def test_a_long_search_is_cut_and_goes_on(told, monkeypatch):
    monkeypatch.setattr(transcripts, "_LOOKED_AT", 2)
    found, after = [], 0
    for _ in range(100):
        page = told.transcript.page(contains="oslo", after=after)
        found += page.answers
        if page.next is None:
            break
        after = page.next
    assert found == [answer for answer in told.transcript if "Oslo" in answer.query]


def test_one_answer_by_its_entry(told):
    for answer in told.transcript:
        assert told.transcript.entry(answer.entry) == answer
    assert told.transcript.entry(1) is None
    assert told.transcript.entry(10**9) is None
    [first, *_] = told.transcript
    assert told.transcript_of("bob").entry(first.entry) is None
