"""What a local session has, a remote one has: found by looking, so that nothing is forgotten."""

from __future__ import annotations

import inspect

import pytest

import surehold as sh
from surehold.client import RemoteTranscript

OF_THE_DATASET = ("append", "close", "verify")
# A service always gives 500 points of the growth; here the caller may choose.
PAIRS = [
    *((sh.Session, sh.RemoteSession, name) for name in dir(sh.Session) if name != "growth"),
    *((sh.Dataset, sh.RemoteSession, name) for name in OF_THE_DATASET),
    *((sh.Transcript, RemoteTranscript, name) for name in vars(sh.Transcript)),
]
PUBLIC = [pair for pair in PAIRS if not pair[2].startswith("_")]


def shape(kind: type, name: str) -> object:
    """Property or method and, of a method, its parameters."""
    found = inspect.getattr_static(kind, name, None)
    if not callable(found):
        return type(found)
    parameters = inspect.signature(found).parameters.values()
    return [(one.name, one.kind, one.default) for one in parameters]


def differing(pairs) -> list[str]:
    return [name for here, there, name in pairs if shape(here, name) != shape(there, name)]


def test_a_remote_session_has_all_that_a_local_one_has():
    assert differing(PUBLIC) == []
    assert len(PUBLIC) > 20


@pytest.mark.parametrize("method", ["ask", "ask_many", "hold", "quote", "at", "scorer"])
def test_types_are_the_same_where_classes_are_not(method):
    """As they are written: what is given and, but for transcripts, what comes back."""
    here, there = getattr(sh.Session, method), getattr(sh.RemoteSession, method)
    assert inspect.signature(here) == inspect.signature(there)


def test_both_say_who_asks(session):
    assert session.analyst == "ann"
    assert "ann" in repr(session)


class TestThatTheCheckCanFail:
    def test_by_a_method_that_is_missing(self):
        class More(sh.Session):
            def whisper(self) -> None: ...

        assert differing([(More, sh.RemoteSession, "whisper")]) == ["whisper"]

    def test_by_another_signature(self):
        class Other(sh.Session):
            def hold(self, round: int | None, gently: bool = False) -> None: ...

        assert differing([(Other, sh.RemoteSession, "hold")]) == ["hold"]

    def test_by_a_property_that_is_a_method(self):
        class Other(sh.Session):
            def budget(self) -> None: ...

        assert differing([(Other, sh.RemoteSession, "budget")]) == ["budget"]
